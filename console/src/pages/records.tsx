// Records of a partition: from an offset or a time on, a page at a time, the current one in full beside the list.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { OffsetAtTime, RecordsPage } from "../../../src/ops/api/types.js";
import { apiUrl, ask, messageOf, type Refusal } from "../lib/api.js";
import { bytes, dateTime, exact, offsetWidth } from "../lib/format.js";
import { useShortcuts } from "../lib/keys.js";
import { parseOffset, readTime } from "../lib/parse.js";
import { usePartition } from "../lib/partition-feed.js";
import { decodeBase64, preview } from "../lib/payload.js";
import { usePolled } from "../lib/polled.js";
import { to } from "../lib/router.js";
import { Trouble } from "../parts/facts.js";
import { type Column, Grid } from "../parts/grid.js";
import { isMissing, Missing } from "../parts/missing.js";
import { PayloadView } from "../parts/payload-view.js";
import { Wrong } from "../parts/wrong.js";
import { PartitionHead, type PartitionProps } from "./partition.js";

const PAGE = 200;

const columnsFor = (largest: number): readonly Column[] => [
  { label: "Offset", width: offsetWidth(largest), numeric: true },
  { label: "Size", width: "5.5rem", numeric: true },
  { label: "Payload", width: "minmax(8rem, 1fr)" },
];

interface RecordsProps extends PartitionProps {
  /** Where the page begins; the start of the log without it. */
  readonly offset: number | undefined;
  /** A time that was looked for, and led here. */
  readonly note: string | undefined;
}

export function Records({ topic, partition, offset, note }: RecordsProps) {
  const { page, refusal: gone } = usePartition(topic, partition, false);
  const info = page?.partition;
  const readable = info !== undefined && info.state !== "refused";
  const start = info?.logStartOffset ?? 0;
  const from = offset ?? (readable ? start : undefined);
  const url =
    readable && from !== undefined
      ? apiUrl(["topics", topic, "partitions", partition, "records"], { from, limit: PAGE, payload: 4096 })
      : undefined;
  // What is written does not change; at the end of the log there may come more.
  const [atEnd, setAtEnd] = useState(false);
  const { data, refusal } = usePolled<RecordsPage>(url, atEnd ? 1_000 : 0);
  useEffect(() => setAtEnd(data !== undefined && data.records.length < PAGE && data.damaged === null), [data]);
  const [current, setCurrent] = useState(0);
  useEffect(() => setCurrent(0), [url]);
  const go = (offsetWanted: number): void => location.assign(to.records(topic, partition, { offset: offsetWanted }));
  const earlier = (): void => {
    if (from !== undefined && from > start) go(Math.max(start, from - PAGE));
  };
  const later = (): void => {
    if (data !== undefined && data.records.length > 0 && data.nextOffset < data.highWatermark) go(data.nextOffset);
  };
  const newest = (): void => {
    if (info !== undefined) go(Math.max(start, info.highWatermark - PAGE));
  };
  useShortcuts("Records", [
    { keys: ",", what: "page before", act: earlier },
    { keys: ".", what: "next page", act: later },
    { keys: "e", what: "earliest", act: () => go(start) },
    { keys: "l", what: "latest", act: newest },
  ]);
  const records = data?.records ?? [];
  const previews = useMemo(() => records.map(({ payload }) => preview(decodeBase64(payload.slice(0, 400)))), [data]);
  const record = records[Math.min(current, records.length - 1)];
  if (isMissing(gone)) return <Missing refusal={gone} topic={topic} partition={partition} />;
  return (
    <>
      <PartitionHead topic={topic} partition={partition} state={info} here="records" />
      {info === undefined ? null : <Trouble {...info} />}
      {info?.state === "refused" ? null : (
        <>
          <div class="bar-of-choices">
            <OffsetSearch go={go} />
            <TimeSearch topic={topic} partition={partition} />
            <span class="pager">
              <button type="button" onClick={() => go(start)}>
                Earliest
              </button>
              <button type="button" disabled={from === undefined || from <= start} onClick={earlier}>
                ← Before
              </button>
              <button
                type="button"
                disabled={data === undefined || data.nextOffset >= data.highWatermark}
                onClick={later}
              >
                Next →
              </button>
              <button type="button" onClick={newest}>
                Latest
              </button>
            </span>
          </div>
          <p class="note" role="status">
            {refusal !== undefined ? <span class="bad">{refusalText(refusal, from)} </span> : null}
            {note === undefined ? "" : `${note} `}
            {info === undefined ? "" : rangeText(start, info.highWatermark, records)}
          </p>
          <div class="split">
            <Grid
              label="Records"
              columns={columnsFor(data?.highWatermark ?? 0)}
              count={records.length}
              fill
              current={current}
              onCurrent={setCurrent}
              empty={emptyText(data, refusal?.message)}
              row={(index) => {
                const each = records[index];
                if (each === undefined) return undefined;
                return { cells: [exact(each.offset), bytes(each.bytes), <code key="p">{previews[index]}</code>] };
              }}
            />
            {record === undefined ? null : <PayloadView topic={topic} partition={partition} record={record} />}
          </div>
          {data?.damaged ? (
            <div class="banner impaired" role="alert">
              <strong>Record {exact(data.nextOffset)} is damaged.</strong> <span>{data.damaged}</span>{" "}
              <button type="button" onClick={() => go(data.nextOffset + 1)}>
                Go on at {exact(data.nextOffset + 1)}
              </button>
            </div>
          ) : null}
        </>
      )}
    </>
  );
}

/** The broker names where the log ends, which is no record; what can be read is said beside it. */
const refusalText = ({ code, message }: Refusal, from: number | undefined): string =>
  code === "OFFSET_OUT_OF_RANGE" && from !== undefined ? `There is no record ${exact(from)} here.` : `${message}.`;

function rangeText(start: number, end: number, records: RecordsPage["records"]): string {
  const first = records[0];
  const last = records.at(-1);
  if (start === end) return "";
  const all = `${exact(start)} to ${exact(end - 1)} can be read`;
  return first === undefined || last === undefined
    ? `${all}.`
    : `Here: ${exact(first.offset)} to ${exact(last.offset)}; ${all}.`;
}

function emptyText(data: RecordsPage | undefined, refusal: string | undefined): string {
  if (refusal !== undefined) return "Nothing to show.";
  if (data === undefined) return "…";
  if (data.highWatermark === data.logStartOffset) return "No records yet. They show here when they come.";
  return `Nothing from ${exact(data.nextOffset)} on yet: the log ends there.`;
}

function OffsetSearch({ go }: { readonly go: (offset: number) => void }) {
  const [typed, setTyped] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const offset = parseOffset(typed);
  const wrong = typed.trim() !== "" && offset === undefined;
  useShortcuts("Search", [{ keys: "/", what: "search by offset", act: () => input.current?.select() }]);
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        if (offset === undefined) return;
        input.current?.blur();
        go(offset);
      }}
    >
      <label>
        Offset{" "}
        <input
          ref={input}
          name="offset"
          size={12}
          inputMode="numeric"
          autocomplete="off"
          value={typed}
          aria-invalid={wrong}
          aria-describedby={wrong ? "offset-wrong" : undefined}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={offset === undefined}>
        Find
      </button>
      {wrong ? <Wrong id="offset-wrong">An offset is a whole number from 0 on, such as 1,234.</Wrong> : null}
    </form>
  );
}

function TimeSearch({ topic, partition }: PartitionProps) {
  const [typed, setTyped] = useState("");
  const [failed, setFailed] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  const read = readTime(typed, Date.now());
  const ms = "ms" in read ? read.ms : undefined;
  const wrong = typed.trim() === "" || "ms" in read ? undefined : read.why;
  useShortcuts("Search by time", [{ keys: "@", what: "search by time", act: () => input.current?.select() }]);
  const find = async (): Promise<void> => {
    if (ms === undefined) return;
    setFailed(undefined);
    try {
      const url = apiUrl(["topics", topic, "partitions", partition, "offset"], { time: ms });
      const { offset, timestampMs } = await ask<OffsetAtTime>(url);
      input.current?.blur();
      location.assign(to.records(topic, partition, { offset, asked: ms, found: timestampMs ?? "none" }));
    } catch (error) {
      setFailed(messageOf(error));
    }
  };
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        void find();
      }}
    >
      <label title="2026-01-31 14:05, 14:05:30, 15m ago, or milliseconds since 1970; your time zone">
        Time{" "}
        <input
          ref={input}
          name="time"
          size={19}
          autocomplete="off"
          placeholder="14:05 or 15m ago"
          value={typed}
          aria-invalid={wrong !== undefined}
          aria-describedby={wrong === undefined ? undefined : "time-wrong"}
          onInput={(event) => {
            setFailed(undefined);
            setTyped(event.currentTarget.value);
          }}
        />
      </label>
      <button type="submit" disabled={ms === undefined}>
        Find
      </button>
      {wrong !== undefined || failed !== undefined ? (
        <Wrong id="time-wrong">{wrong ?? failed}</Wrong>
      ) : (
        <small class="quiet">{ms === undefined ? "" : dateTime(ms)}</small>
      )}
    </form>
  );
}

/** What a search by time has to say, from the address that it led to. */
export function timeNote(query: URLSearchParams): string | undefined {
  const asked = Number(query.get("asked") ?? Number.NaN);
  if (!Number.isFinite(asked)) return undefined;
  const found = query.get("found");
  if (found === null || found === "none") return `All records are older than ${dateTime(asked)}.`;
  return `Records from ${dateTime(asked)} on begin here or a little after (index: ${dateTime(Number(found))}).`;
}
