// What comes, as it comes. Of a fast topic the broker sends a sample and counts the rest; this page says so. Choosing a record
// holds the list still, so that it does not run away under the reader.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TopicPage } from "../../../src/ops/api/types.js";
import { apiUrl } from "../lib/api.js";
import { bytes, clock, count, exact, offsetWidth, plural } from "../lib/format.js";
import { useShortcuts } from "../lib/keys.js";
import { linkFailed } from "../lib/link.js";
import { parsePartitions } from "../lib/parse.js";
import { decodeBase64, preview } from "../lib/payload.js";
import { usePolled } from "../lib/polled.js";
import { to } from "../lib/router.js";
import { emptyTail, type SeenRecord, TailFeed, type TailView } from "../lib/tail-feed.js";
import { type Column, Grid } from "../parts/grid.js";
import { isMissing, Missing } from "../parts/missing.js";
import { PayloadView } from "../parts/payload-view.js";
import { Wrong } from "../parts/wrong.js";

/** As many as the broker takes for one tail. */
const PARTITIONS_MAX = 64;

const columnsFor = (largest: number): readonly Column[] => [
  { label: "Seen", width: "4.5rem" },
  { label: "Part.", width: "3rem", numeric: true },
  { label: "Offset", width: offsetWidth(largest), numeric: true },
  { label: "Size", width: "5rem", numeric: true, optional: true },
  { label: "Payload", width: "minmax(8rem, 1fr)" },
];

export function Tail({ topic, partitions }: { readonly topic: string; readonly partitions: string | undefined }) {
  const { data, refusal } = usePolled<TopicPage>(apiUrl(["topics", topic], { limit: 1 }), 10_000);
  const all = data?.topic.partitions ?? 0;
  // All of a topic that has more than one tail takes: the first ones, until others are asked for.
  const wanted =
    partitions ?? (all > PARTITIONS_MAX ? Array.from({ length: PARTITIONS_MAX }, (_, id) => id).join(",") : undefined);
  const ready = data !== undefined;
  const [view, setView] = useState<TailView>(emptyTail);
  const [held, setHeld] = useState<TailView>();
  const [chosen, setChosen] = useState<string>();
  const feed = useRef<TailFeed | undefined>(undefined);
  useEffect(() => {
    if (!ready) return;
    setView(emptyTail);
    setHeld(undefined);
    const made = new TailFeed(topic, wanted, 10, setView, linkFailed);
    feed.current = made;
    return () => made.close();
  }, [topic, wanted, ready]);

  const shown = held ?? view;
  const { records } = shown;
  const current = records.findIndex((record) => keyOf(record) === chosen);
  const hold = (): void => setHeld((old) => old ?? view);
  const toggle = (): void => {
    if (held === undefined) hold();
    else {
      setHeld(undefined);
      setChosen(undefined);
    }
  };
  const clear = (): void => {
    feed.current?.clear();
    // A hold is ended by whoever made it, and not by this.
    setHeld((old) => (old === undefined ? undefined : { ...old, records: [], came: 0, leftOut: 0 }));
    setChosen(undefined);
  };
  const previews = useMemo(() => new Map<string, string>(), [topic]);
  const previewOf = (record: SeenRecord): string => {
    const key = keyOf(record);
    const known = previews.get(key) ?? preview(decodeBase64(record.payload.slice(0, 400)));
    if (previews.size > 2_000) previews.clear();
    previews.set(key, known);
    return known;
  };
  useShortcuts("Live tail", [
    { keys: "p", what: "hold, go on", act: toggle },
    { keys: "x", what: "clear", act: clear },
  ]);
  const record = records[current];
  if (isMissing(refusal)) return <Missing refusal={refusal} topic={topic} />;
  return (
    <>
      <div class="bar-of-choices">
        <h1>
          <a href={to.topic(topic)}>{topic}</a> <span class="quiet">live</span>
        </h1>
        <button
          type="button"
          class={held === undefined ? "" : "primary"}
          aria-pressed={held !== undefined}
          onClick={toggle}
        >
          {held === undefined ? "Hold" : "Go on"}
        </button>
        <button type="button" onClick={clear}>
          Clear
        </button>
        <PartitionChoice topic={topic} all={all} partitions={partitions} />
      </div>
      {refusal === undefined ? null : (
        <p class="note bad" role="alert">
          {refusal.message}
        </p>
      )}
      <TailStatus
        view={view}
        heldAt={held?.came}
        first={partitions === undefined && all > PARTITIONS_MAX ? PARTITIONS_MAX : undefined}
      />
      <div class="split">
        <Grid
          label="Live records"
          columns={columnsFor(records[0]?.offset ?? 0)}
          count={records.length}
          fill
          current={current}
          onCurrent={(index) => {
            hold();
            const at = records[index];
            if (at !== undefined) setChosen(keyOf(at));
          }}
          empty={emptyText(view, held !== undefined)}
          row={(index) => {
            const each = records[index];
            if (each === undefined) return undefined;
            return {
              cells: [
                clock(each.seenMs),
                String(each.partition),
                exact(each.offset),
                bytes(each.bytes),
                <code key="p">{previewOf(each)}</code>,
              ],
            };
          }}
        />
        {record === undefined ? null : <PayloadView topic={topic} partition={record.partition} record={record} />}
      </div>
    </>
  );
}

function emptyText({ state }: TailView, held: boolean): string {
  if (held) return "Nothing is kept here, and what comes is held back. Go on to see it.";
  return state === "live" ? "Nothing came yet. Records show here within a second." : "…";
}

const keyOf = ({ partition, offset }: SeenRecord): string => `${partition}/${offset}`;

interface StatusProps {
  readonly view: TailView;
  /** How many had come when it was held. */
  readonly heldAt: number | undefined;
  /** Only so many partitions of more. */
  readonly first: number | undefined;
}

function TailStatus({ view, heldAt, first }: StatusProps) {
  const { state, why, came, leftOut, perSecond, shownPerSecond, sampled } = view;
  const words = { connecting: "connecting …", live: "live", lost: "connection lost, trying again", refused: "refused" }[
    state
  ];
  return (
    <p class="tail-status" data-sampled={sampled}>
      <span
        class={`pill ${state === "live" ? "ready" : state === "connecting" ? "connecting" : "unreachable"}`}
        role="status"
      >
        <i aria-hidden="true" />
        {words}
      </span>
      {why === undefined ? null : <span class="bad">{why}</span>}
      <span class="numeric">{count(perSecond)} records/s</span>
      {sampled ? (
        <strong class="sampled">
          Sampled: {count(shownPerSecond)} of {count(perSecond)} a second are shown, the newest 40 of each fifth of a
          second.
        </strong>
      ) : (
        <span class="quiet">every record is shown</span>
      )}
      <span class="quiet">
        {plural(came, "record")} came{leftOut > 0 ? `, ${exact(leftOut)} left out` : ""}
      </span>
      {heldAt === undefined ? null : <strong class="held">Held: {exact(came - heldAt)} came since.</strong>}
      {first === undefined ? null : <span class="quiet">Partitions 0 to {first - 1}; choose others above.</span>}
    </p>
  );
}

interface ChoiceProps {
  readonly topic: string;
  readonly all: number;
  readonly partitions: string | undefined;
}

function PartitionChoice({ topic, all, partitions }: ChoiceProps) {
  const [typed, setTyped] = useState(partitions ?? "");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setTyped(partitions ?? ""), [partitions]);
  useShortcuts("Partitions", [{ keys: "/", what: "choose partitions", act: () => input.current?.select() }]);
  const parsed = parsePartitions(typed);
  const valid = parsed !== undefined && parsed.length <= PARTITIONS_MAX && parsed.every((id) => id < all);
  if (all < 2) return null;
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        if (!valid) return;
        input.current?.blur();
        location.assign(to.tail(topic, parsed.length === 0 ? undefined : parsed.join(",")));
      }}
    >
      <label>
        Partitions{" "}
        <input
          ref={input}
          size={12}
          value={typed}
          placeholder={all > PARTITIONS_MAX ? `0-${PARTITIONS_MAX - 1}` : "all"}
          title={`Numbers and ranges, as 0,2,5-7, at most ${PARTITIONS_MAX}; none: all`}
          aria-invalid={!valid}
          aria-describedby={valid ? undefined : "partitions-wrong"}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={!valid}>
        Show
      </button>
      {valid ? null : (
        <Wrong id="partitions-wrong">
          {`Write numbers and ranges from 0 to ${exact(all - 1)}, such as 0,2,5-7${all > PARTITIONS_MAX ? `, at most ${PARTITIONS_MAX} partitions` : ""}.`}
        </Wrong>
      )}
    </form>
  );
}
