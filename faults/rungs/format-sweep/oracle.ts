// Opens a damaged partition and judges what comes of it.
//
//   opened    it is a prefix of what was written that holds everything below the checkpoint and in sealed segments, no record is made up, and what
//             lies before the damage is all there; then it takes a record, and has it after a close
//   refused   with a code and a file in its words, and only where something that was durable may be damaged

import type { Log } from "../../../src/log/embedded.js";
import { type Damage, fateOf, filesOf, firstByte, isTouched } from "./damage.js";
import { isSealed, modelLog, readCheckpoint, walkSegment } from "./model.js";
import type { Shape } from "./shapes.js";
import { baseOf, type KeptFile, logsOf, type Snapshot } from "./snapshot.js";

export type OpenLog = (dir: string, options: Shape["options"]) => Promise<Log>;

export interface Expected {
  /** Why it must not open. */
  readonly mayNotOpen?: string;
  readonly mayRefuse: boolean;
  /** With `exact` it ends there, else there at the earliest. */
  readonly end: number;
  readonly exact: boolean;
  /** Records below are as they were written. */
  readonly faithful: number;
  /** Reading may find a damaged record and say so. */
  readonly mayBeUnreadable: boolean;
  /** Each record is asked for by its offset as well, which goes through the index. */
  readonly seeks?: true;
}

/** Below it everything was durable before the damage. */
export function floorOf({ after, format }: Shape): number {
  const sealed = logsOf(after).filter((log) => isSealed(after, log));
  const ends = sealed.map((log) => baseOf(log) + walkSegment(after.get(log)!.bytes, format).positions.length);
  return Math.max(0, readCheckpoint(after.get("checkpoint"))?.durableOffset ?? 0, ...ends);
}

export function expected(shape: Shape, damage: Damage, damaged: Snapshot): Expected {
  const { after, truth } = shape;
  const files = filesOf(damage);
  const written = truth.length;
  const isSame = ["checkpoint", ...files].every((file) => sameBytes(damaged.get(file), after.get(file)));
  const whole = { end: written, exact: true, faithful: written, mayBeUnreadable: false };
  if (isSame) return { ...whole, mayRefuse: false };
  if (files.some((file) => file.endsWith(".log"))) return ofLogs(shape, damage, damaged);
  // No record is touched, so none may be missing. Only what says how the records lie is a reason to refuse, and the slot of the checkpoint that counts: a
  // torn write can damage the other one alone.
  const [file] = files;
  const isMark = file === "checkpoint" && !countsAsBefore(after.get(file), damaged.get(file));
  if (damage.kind === "misplace") {
    return { ...whole, mayRefuse: true, mayNotOpen: "a checkpoint whose place is none of the records" };
  }
  const seeks = file.endsWith(".index") ? true : undefined;
  return { ...whole, seeks, mayRefuse: file === "partition.json" || isMark };
}

function countsAsBefore(before: KeptFile | undefined, damaged: KeptFile | undefined): boolean {
  const [was, is] = [readCheckpoint(before), readCheckpoint(damaged)];
  return damaged?.bytes.length === before?.bytes.length && was !== undefined && is?.sequence === was.sequence;
}

function ofLogs(shape: Shape, damage: Damage, damaged: Snapshot): Expected {
  const { format, after, truth } = shape;
  const floor = fateOf(damage) === undefined ? floorOf(shape) : floorOf(withCheckpoint(shape, damaged));
  const intact = intactBelow(shape, damage);
  const files = filesOf(damage);
  const isTrusted = files.some((file) => isSealed(after, file));
  if (isTrusted || intact < floor) {
    // Below the checkpoint, or in a sealed segment: a refusal, or everything is still there and reading says what is wrong.
    const faithful = format === "crc32c" ? truth.length : intact;
    const mayNotOpen = whyNotUnread(shape, damage);
    return { mayNotOpen, mayRefuse: true, end: floor, exact: false, faithful, mayBeUnreadable: true };
  }
  const { end, overlaps } = modelLog(damaged, format);
  const faithful = format === "crc32c" ? truth.length : Math.min(intact, truth.length);
  // The checkpoint says where the log begins: without its first segment it does not. No crash leaves a gap behind a sealed segment.
  const mayRefuse = overlaps || !damaged.has(logsOf(after)[0]) || hasGapBehindSealed(damaged, format);
  const mayNotOpen = overlaps ? "two segments that claim one offset" : undefined;
  return { mayNotOpen, mayRefuse, end, exact: true, faithful, mayBeUnreadable: false };
}

/** What a start sees of a sealed segment without reading it. */
function whyNotUnread({ after, format }: Shape, damage: Damage): string | undefined {
  if (damage.kind === "cut" && isSealed(after, damage.file))
    return "a sealed segment that is shorter than its index says";
  // After a clean stop the last segment is not read again, unless somebody touched it. All of it is below the checkpoint.
  return isTouched(damage) && format === "crc32c" ? "a segment that is not as it was when it was closed" : undefined;
}

function hasGapBehindSealed(damaged: Snapshot, format: Shape["format"]): boolean {
  const logs = logsOf(damaged);
  return logs.slice(1).some((next, at) => {
    const log = logs[at];
    const end = baseOf(log) + walkSegment(damaged.get(log)!.bytes, format).positions.length;
    return isSealed(damaged, log) && baseOf(next) > end;
  });
}

/** A checkpoint that is older, or gone, claims less. */
function withCheckpoint(shape: Shape, damaged: Snapshot): Shape {
  const after = new Map(shape.after);
  const left = damaged.get("checkpoint");
  if (left === undefined) after.delete("checkpoint");
  else after.set("checkpoint", left);
  return { ...shape, after };
}

/** Records below are before every byte that may be another. */
export function intactBelow(shape: Shape, damage: Damage): number {
  let intact = shape.truth.length;
  for (const file of logsOf(shape.after)) {
    const from = firstByte(damage, file);
    if (from === undefined) continue;
    const { positions, end } = walkSegment(shape.after.get(file)!.bytes, shape.format);
    const whole = positions.filter((_, at) => (positions[at + 1] ?? end) <= from).length;
    if (whole < positions.length) intact = Math.min(intact, baseOf(file) + whole);
  }
  return intact;
}

const sameBytes = (a: KeptFile | undefined, b: KeptFile | undefined): boolean =>
  a === undefined || b === undefined ? a === b : Buffer.compare(a.bytes, b.bytes) === 0;

export interface Judged {
  readonly outcome: "opened" | "refused" | "unreadable";
  /** What is wrong with it. */
  readonly wrong?: string;
  readonly recordsRead: number;
}

/** Codes of a refusal that says why. */
const REFUSALS: ReadonlySet<unknown> = new Set(["PARTITION_DAMAGED", "BAD_CONFIG", "STORAGE_FAILURE"]);
const UNREADABLE: ReadonlySet<unknown> = new Set(["CORRUPT_RECORD", "STORAGE_FAILURE"]);

export async function judge(
  openLog: OpenLog,
  dir: string,
  shape: Shape,
  want: Expected,
  goOn: boolean,
): Promise<Judged> {
  let log: Log;
  try {
    log = await openLog(dir, shape.options);
  } catch (error) {
    return judgeRefusal(error, dir, want);
  }
  let closed = false;
  try {
    const wrong = judgeBounds(log, shape, want);
    const read = await readAll(log, shape, want);
    const recordsRead = read.next - log.logStartOffset;
    const said = wrong ?? read.wrong ?? (want.seeks && !read.unreadable ? await seekAll(log, shape) : undefined);
    if (said !== undefined) return { outcome: "opened", wrong: said, recordsRead };
    if (read.unreadable) return { outcome: "unreadable", recordsRead };
    if (!goOn) return { outcome: "opened", recordsRead };
    const end = log.logEndOffset;
    const added = new TextEncoder().encode(`added behind ${end}`);
    const at = await log.append(added);
    await log.close();
    closed = true;
    const again = await judgeAgain(openLog, dir, shape.options, end, added);
    return {
      outcome: "opened",
      wrong: at === end ? again : `the next record got ${at}, the log ended at ${end}`,
      recordsRead,
    };
  } finally {
    if (!closed) await log.close();
  }
}

function judgeRefusal(error: unknown, dir: string, { mayRefuse }: Expected): Judged {
  const { code, message } = error as { code?: unknown; message?: string };
  const said = `${String(code)}: ${message}`.replaceAll(dir, "…");
  if (!REFUSALS.has(code)) return { outcome: "refused", wrong: `it failed without a reason: ${said}`, recordsRead: 0 };
  if (!String(message).includes(dir)) return { outcome: "refused", wrong: `it names no file: ${said}`, recordsRead: 0 };
  return { outcome: "refused", wrong: mayRefuse ? undefined : `it refused: ${said}`, recordsRead: 0 };
}

function judgeBounds(log: Log, shape: Shape, { mayNotOpen, end, exact }: Expected): string | undefined {
  const { logStartOffset, logEndOffset } = log;
  if (logStartOffset !== shape.logStartOffset) return `it begins at ${logStartOffset}, not at ${shape.logStartOffset}`;
  if (logEndOffset < end) return `A SILENT LOSS: it ends at ${logEndOffset}, and ${end} records are there`;
  if (logEndOffset > end && exact) return `it ends at ${logEndOffset}, and only ${end} records are there`;
  if (mayNotOpen !== undefined) return `it opened with ${mayNotOpen}`;
  return undefined;
}

interface Read {
  readonly next: number;
  readonly wrong?: string;
  readonly unreadable: boolean;
}

async function readAll(log: Log, shape: Shape, want: Expected): Promise<Read> {
  let next: number = log.logStartOffset;
  while (next < log.logEndOffset) {
    try {
      const { records } = await log.read(next);
      if (records.length === 0) return { next, wrong: `nothing can be read at ${next}`, unreadable: false };
      for (const { offset, payload } of records) {
        const made = offset < want.faithful && !sameRecord(payload, shape.truth[offset]);
        if (made) return { next, wrong: `record ${offset} is not what was written`, unreadable: false };
        if (offset >= shape.truth.length && shape.format === "crc32c")
          return { next, wrong: `record ${offset} is made up`, unreadable: false };
      }
      next += records.length;
    } catch (error) {
      const { code, message } = error as { code?: unknown; message?: string };
      const told = UNREADABLE.has(code) && want.mayBeUnreadable;
      return {
        next,
        wrong: told ? undefined : `reading at ${next} failed: ${String(code)}, ${message}`,
        unreadable: true,
      };
    }
  }
  return { next, unreadable: false };
}

/** Undefined, or which record is not found at its offset. */
async function seekAll(log: Log, { truth }: Shape): Promise<string | undefined> {
  for (let at: number = log.logStartOffset; at < log.logEndOffset; at++) {
    const found = await log.read(at, { maxBytes: 1 }).catch((error: unknown) => String(error));
    if (typeof found === "string") return `reading at ${at} alone failed: ${found}`;
    const [first] = found.records;
    if (first?.offset !== at || !sameRecord(first.payload, truth[at])) return `at ${at} there is another record`;
  }
  return undefined;
}

const sameRecord = (a: Uint8Array, b: Uint8Array | undefined): boolean => b !== undefined && Buffer.compare(a, b) === 0;

/** What was cut is gone for good, and what came after it is there. */
async function judgeAgain(
  openLog: OpenLog,
  dir: string,
  options: Shape["options"],
  end: number,
  added: Uint8Array,
): Promise<string | undefined> {
  const log = await openLog(dir, options);
  try {
    if (log.logEndOffset !== end + 1) return `closed at ${end + 1}, opened again at ${log.logEndOffset}`;
    if (!log.recovery.clean) return "after a clean close the next opening was not clean";
    const { records } = await log.read(end);
    return sameRecord(added, records[0]?.payload) ? undefined : `the record added at ${end} is another one`;
  } finally {
    await log.close();
  }
}
