// The frame of every page: name and state of the broker, the way to the pages, the keys that work everywhere.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { EVERYWHERE, useShortcuts } from "./lib/keys.js";
import { link } from "./lib/link.js";
import { parseOffset } from "./lib/parse.js";
import { above, type Page, type Place, parsePlace, to } from "./lib/router.js";
import { useStore } from "./lib/store.js";
import { BrokerPage } from "./pages/broker.js";
import { Overview } from "./pages/overview.js";
import { Partition } from "./pages/partition.js";
import { Records, timeNote } from "./pages/records.js";
import { Tail } from "./pages/tail.js";
import { Topic } from "./pages/topic.js";
import { Topics } from "./pages/topics.js";
import { Banner, StatePill } from "./parts/banner.js";
import { Boundary } from "./parts/boundary.js";
import { Help } from "./parts/help.js";

export function App() {
  const [place, setPlace] = useState<Place>(() => parsePlace(location.hash));
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { broker, state } = useStore(link);
  useEffect(() => {
    const changed = (): void => setPlace(parsePlace(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const { page, query } = place;
  const title = titleOf(page);
  useEffect(() => {
    document.title = title === "" ? "millrace" : `${title} · millrace`;
  }, [title]);
  // Whoever works by keyboard goes on in the new page, in its list if it has one.
  const path = `${page.name}/${"topic" in page ? page.topic : ""}/${"partition" in page ? page.partition : ""}`;
  const first = useRef(true);
  useLayoutEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    main.current?.focus();
  }, [path]);
  useShortcuts(EVERYWHERE, [
    { keys: "g o", what: "overview", act: () => location.assign(to.overview) },
    { keys: "g t", what: "topics", act: () => location.assign(to.topics) },
    { keys: "g b", what: "broker and settings", act: () => location.assign(to.broker) },
    {
      keys: "u",
      what: "the page above",
      act: () => location.assign(above(parsePlace(location.hash).page) ?? to.overview),
    },
    { keys: "i", what: "into the list", act: () => main.current?.querySelector<HTMLElement>('[role="grid"]')?.focus() },
    { keys: "?", what: "this list", act: () => setHelp(true) },
  ]);
  return (
    <div class="frame" data-state={state}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        To the page
      </button>
      <header class="top">
        <a class="name" href={to.overview}>
          millrace
        </a>
        <nav aria-label="Pages">
          <a href={to.overview} aria-current={page.name === "overview" ? "page" : undefined}>
            Overview
          </a>
          <a href={to.topics} aria-current={"topic" in page || page.name === "topics" ? "page" : undefined}>
            Topics
          </a>
          <a href={to.broker} aria-current={page.name === "broker" ? "page" : undefined}>
            Broker
          </a>
        </nav>
        <span class="who">{broker === undefined ? "" : `${broker.host}:${broker.port} · ${broker.version}`}</span>
        <StatePill />
        <button type="button" class="help-button" aria-label="Keys" onClick={() => setHelp(true)}>
          ?
        </button>
      </header>
      <Banner />
      <main ref={main} id="main" tabIndex={-1}>
        <div class="page">
          <Boundary of={`${path}?${query}`} what="This page">
            {contentOf(page, query)}
          </Boundary>
        </div>
      </main>
      {help ? <Help onClose={() => setHelp(false)} /> : null}
    </div>
  );
}

function contentOf(page: Page, query: URLSearchParams) {
  switch (page.name) {
    case "overview":
      return <Overview />;
    case "topics":
      return <Topics />;
    case "broker":
      return <BrokerPage />;
    case "topic":
      return <Topic key={page.topic} topic={page.topic} />;
    case "tail":
      return <Tail key={page.topic} topic={page.topic} partitions={query.get("partition") ?? undefined} />;
    case "partition":
      return <Partition key={`${page.topic}/${page.partition}`} topic={page.topic} partition={page.partition} />;
    case "records":
      return (
        <Records
          key={`${page.topic}/${page.partition}`}
          topic={page.topic}
          partition={page.partition}
          offset={parseOffset(query.get("offset") ?? "")}
          note={timeNote(query)}
        />
      );
    case "unknown":
      return (
        <p>
          There is no page {page.path}. <a href={to.overview}>Overview</a>
        </p>
      );
  }
}

function titleOf(page: Page): string {
  switch (page.name) {
    case "overview":
      return "";
    case "topics":
      return "Topics";
    case "broker":
      return "Broker";
    case "topic":
      return page.topic;
    case "tail":
      return `${page.topic} live`;
    case "partition":
    case "records":
      return `${page.topic}/${page.partition}`;
    case "unknown":
      return "No such page";
  }
}
