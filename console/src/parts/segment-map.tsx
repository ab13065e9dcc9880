// The segments of a partition along its offsets, to scale, with start, high watermark, durable offset and end. Below it, the
// current segment to its own scale: at the whole log's the marks at its end lie on each other.

import { useEffect, useRef, useState } from "preact/hooks";
import type { PartitionInfo, SegmentView } from "../../../src/ops/api/types.js";
import { bytes, exact, plural } from "../lib/format.js";
import { blocksOf, marksOf, placeOf } from "../lib/segments.js";

interface MapProps {
  readonly partition: PartitionInfo;
  readonly segments: readonly SegmentView[];
  readonly current: number;
  readonly onCurrent: (index: number) => void;
}

export function SegmentMap({ partition, segments, current, onCurrent }: MapProps) {
  const { logStartOffset: start, logEndOffset: end, highWatermark, durableOffset } = partition;
  const marks = [
    { label: "start", offset: start },
    { label: "high watermark", offset: highWatermark },
    { label: "durable", offset: durableOffset },
    { label: "end", offset: end },
  ];
  const segment = segments[current] ?? segments.at(-1);
  return (
    <div class="maps">
      <Strip
        title={`The log: ${plural(end - start, "offset")} in ${plural(segments.length, "segment")}`}
        start={start}
        end={end}
        marks={marks}
        segments={segments}
        current={current}
        onCurrent={onCurrent}
      />
      {segment === undefined || segments.length < 2 ? null : (
        <Strip
          title={`Segment ${exact(segment.baseOffset)}: ${plural(segment.endOffset - segment.baseOffset, "offset")}, ${bytes(segment.bytes)}${segment.active ? ", active" : ""}`}
          start={segment.baseOffset}
          end={segment.endOffset}
          marks={[
            { label: "first", offset: segment.baseOffset },
            ...marks.filter(
              ({ offset, label }) => label !== "start" && offset >= segment.baseOffset && offset <= segment.endOffset,
            ),
            ...(segment.active ? [] : [{ label: "next segment", offset: segment.endOffset }]),
          ]}
          segments={[segment]}
          current={0}
        />
      )}
    </div>
  );
}

interface StripProps {
  readonly title: string;
  readonly start: number;
  readonly end: number;
  readonly marks: readonly { readonly label: string; readonly offset: number }[];
  readonly segments: readonly SegmentView[];
  readonly current: number;
  readonly onCurrent?: (index: number) => void;
}

function Strip({ title, start, end, marks, segments, current, onCurrent }: StripProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const blocks = blocksOf(segments, start, end, 3 / Math.max(1, width));
  const placed = marksOf(marks, start, end);
  const isCurrent = (at: number): boolean => {
    const block = blocks[at];
    return block !== undefined && current >= block.first && current < block.first + block.count;
  };
  const percent = (share: number): string => `${share * 100}%`;
  const names = placed.map(({ labels, offset }) => `${labels.join(", ")} at ${offset}`).join("; ");
  return (
    <figure class="strip">
      <figcaption>{title}</figcaption>
      <div ref={box} class="bar" role="img" aria-label={`${title}. ${names}.`}>
        {blocks.map((block, at) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for a mouse; the list below does the same by keys
          // biome-ignore lint/a11y/useKeyWithClickEvents: the same
          <div
            key={block.first}
            class={`block${block.active ? " active" : ""}${isCurrent(at) && onCurrent !== undefined ? " current" : ""}`}
            style={{ left: percent(block.from), width: `max(2px, calc(${percent(block.to - block.from)} - 1px))` }}
            title={blockTitle(segments, block.first, block.count)}
            onClick={() => onCurrent?.(block.first)}
          />
        ))}
        {placed.map(({ labels, offset }) => (
          <div
            key={offset}
            class={`mark ${labels.at(-1)?.split(" ")[0]}`}
            style={{ left: percent(placeOf(offset, start, end)) }}
          />
        ))}
      </div>
      <ul class="marks" aria-hidden="true">
        {placed.map(({ labels, offset, at }) => (
          <li key={offset} class={at < 0.5 ? "left" : "right"}>
            {labels.map((label) => (
              <span key={label} class={`name ${label.split(" ")[0]}`}>
                {label}
              </span>
            ))}
            <b class="numeric">{exact(offset)}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}

function blockTitle(segments: readonly SegmentView[], first: number, count: number): string {
  const from = segments[first];
  const to = segments[first + count - 1];
  if (from === undefined || to === undefined) return "";
  const range = `${exact(from.baseOffset)} to ${exact(to.endOffset)}`;
  return count > 1 ? `${count} segments, ${range}` : `${range}, ${bytes(from.bytes)}${from.active ? ", active" : ""}`;
}
