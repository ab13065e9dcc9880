// One partition: where its offsets stand, and its segments, drawn to scale and listed.

import { useState } from "preact/hooks";
import type { PartitionInfo, PartitionPage } from "../../../src/ops/api/types.js";
import { bytes, dateTime, exact, NOTHING, offsetWidth, plural } from "../lib/format.js";
import { useShortcuts } from "../lib/keys.js";
import { SEGMENTS_MAX, usePartition } from "../lib/partition-feed.js";
import { to } from "../lib/router.js";
import { type Fact, Facts, StateSign, Trouble } from "../parts/facts.js";
import { type Column, Grid } from "../parts/grid.js";
import { isMissing, Missing } from "../parts/missing.js";
import { SegmentMap } from "../parts/segment-map.js";

export interface PartitionProps {
  readonly topic: string;
  readonly partition: number;
}

const columnsFor = (largest: number): readonly Column[] => [
  { label: "First offset", width: offsetWidth(largest), numeric: true },
  { label: "End", width: offsetWidth(largest), numeric: true, optional: true },
  { label: "Records", width: "minmax(6rem, 1fr)", numeric: true },
  { label: "Size", width: "6rem", numeric: true },
  { label: "Allocated", width: "6rem", numeric: true, optional: true },
  { label: "First append", width: "11rem", optional: true },
  { label: "Last append", width: "11rem", optional: true },
  { label: "State", width: "minmax(5rem, 1fr)" },
];

export function Partition({ topic, partition }: PartitionProps) {
  const { page, segments, refusal } = usePartition(topic, partition, true);
  const [chosen, setChosen] = useState<number>();
  const found = segments.findIndex(({ baseOffset }) => baseOffset === chosen);
  const current = found < 0 ? segments.length - 1 : found;
  const choose = (index: number): void => setChosen(segments[index]?.baseOffset);
  if (isMissing(refusal)) return <Missing refusal={refusal} topic={topic} partition={partition} />;
  return (
    <>
      <PartitionHead topic={topic} partition={partition} state={page?.partition} here="segments" />
      {refusal === undefined ? null : (
        <p class="note bad" role="alert">
          {refusal.message}
        </p>
      )}
      {page === undefined ? null : <Trouble {...page.partition} />}
      {page === undefined || page.partition.state === "refused" ? null : (
        <>
          <Facts facts={factsOf(page)} />
          <SegmentMap partition={page.partition} segments={segments} current={current} onCurrent={choose} />
          {segments.length >= SEGMENTS_MAX ? (
            <p class="note">Only the first {exact(SEGMENTS_MAX)} segments are shown.</p>
          ) : null}
          <Grid
            label="Segments"
            columns={columnsFor(page.partition.logEndOffset)}
            count={segments.length}
            fill
            empty="…"
            current={current}
            onCurrent={choose}
            row={(index) => {
              const segment = segments[index];
              if (segment === undefined) return undefined;
              const state = segment.active ? "active" : segment.sealed ? "sealed" : "not sealed";
              return {
                href: to.records(topic, partition, {
                  offset: Math.max(segment.baseOffset, page.partition.logStartOffset),
                }),
                cells: [
                  exact(segment.baseOffset),
                  exact(segment.endOffset),
                  exact(segment.endOffset - segment.baseOffset),
                  bytes(segment.bytes),
                  bytes(segment.allocatedBytes),
                  segment.firstAppendMs === null ? NOTHING : dateTime(segment.firstAppendMs),
                  segment.lastAppendMs === null ? NOTHING : dateTime(segment.lastAppendMs),
                  state,
                ],
              };
            }}
          />
        </>
      )}
      {page === undefined ? null : <p class="quiet path">{page.dir}</p>}
    </>
  );
}

function factsOf({ partition, epochs }: PartitionPage): readonly Fact[] {
  const { logStartOffset: start, highWatermark, durableOffset, logEndOffset: end, epoch } = partition;
  const behind = (offset: number): string => (offset === end ? "at the end" : `${exact(end - offset)} behind the end`);
  return [
    [
      "Start",
      <b key="v" class="numeric">
        {exact(start)}
      </b>,
      start === 0 ? "nothing removed" : `${exact(start)} removed`,
    ],
    [
      "High watermark",
      <b key="v" class="numeric">
        {exact(highWatermark)}
      </b>,
      behind(highWatermark),
    ],
    [
      "Durable",
      <b key="v" class="numeric">
        {exact(durableOffset)}
      </b>,
      behind(durableOffset),
    ],
    [
      "End",
      <b key="v" class="numeric">
        {exact(end)}
      </b>,
      plural(end - start, "record"),
    ],
    ["Size", bytes(partition.bytes), plural(partition.segments, "segment")],
    ["Epoch", exact(epoch), epochs.length > 1 ? `since offset ${exact(epochs.at(-1)?.startOffset ?? 0)}` : "the first"],
  ];
}

interface HeadProps extends PartitionProps {
  readonly state: PartitionInfo | undefined;
  readonly here: "segments" | "records";
}

/** The same on both pages of a partition. */
export function PartitionHead({ topic, partition, state, here }: HeadProps) {
  const address = here === "records" ? to.records : to.partition;
  useShortcuts("Partition", [
    { keys: "s", what: "segments", act: () => location.assign(to.partition(topic, partition)) },
    { keys: "r", what: "records", act: () => location.assign(to.records(topic, partition)) },
    { keys: "t", what: "live tail of this partition", act: () => location.assign(to.tail(topic, String(partition))) },
    { keys: "]", what: "next partition", act: () => location.assign(address(topic, partition + 1)) },
    { keys: "[", what: "partition before", act: () => partition > 0 && location.assign(address(topic, partition - 1)) },
  ]);
  return (
    <div class="bar-of-choices">
      <h1>
        <a href={to.topic(topic)}>{topic}</a>
        <span class="quiet">/</span>
        {partition}
      </h1>
      {state === undefined ? null : <StateSign state={state.state} />}
      <nav class="tabs" aria-label="Pages of this partition">
        <a href={to.partition(topic, partition)} aria-current={here === "segments" ? "page" : undefined}>
          Segments
        </a>
        <a href={to.records(topic, partition)} aria-current={here === "records" ? "page" : undefined}>
          Records
        </a>
        <a href={to.tail(topic, String(partition))}>Live tail</a>
      </nav>
    </div>
  );
}
