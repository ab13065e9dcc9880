// The line at the top of every page: how it stands between the page and its broker, said when it changes and while it lasts.

import { useEffect, useState } from "preact/hooks";
import { clock, span } from "../lib/format.js";
import { type Link, type LinkState, link } from "../lib/link.js";
import { useStore } from "../lib/store.js";

const WORDS: Readonly<Record<LinkState, string>> = {
  connecting: "connecting",
  ready: "ready",
  starting: "starting",
  stopping: "stopping",
  impaired: "impaired",
  unreachable: "unreachable",
};

export function StatePill() {
  const { state } = useStore(link);
  return (
    <span class={`pill ${state}`} role="status" data-state={state}>
      <i aria-hidden="true" />
      {WORDS[state]}
    </span>
  );
}

export function Banner() {
  const now = useStore(link);
  const [, tick] = useState(0);
  useEffect(() => {
    if (now.state === "ready") return;
    const timer = setInterval(() => tick((value) => value + 1), 1000);
    return () => clearInterval(timer);
  }, [now.state]);
  if (now.state === "ready" || now.state === "connecting") return null;
  return (
    <div class={`banner ${now.state}`}>
      {/* This is said once; the seconds beside it are not. */}
      <strong role="alert">{headline(now)}</strong>
      <Details {...now} />
    </div>
  );
}

/** More reasons than these are folded. */
const SHOWN = 2;

function headline({ state }: Link): string {
  switch (state) {
    case "unreachable":
      return "The broker cannot be reached.";
    case "starting":
      return "The broker is starting: its partitions are being opened.";
    case "stopping":
      return "The broker is stopping. It answers what it took, and takes nothing new.";
    default:
      return "Something needs a look.";
  }
}

function Details({ state, sinceMs, answeredMs, reasons }: Link) {
  if (state === "unreachable") {
    const age = answeredMs === undefined ? "It has not answered yet." : `What you see is from ${clock(answeredMs)}.`;
    return (
      <span>
        For {span(Date.now() - sinceMs)} now: {reasons[0]}. {age} Asking again every 2 s.
      </span>
    );
  }
  const shown = reasons.filter(
    (reason) => reason !== "the broker is stopping" && reason !== "partitions are being opened",
  );
  if (shown.length === 0) return null;
  if (shown.length <= SHOWN) {
    return (
      <ul>
        {shown.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    );
  }
  return (
    <details>
      <summary>{shown.length} reasons</summary>
      <ul>
        {shown.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    </details>
  );
}
