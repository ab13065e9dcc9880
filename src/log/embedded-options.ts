// What the embedded log may be told, its defaults and their checks. The broker's settings are in ops/; these are for programs
// that open a partition themselves, and an error says what was expected.

import type { AckName, AckPolicy } from "../model/ack-policy.js";
import { badArgument, badOptions, badSignal, shown } from "../model/arguments.js";
import { MillraceError } from "../model/errors.js";
import { EMBEDDED_BATCH_BYTES_MAX, OFFSET_MAX, SEGMENT_BYTES_MAX } from "../model/limits.js";
import { RECORD_FORMATS, type RecordFormat } from "../model/record-format.js";
import { SegmentModeId } from "../native/binding.js";
import type { StorageEvent } from "../storage/events.js";
import type { SegmentMode } from "../storage/options.js";

export interface LogOptions {
  /**
   * How segments are written: `MAPPED` copies into a mapping, `FILE_CHANNEL` writes with `pwrite`. It may change from one
   * opening to the next. Default `MAPPED`.
   */
  readonly mode?: SegmentMode | undefined;
  /** Bytes of one segment file. Default 128 MiB; 4 KiB … 1 GiB. */
  readonly segmentBytes?: number | undefined;
  /**
   * How records lie on disk: `crc32c` with a sum for each, `plain` without. Default: what the directory has, `crc32c` for a
   * new one. Another format than the directory has is refused with BAD_CONFIG.
   */
  readonly recordFormat?: RecordFormat | undefined;
  /** Bytes of log for each entry of the offset index. Default 4096. */
  readonly indexIntervalBytes?: number | undefined;
  /** Milliseconds after which a segment that is not empty is rolled. Default: never. */
  readonly segmentRollMs?: number | undefined;
  /** Whole segments are removed, oldest first, while the log is larger than so many bytes. Default: never. */
  readonly retentionBytes?: number | undefined;
  /** Segments are removed whose last record is older than so many milliseconds. Default: never. */
  readonly retentionMs?: number | undefined;
  /** What readers see: what is written, or what is forced to disk. Default `written`. */
  readonly visibility?: "written" | "durable" | undefined;
  /** Forces when so many records were written since the last time. Default: never by itself. */
  readonly flushEveryRecords?: number | undefined;
  /** Forces what was written so many milliseconds ago. Default: never by itself. */
  readonly flushEveryMs?: number | undefined;
  /** Bytes that are kept free on the disk: below it, appends are refused with LOG_FULL. Default 256 MiB. */
  readonly diskReserveBytes?: number | undefined;
  /** Told what an operator should know: a torn tail that was cut, a segment that was removed, a failed barrier. */
  readonly onEvent?: ((event: StorageEvent) => void) | undefined;
}

export interface AppendOptions {
  /**
   * When the promise resolves. `forced` (default): when the records are on the disk, whatever happens to the power then.
   * `written`: when they are in the operating system's hands: they survive this process, not a loss of power. The members of
   * `AckPolicy` say the same.
   */
  readonly ack?: Exclude<AckName, "none"> | Exclude<AckPolicy, typeof AckPolicy.NONE> | undefined;
  /**
   * The offset that the first record must get. When the log does not end there, nothing is written and the promise rejects
   * with OFFSET_MISMATCH: so a single writer repeats an append whose outcome it does not know, and writes it once.
   */
  readonly expectedOffset?: number | undefined;
}

export interface ReadOptions {
  /** About how much to read, as stored, in bytes; one record is read in any case. Default 1 MiB. */
  readonly maxBytes?: number | undefined;
  /** How long to wait for enough to read, in milliseconds. Default 0: not at all. */
  readonly maxWaitMs?: number | undefined;
  /** What is enough, in bytes as stored: at most `maxBytes`. Default 1: anything. */
  readonly minBytes?: number | undefined;
  /** What is enough, in records: `minBytes` and this must both be there. Default 1. */
  readonly minRecords?: number | undefined;
  /** Ends the wait: the read rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface IterateOptions {
  /** Where to begin. Default: the first record there is. */
  readonly from?: number | undefined;
  /** At the end, wait for more instead of ending. Default false: end where the log ended at the beginning. */
  readonly follow?: boolean | undefined;
  /** Ends the iteration: it throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export type CheckedLogOptions = LogOptions & Required<Pick<LogOptions, DefaultedKey>>;
type DefaultedKey = "mode" | "segmentBytes" | "indexIntervalBytes" | "visibility" | "diskReserveBytes" | "onEvent";

const MiB = 1024 * 1024;
const DEFAULTS = {
  mode: "MAPPED",
  segmentBytes: 128 * MiB,
  indexIntervalBytes: 4096,
  visibility: "written",
  diskReserveBytes: 256 * MiB,
  onEvent: () => undefined,
} satisfies Pick<CheckedLogOptions, DefaultedKey>;

type Check = (value: unknown) => boolean;
const whole =
  (min: number, max: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
const oneOf =
  (names: readonly string[]): Check =>
  (value) =>
    names.includes(value as string);

const RULES: { readonly [Key in keyof Required<LogOptions>]: readonly [check: Check, expected: string] } = {
  mode: [oneOf(Object.keys(SegmentModeId)), `"MAPPED" or "FILE_CHANNEL"`],
  segmentBytes: [whole(4096, SEGMENT_BYTES_MAX), `a whole number of bytes from 4096 to ${SEGMENT_BYTES_MAX}`],
  recordFormat: [oneOf(RECORD_FORMATS), `"plain" or "crc32c"`],
  indexIntervalBytes: [whole(1, SEGMENT_BYTES_MAX), `a whole number of bytes from 1 to ${SEGMENT_BYTES_MAX}`],
  segmentRollMs: [whole(1, OFFSET_MAX), "a whole number of milliseconds, at least 1"],
  retentionBytes: [whole(1, OFFSET_MAX), "a whole number of bytes, at least 1"],
  retentionMs: [whole(1, OFFSET_MAX), "a whole number of milliseconds, at least 1"],
  visibility: [oneOf(["written", "durable"]), `"written" or "durable"`],
  flushEveryRecords: [whole(1, OFFSET_MAX), "a whole number of records, at least 1"],
  flushEveryMs: [whole(1, OFFSET_MAX), "a whole number of milliseconds, at least 1"],
  diskReserveBytes: [whole(0, OFFSET_MAX), "a whole number of bytes, at least 0"],
  onEvent: [(value) => typeof value === "function", "a function"],
};

/** Throws BAD_ARGUMENT with the option's name, what it got and what it takes. A value of `undefined` is a default. */
export function checkOptions(options: LogOptions): CheckedLogOptions {
  if (typeof options !== "object" || options === null) {
    throw new MillraceError("BAD_ARGUMENT", `options: got ${shown(options)}, expected an object`);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  for (const [key, value] of given) {
    if (!Object.hasOwn(RULES, key)) {
      const known = Object.keys(RULES).join(", ");
      throw new MillraceError("BAD_ARGUMENT", `${shown(key)} is no option of the log; there are ${known}`);
    }
    const [check, expected] = RULES[key as keyof LogOptions];
    if (!check(value)) throw new MillraceError("BAD_ARGUMENT", `${key}: got ${shown(value)}, expected ${expected}`);
  }
  return { ...DEFAULTS, ...(Object.fromEntries(given) as LogOptions) };
}

const APPEND = new Set(["ack", "expectedOffset"]);
const READ = new Set(["maxBytes", "maxWaitMs", "minBytes", "minRecords", "signal"]);
const ITERATE = new Set(["from", "follow", "signal"]);

/** Throws BAD_ARGUMENT. */
export function checkAppend(options: AppendOptions): void {
  throwIf(badOptions(options, APPEND, "append"));
}

/** Throws BAD_ARGUMENT. */
export function checkRead(options: ReadOptions): void {
  throwIf(badOptions(options, READ, "read") ?? badSignal(options.signal));
}

/** Throws BAD_ARGUMENT. */
export function checkIterate(options: IterateOptions): void {
  throwIf(badOptions(options, ITERATE, "iterate") ?? badSignal(options.signal));
  const { from, follow = false } = options;
  if (from !== undefined) checkOffset("from", from);
  if (typeof follow !== "boolean") throw badArgument("follow", follow, "true or false");
}

function throwIf(bad: MillraceError | undefined): void {
  if (bad !== undefined) throw bad;
}

/** Throws BAD_ARGUMENT. */
export function checkNumber(name: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return;
  throw new MillraceError("BAD_ARGUMENT", `${name}: got ${shown(value)}, expected a whole number of at least ${min}`);
}

/** Throws BAD_ARGUMENT. */
export function checkOffset(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0 && value <= OFFSET_MAX) return;
  throw new MillraceError(
    "BAD_ARGUMENT",
    `${name}: got ${shown(value)}, expected an offset, a whole number of at least 0`,
  );
}

/** Checks records for an append and says how many bytes their region takes. Throws BAD_ARGUMENT, RECORD_TOO_LARGE. */
export function regionBytes(records: readonly Uint8Array[], largest: number): number {
  if (!Array.isArray(records) || records.length === 0) {
    throw new MillraceError(
      "BAD_ARGUMENT",
      `records: got ${shown(records)}, expected an array of at least one Uint8Array`,
    );
  }
  let bytes = 0;
  for (let index = 0; index < records.length; index++) {
    const record = records[index];
    if (!(record instanceof Uint8Array) || record.length === 0) {
      const got = record instanceof Uint8Array ? "an empty one" : shown(record);
      throw new MillraceError(
        "BAD_ARGUMENT",
        `record ${index}: got ${got}, expected a Uint8Array of at least one byte`,
      );
    }
    if (record.length > largest) {
      const message = `record ${index} has ${record.length} bytes; a segment of this log takes ${largest} at most`;
      throw new MillraceError("RECORD_TOO_LARGE", message);
    }
    bytes += 4 + record.length;
  }
  if (bytes > EMBEDDED_BATCH_BYTES_MAX) {
    const message = `records: ${bytes} bytes in one batch, expected ${EMBEDDED_BATCH_BYTES_MAX} at most`;
    throw new MillraceError("BAD_ARGUMENT", message);
  }
  return bytes;
}
