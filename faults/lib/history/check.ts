// Judges a history against the log as it is at the end: what was acknowledged is there, once, in one piece, in order, and nothing else is.

import type { History } from "./history.js";
import { producerOf, type RecordId, sequenceOf, shownId } from "./payload.js";
import type { Violation } from "./violations.js";

/** A partition's whole log, as it was read at the end. */
export interface FinalLog {
  readonly partition: number;
  readonly logStartOffset: number;
  /** From the log's start to its end. */
  readonly payloads: readonly Uint8Array[];
}

export interface Verdict {
  readonly violations: readonly Violation[];
  /** Records that were acknowledged, and are gone. */
  readonly losses: number;
  readonly counts: Readonly<Record<string, number>>;
}

export function checkHistory(history: History, logs: readonly FinalLog[]): Verdict {
  for (const log of logs) checkPartition(history, log);
  const { violations } = history;
  const there = logs.reduce((sum, { payloads }) => sum + payloads.length, 0);
  return {
    violations: violations.kept,
    losses: violations.of("acknowledged-lost"),
    counts: { ...history.counts, "records there at the end": there },
  };
}

function checkPartition(history: History, log: FinalLog): void {
  const { violations, options } = history;
  const { partition, logStartOffset: start, payloads } = log;
  if (start > 0 && !options.retention) {
    violations.add("log-start", `partition ${partition} starts at ${start}, and nothing removes records`);
  }
  if (start < history.startSeen(partition)) {
    violations.add(
      "log-start",
      `partition ${partition} starts at ${start}, and had started at ${history.startSeen(partition)}`,
    );
  }
  const ids = payloads.map((payload, at) => history.identified(partition, start + at, payload));
  checkKnown(history, log, ids);
  checkOrder(history, log, ids);
  checkBatches(history, log, ids);
}

/** Everything that somebody was told or shown is there, unless retention took it. */
function checkKnown(
  history: History,
  { partition, logStartOffset: start }: FinalLog,
  ids: readonly (RecordId | undefined)[],
): void {
  const bindings = history.bindings(partition);
  for (let offset = start; offset < bindings.end; offset++) {
    const known = bindings.at(offset);
    if (known === undefined || ids[offset - start] === known.id) continue;
    const there = ids[offset - start];
    const instead =
      offset - start < ids.length ? (there === undefined ? "made-up bytes are" : `${shownId(there)} is`) : "nothing is";
    const rule = known.acknowledged ? "acknowledged-lost" : "visible-lost";
    history.violations.add(
      rule,
      `partition ${partition} offset ${offset}: ${shownId(known.id)} was there, and ${instead} at the end`,
    );
  }
}

/** Each record once, and those of a producer in the order in which they were sent. */
function checkOrder(
  { violations }: History,
  { partition, logStartOffset }: FinalLog,
  ids: readonly (RecordId | undefined)[],
): void {
  const last = new Map<number, number>();
  const seen = new Set<RecordId>();
  for (const [at, id] of ids.entries()) {
    if (id === undefined) continue;
    const where = `partition ${partition} offset ${logStartOffset + at}`;
    if (seen.has(id)) {
      violations.add("twice", `${where}: ${shownId(id)} is there a second time`);
      continue;
    }
    seen.add(id);
    const before = last.get(producerOf(id)) ?? -1;
    if (sequenceOf(id) < before) violations.add("order", `${where}: ${shownId(id)} is behind its record ${before}`);
    last.set(producerOf(id), Math.max(before, sequenceOf(id)));
  }
}

/** A batch lies in one piece. Only one that nobody acknowledged may lack its end, where something was cut off. */
function checkBatches(
  history: History,
  { partition, logStartOffset }: FinalLog,
  ids: readonly (RecordId | undefined)[],
): void {
  for (let at = 0; at < ids.length; ) {
    const id = ids[at];
    const batch = id === undefined ? undefined : history.producers[producerOf(id)].batchOf(sequenceOf(id));
    if (id === undefined || batch === undefined) {
      at++;
      continue;
    }
    // Retention may have removed the segment with its beginning.
    const first = sequenceOf(id) - batch.first;
    const from = at;
    while (at < ids.length && ids[at] === id + (at - from) && first + (at - from) < batch.sizes.length) at++;
    const whole = (first === 0 || (from === 0 && logStartOffset > 0)) && first + (at - from) === batch.sizes.length;
    if (whole || mayBeCut(history, first === 0)) continue;
    const which = `records ${first} to ${first + (at - from) - 1} of ${batch.sizes.length} of a batch`;
    const where = `partition ${partition} offset ${logStartOffset + from}`;
    history.violations.add("torn-batch", `${where}: ${which} (${batch.outcome}), beginning with ${shownId(id)}`);
  }
}

/** Of one that was acknowledged the rule about what is known has said already whether its end may be gone. */
const mayBeCut = ({ interrupted }: History, fromItsFirst: boolean): boolean => fromItsFirst && interrupted;
