// One topic: its settings, and all its partitions with their offsets.

import { useRef, useState } from "preact/hooks";
import type { TopicPage } from "../../../src/ops/api/types.js";
import { apiUrl } from "../lib/api.js";
import { bytes, exact, offsetText, plural } from "../lib/format.js";
import { useShortcuts } from "../lib/keys.js";
import { link } from "../lib/link.js";
import { parseOffset } from "../lib/parse.js";
import { usePieces } from "../lib/pieces.js";
import { usePolled } from "../lib/polled.js";
import { to } from "../lib/router.js";
import { useStore } from "../lib/store.js";
import { Facts, StateSign } from "../parts/facts.js";
import { type Column, Grid } from "../parts/grid.js";
import { isMissing, Missing } from "../parts/missing.js";
import { Wrong } from "../parts/wrong.js";
import { kept } from "./topics.js";

const PIECE = 100;

const COLUMNS: readonly Column[] = [
  { label: "Partition", width: "5.5rem" },
  { label: "Start", width: "minmax(6rem, 1fr)", numeric: true },
  { label: "High watermark", width: "minmax(8rem, 1fr)", numeric: true },
  { label: "Durable", width: "minmax(6rem, 1fr)", numeric: true, optional: true },
  { label: "End", width: "minmax(6rem, 1fr)", numeric: true, optional: true },
  { label: "Size", width: "6rem", numeric: true },
  { label: "Segments", width: "5.5rem", numeric: true, optional: true },
  { label: "Epoch", width: "4.5rem", numeric: true, optional: true },
  { label: "State", width: "minmax(6rem, 2fr)" },
];

export function Topic({ topic: name }: { readonly topic: string }) {
  const { data, refusal } = usePolled<TopicPage>(apiUrl(["topics", name], { limit: 1 }), 3_000);
  const { item, onView } = usePieces(
    name,
    PIECE,
    2_000,
    (from) => apiUrl(["topics", name], { from, limit: PIECE }),
    ({ partitions }: TopicPage) => partitions,
  );
  const [typed, setTyped] = useState("");
  const goTo = useRef<HTMLInputElement>(null);
  useShortcuts("Topic", [
    { keys: "/", what: "go to a partition by its number", act: () => goTo.current?.select() },
    { keys: "t", what: "live tail", act: () => location.assign(to.tail(name)) },
  ]);
  const count = data?.topic.partitions ?? 0;
  const wanted = parseOffset(typed);
  const isThere = wanted !== undefined && wanted < count;
  const wrong = typed.trim() !== "" && !isThere;
  if (isMissing(refusal)) return <Missing refusal={refusal} topic={name} />;
  return (
    <>
      <div class="bar-of-choices">
        <h1>{name}</h1>
        <a class="button" href={to.tail(name)}>
          Live tail
        </a>
        {count < 2 ? null : (
          <form
            class="inline"
            onSubmit={(event) => {
              event.preventDefault();
              if (isThere) location.hash = to.partition(name, wanted);
            }}
          >
            <input
              ref={goTo}
              size={8}
              inputMode="numeric"
              aria-label={`Partition, 0 to ${count - 1}`}
              placeholder={`0 – ${count - 1}`}
              value={typed}
              aria-invalid={wrong}
              aria-describedby={wrong ? "partition-wrong" : undefined}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
            <button type="submit" disabled={!isThere}>
              Go to partition
            </button>
            {wrong ? <Wrong id="partition-wrong">It has partitions 0 to {exact(count - 1)}.</Wrong> : null}
          </form>
        )}
      </div>
      {refusal === undefined ? null : (
        <p class="note bad" role="alert">
          {refusal.message}
        </p>
      )}
      {data === undefined ? null : (
        <Facts
          facts={[
            ["Records", exact(data.topic.records), bytes(data.topic.bytes)],
            ["Partitions", exact(count), troubles(data.topic.refused, data.topic.poisoned)],
            ["Record format", data.topic.recordFormat],
            ["Visible when", data.topic.visibility],
            ["Segments", data.topic.segmentMode, `of ${bytes(data.topic.segmentBytes)}`],
            ["Kept of each partition", kept(data.topic)],
          ]}
        />
      )}
      <OwnSettings topic={name} />
      <Grid
        label="Partitions"
        columns={COLUMNS}
        count={count}
        fill
        empty={refusal === undefined ? "…" : ""}
        onView={onView}
        row={(index) => {
          const partition = item(index);
          const href = to.partition(name, index);
          if (partition === undefined) return { href, cells: [String(index)] };
          return {
            href,
            tone:
              partition.state !== "open"
                ? "bad"
                : partition.logEndOffset === partition.logStartOffset
                  ? "quiet"
                  : undefined,
            cells: [
              String(index),
              offsetText(partition.logStartOffset),
              offsetText(partition.highWatermark),
              offsetText(partition.durableOffset),
              offsetText(partition.logEndOffset),
              bytes(partition.bytes),
              offsetText(partition.segments),
              offsetText(partition.epoch),
              <span key="state" title={partition.reason ?? undefined}>
                <StateSign state={partition.state} /> {partition.reason ?? ""}
              </span>,
            ],
          };
        }}
      />
    </>
  );
}

/** What its table has for it; all else is the broker's, and on the broker's page. */
function OwnSettings({ topic }: { readonly topic: string }) {
  const { broker } = useStore(link);
  if (broker === undefined) return null;
  const own = broker.topicSettings.filter((setting) => setting.topic === topic);
  const more = broker.topicSettingsLeftOut;
  if (own.length === 0 && more === 0) return null;
  return (
    <section aria-label="Settings of its own">
      <h2>Settings of its own</h2>
      {own.length === 0 ? null : <Facts facts={own.map(({ key, value, origin }) => [key, value, origin])} />}
      {more === 0 ? null : (
        <p class="note">{`${plural(more, "setting")} of topics ${more === 1 ? "is" : "are"} not sent here; there may be more of this one.`}</p>
      )}
    </section>
  );
}

function troubles(refused: number, poisoned: number): string | undefined {
  const parts = [
    ...(refused > 0 ? [`${plural(refused, "is", "are")} refused`] : []),
    ...(poisoned > 0 ? [`${plural(poisoned, "is", "are")} poisoned`] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(", ");
}
