// All topics, a page at a time in the order of their names, which is also how one is found: from the letters typed on.

import { useEffect, useRef, useState } from "preact/hooks";
import type { TopicInfo, TopicsPage } from "../../../src/ops/api/types.js";
import { apiUrl } from "../lib/api.js";
import { bytes, exact, plural, span } from "../lib/format.js";
import { useShortcuts } from "../lib/keys.js";
import { link } from "../lib/link.js";
import { usePolled } from "../lib/polled.js";
import { to } from "../lib/router.js";
import { useStore } from "../lib/store.js";
import { type Column, Grid } from "../parts/grid.js";

const PAGE = 200;

export function Topics() {
  const [typed, setTyped] = useState("");
  const [before, setBefore] = useState<readonly string[]>([]);
  const [from, setFrom] = useState("");
  const search = useRef<HTMLInputElement>(null);
  const { broker } = useStore(link);
  const { data, refusal } = usePolled<TopicsPage>(apiUrl(["topics"], { from, limit: PAGE }), 3_000);
  const look = (): void => {
    setBefore([]);
    setFrom(typed.trim());
  };
  // Not at each letter.
  useEffect(() => {
    const timer = setTimeout(look, 150);
    return () => clearTimeout(timer);
  }, [typed]);
  const next = data?.next ?? null;
  const forward = (): void => {
    if (next === null) return;
    setBefore([...before, from]);
    setFrom(next);
  };
  const back = (): void => {
    const last = before.at(-1);
    if (last === undefined) return;
    setBefore(before.slice(0, -1));
    setFrom(last);
  };
  useShortcuts("Topics", [
    { keys: "/", what: "find a topic", act: () => search.current?.select() },
    { keys: ".", what: "next page", act: forward },
    { keys: ",", what: "page before", act: back },
  ]);
  return (
    <>
      <div class="bar-of-choices">
        <h1>Topics</h1>
        <input
          ref={search}
          type="search"
          aria-label="Topics from this name on"
          placeholder="from name …"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            look();
            document.querySelector<HTMLElement>('main [role="grid"]')?.focus();
          }}
        />
        <span class="quiet">
          {broker === undefined ? "" : `${plural(broker.topics, "topic")}, ${plural(broker.partitions, "partition")}`}
        </span>
        {before.length > 0 || next !== null ? (
          <span class="pager">
            <button type="button" disabled={before.length === 0} onClick={back}>
              ← Before
            </button>
            <button type="button" disabled={next === null} onClick={forward}>
              Next →
            </button>
          </span>
        ) : null}
      </div>
      {refusal === undefined ? null : <p class="note bad">{refusal.message}</p>}
      <TopicsGrid topics={data?.topics ?? []} label="Topics" fill loading={data === undefined} searched={from} />
    </>
  );
}

const COLUMNS: readonly Column[] = [
  { label: "Topic", width: "minmax(10rem, 3fr)" },
  { label: "Partitions", width: "minmax(5rem, 1fr)", numeric: true },
  { label: "Records", width: "minmax(6rem, 1.4fr)", numeric: true },
  { label: "Size", width: "minmax(5rem, 1fr)", numeric: true },
  { label: "Format", width: "5rem", optional: true },
  { label: "Visible when", width: "7rem", optional: true },
  { label: "Kept", width: "minmax(7rem, 1fr)", optional: true },
  { label: "State", width: "minmax(6rem, 1fr)" },
];

interface TopicsGridProps {
  readonly topics: readonly TopicInfo[];
  readonly label: string;
  readonly fill?: boolean;
  readonly loading?: boolean;
  readonly searched?: string;
}

export function TopicsGrid({ topics, label, fill = false, loading = false, searched = "" }: TopicsGridProps) {
  return (
    <Grid
      label={label}
      of={searched}
      columns={COLUMNS}
      count={topics.length}
      fill={fill}
      empty={
        loading
          ? "…"
          : searched === ""
            ? "There are no topics. The setting topics makes them."
            : `No topic from “${searched}” on.`
      }
      row={(index) => {
        const topic = topics[index];
        if (topic === undefined) return undefined;
        return {
          href: to.topic(topic.name),
          tone: topic.refused + topic.poisoned > 0 ? "bad" : topic.records === 0 ? "quiet" : undefined,
          cells: [
            topic.name,
            exact(topic.partitions),
            exact(topic.records),
            bytes(topic.bytes),
            topic.recordFormat,
            topic.visibility,
            kept(topic),
            stateOf(topic),
          ],
        };
      }}
    />
  );
}

/** What retention leaves of each partition. */
export function kept({ retentionBytes, retentionMs }: TopicInfo): string {
  const bounds = [
    ...(retentionBytes === null ? [] : [bytes(retentionBytes)]),
    ...(retentionMs === null ? [] : [span(retentionMs)]),
  ];
  return bounds.length === 0 ? "all" : bounds.join(", ");
}

function stateOf({ refused, poisoned }: TopicInfo) {
  if (refused + poisoned === 0) return <span class="sign open">open</span>;
  return (
    <>
      {refused > 0 ? <span class="sign refused">{exact(refused)} refused</span> : null}{" "}
      {poisoned > 0 ? <span class="sign poisoned">{exact(poisoned)} poisoned</span> : null}
    </>
  );
}
