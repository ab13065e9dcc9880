// A log in your own process: one partition directory, no server, the same classes that the broker uses. This file is its
// public face; what it may be told is in embedded-options.ts. It must not know the protocol or a client.

import { resolve } from "node:path";
import { AckPolicy, ackPolicyOf } from "../model/ack-policy.js";
import { badArgument, shown } from "../model/arguments.js";
import { systemClock, systemTimers } from "../model/clock.js";
import { ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import type { Offset } from "../model/ids.js";
import {
  EMBEDDED_FOLLOW_MS,
  EMBEDDED_INDEX_CACHE_BYTES,
  EMBEDDED_POPULATE_BYTES,
  EMBEDDED_READ_BYTES,
  EMBEDDED_RETENTION_CHECK_MS,
  EMBEDDED_SEALED_FILES,
  EMBEDDED_TURN_ROWS,
  SEGMENT_BYTES_MAX,
} from "../model/limits.js";
import type { RecordFormat } from "../model/record-format.js";
import { AppendTurn } from "../storage/append-turn.js";
import { FileSystemSpace } from "../storage/disk-space.js";
import { FilePool } from "../storage/file-pool.js";
import { IndexCache } from "../storage/index-cache.js";
import { makeDirectory } from "../storage/make-directory.js";
import { PartitionLog, type SegmentInfo } from "../storage/partition-log.js";
import { PopulateBudget } from "../storage/populate-window.js";
import type { RecoveryReport } from "../storage/recovery-report.js";
import { AppendQueue, outcomeError } from "./append-queue.js";
import {
  type AppendOptions,
  checkAppend,
  checkIterate,
  checkNumber,
  checkOffset,
  checkOptions,
  checkRead,
  type IterateOptions,
  type LogOptions,
  type ReadOptions,
  regionBytes,
} from "./embedded-options.js";
import { LogReader, type ReadResult } from "./log-reader.js";
import { PartitionWriter } from "./partition-writer.js";
import { ReadWaits, type WaitOutcome } from "./read-waits.js";
import { Scheduler } from "./scheduler.js";
import type { LogRecord } from "./stored-records.js";
import { Isolation } from "./waiting/isolation.js";

/** What a read brought, and whether and how it waited. */
export type LogRead = ReadResult & WaitOutcome;

/**
 * Opens the log in a directory, and makes both if they are not there. One process at a time has it; a broker counts as one.
 *
 * After a crash this finds the end of the log by reading what was written since the last checkpoint; after `close` it costs
 * nothing that grows with the log. An open log that is idle keeps no process alive.
 *
 * @param dir the directory of this log alone
 * @throws MillraceError with `code`
 * - `BAD_ARGUMENT`: an option that does not exist or has a wrong value
 * - `PARTITION_IN_USE`: another process has it open
 * - `PARTITION_DAMAGED`: records that were forced are damaged; the message names file, position and offset
 * - `BAD_CONFIG`: another `recordFormat` than the directory has
 * - `STORAGE_FAILURE`: the directory cannot be used; `cause` is the system's error
 *
 * @example
 * ```ts
 * import { openLog } from "millrace";
 *
 * const log = await openLog("./events");
 * const text = new TextEncoder();
 *
 * const first = await log.append(text.encode("signed up"));
 * await log.appendBatch([text.encode("paid"), text.encode("sent")], { ack: "written" });
 *
 * for await (const { offset, payload } of log.replay(first)) {
 *   console.log(offset, new TextDecoder().decode(payload));
 * }
 * await log.close();
 * ```
 */
export async function openLog(dir: string, options: LogOptions = {}): Promise<Log> {
  if (typeof dir !== "string" || dir === "") {
    throw new MillraceError("BAD_ARGUMENT", `dir: got ${shown(dir)}, expected the path of a directory`);
  }
  const { onEvent, diskReserveBytes, ...checked } = checkOptions(options);
  const path = resolve(dir);
  let log: PartitionLog;
  try {
    await makeDirectory(path);
    log = await PartitionLog.open(path, checked, {
      clock: systemClock,
      indexCache: new IndexCache(EMBEDDED_INDEX_CACHE_BYTES),
      files: new FilePool(EMBEDDED_SEALED_FILES),
      populate: new PopulateBudget(EMBEDDED_POPULATE_BYTES),
      space: await FileSystemSpace.open(path, diskReserveBytes, systemClock),
      log: onEvent,
    });
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MillraceError("STORAGE_FAILURE", `the log in ${path} cannot be opened: ${why}`, { cause });
  }
  const turn = new AppendTurn(EMBEDDED_TURN_ROWS, systemClock);
  // The queue in front bounds what waits, so nothing is ever refused for want of memory.
  const unbounded = Number.MAX_SAFE_INTEGER;
  const scheduler = new Scheduler({ turnBytes: SEGMENT_BYTES_MAX, queuedBytesMax: unbounded }, turn);
  const writer = new PartitionWriter(log, scheduler, { ...checked, mailboxBytes: unbounded }, systemTimers);
  return new Log(writer, scheduler, checked.retentionBytes !== undefined || checked.retentionMs !== undefined);
}

/** @internal */
export interface LogInside {
  readonly writer: PartitionWriter<PartitionLog>;
  readonly queue: AppendQueue;
  readonly reader: LogReader;
  readonly listeners: Set<LogListener>;
  /** Throws CLOSED. */
  readonly throwIfClosed: () => void;
}

/** @internal Somebody who serves this log together with others. */
export interface LogListener {
  /** It has grown, rolled, failed, or lost segments. */
  readonly changed: () => void;
  /** It is being closed. */
  readonly closed: () => void;
}

/** A log opened by {@link openLog}. */
export class Log implements AsyncDisposable {
  readonly #log: PartitionLog;
  readonly #writer: PartitionWriter<PartitionLog>;
  readonly #queue: AppendQueue;
  readonly #reader: LogReader;
  readonly #waits: ReadWaits;
  readonly #listeners = new Set<LogListener>();
  #stopRetention: () => void = () => undefined;
  #retention: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /** @internal Logs are opened by {@link openLog}. */
  constructor(writer: PartitionWriter<PartitionLog>, scheduler: Scheduler, hasRetention: boolean) {
    this.#log = writer.log;
    this.#writer = writer;
    this.#queue = new AppendQueue(writer, scheduler, (code) =>
      code === ErrorCodes.SHUTTING_DOWN ? this.#closed() : outcomeError(code, this.dir, this.#log.poisoned),
    );
    this.#reader = new LogReader(this.#log);
    this.#waits = new ReadWaits([writer]);
    writer.onPublished = () => this.#changed();
    if (hasRetention) this.#armRetention();
  }

  /** The log's directory, absolute. */
  get dir(): string {
    return this.#log.dir;
  }
  /** How its records lie on the disk: it belongs to the directory. */
  get recordFormat(): RecordFormat {
    return this.#log.recordFormat;
  }
  /** What opening found and did, for example how many bytes of a torn tail were cut. */
  get recovery(): RecoveryReport {
    return this.#log.recovery;
  }
  /** The first record's offset. Above 0 once retention has removed segments. */
  get logStartOffset(): Offset {
    return this.#log.logStartOffset;
  }
  /** The offset that the next record gets. What lies below is written. */
  get logEndOffset(): Offset {
    return this.#log.logEndOffset;
  }
  /** What lies below is forced to disk. */
  get durableOffset(): Offset {
    return this.#log.durableOffset;
  }
  /** What lies below can be read: the log end, or with `visibility: "durable"` the durable offset. */
  get highWatermark(): Offset {
    return this.#writer.highWatermark;
  }
  /** @internal What it is made of, for {@link LogGroup}. */
  get inside(): LogInside {
    return {
      writer: this.#writer,
      queue: this.#queue,
      reader: this.#reader,
      listeners: this.#listeners,
      throwIfClosed: () => {
        if (this.#closing !== undefined) throw this.#closed();
      },
    };
  }
  /** The files it consists of, oldest first: where each begins, where it ends, what it takes. The last one is appended to. */
  segments(): readonly SegmentInfo[] {
    return this.#log.segments();
  }

  /**
   * Appends one record and resolves with its offset. Records get their offsets in the order of the calls; calls that are made
   * without waiting for one another are written, and forced, together.
   *
   * @param record at least one byte, at most what a segment holds. It must stay as it is until the promise settles.
   * @throws MillraceError with `code` `BAD_ARGUMENT`, `RECORD_TOO_LARGE` (larger than a segment), `LOG_FULL` (no room on the
   * disk: nothing was kept, and it can be tried again), `OFFSET_MISMATCH`, `STORAGE_FAILURE` (a write or a barrier failed;
   * whether the record is there shows when the log is opened again), `CLOSED`
   */
  append(record: Uint8Array, options: AppendOptions = {}): Promise<Offset> {
    return this.appendBatch([record], options);
  }

  /**
   * Appends records with adjacent offsets and resolves with the first one's. Adjacent, not atomic: after a loss of power a
   * batch that was not forced may be there in part, its first records without its last.
   *
   * @param records at least one, 256 MiB together at most
   * @throws as {@link append}
   */
  appendBatch(records: readonly Uint8Array[], options: AppendOptions = {}): Promise<Offset> {
    try {
      checkAppend(options);
      const { ack = "forced", expectedOffset } = options;
      const policy = ackPolicyOf(ack);
      if (policy === undefined || policy === AckPolicy.NONE) throw badArgument("ack", ack, `"forced" or "written"`);
      if (expectedOffset !== undefined) checkOffset("expectedOffset", expectedOffset);
      const bytes = regionBytes(records, this.#log.maxRecordBytes);
      if (this.#closing !== undefined) throw this.#closed();
      return this.#queue.append(records, bytes, policy, expectedOffset ?? -1);
    } catch (error) {
      // Not an async function: that would be a second promise for each append.
      return Promise.reject(error);
    }
  }

  /**
   * Reads records from an offset on, checks their sums and resolves with them and with the offset to read on from. At the
   * end of the log there are none, and that is no error. One read never goes beyond a segment.
   *
   * With `maxWaitMs` it waits until `minBytes` and `minRecords` are there, or `maxBytes`, or the time is over; then it brings
   * what there is, maybe nothing. `parked` says that it waited, `timedOut` that the time was over before there was enough. A
   * read from another segment than the last never waits: what lies there will not become more.
   *
   * @param from an offset from `logStartOffset` to `logEndOffset`
   * @throws MillraceError with `code` `OFFSET_OUT_OF_RANGE`, `CORRUPT_RECORD` (a {@link DamagedRecordError} that names offset,
   * file and position; the records before it can be read), `STORAGE_FAILURE`, `BAD_ARGUMENT`, `CLOSED` (also when the log is
   * closed while it waits)
   */
  async read(from: number, options: ReadOptions = {}): Promise<LogRead> {
    checkRead(options);
    const { maxBytes = EMBEDDED_READ_BYTES, maxWaitMs = 0, minBytes = 1, minRecords = 1, signal } = options;
    checkOffset("from", from);
    checkNumber("maxBytes", maxBytes, 1);
    checkNumber("maxWaitMs", maxWaitMs, 0);
    checkNumber("minBytes", minBytes, 0);
    checkNumber("minRecords", minRecords, 0);
    if (minBytes > maxBytes) {
      throw new MillraceError("BAD_ARGUMENT", `minBytes is ${minBytes}, which maxBytes, ${maxBytes}, never reaches`);
    }
    signal?.throwIfAborted();
    if (this.#closing !== undefined) throw this.#closed();
    const wait = { maxBytes, maxWaitMs, minBytes, minRecords, signal };
    const where = { place: 0, offset: from, maxBytes, epoch: ANY_EPOCH, isolation: Isolation.HIGH_WATERMARK };
    const { parked, timedOut } = maxWaitMs === 0 ? AT_ONCE : await this.#waits.wait([where], wait);
    if (this.#closing !== undefined) throw this.#closed();
    const most = Math.min(maxBytes, SEGMENT_BYTES_MAX);
    const read = await this.#reader.read(from, most, () => this.#writer.highWatermark);
    return { ...read, parked, timedOut };
  }

  /**
   * The records from an offset on. Without `follow` up to the high watermark as it is when the first one is asked for: it
   * ends, also while appending goes on. With `follow` it waits for more and ends only by `signal`, an error or `break`.
   *
   * @throws as {@link read}
   *
   * @example
   * ```ts
   * import { openLog } from "millrace";
   *
   * const log = await openLog("./events");
   * void log.append(new TextEncoder().encode("it begins"));
   *
   * for await (const { offset, payload } of log.iterate({ follow: true })) {
   *   console.log(offset, new TextDecoder().decode(payload));
   *   break; // Without this it waits for the next record.
   * }
   * await log.close();
   * ```
   */
  async *iterate(options: IterateOptions = {}): AsyncGenerator<LogRecord, void, undefined> {
    checkIterate(options);
    const { follow = false, signal } = options;
    let next: number = options.from ?? this.logStartOffset;
    const end = follow ? Number.POSITIVE_INFINITY : this.highWatermark;
    // An offset that is not there is an error also when there is nothing to read.
    if (next >= end) await this.read(next, { signal });
    while (next < end) {
      const { records, nextOffset } = await this.read(next, { maxWaitMs: follow ? EMBEDDED_FOLLOW_MS : 0, signal });
      for (const record of records) {
        if (record.offset >= end) return;
        signal?.throwIfAborted();
        yield record;
      }
      next = nextOffset;
    }
  }

  /**
   * The records from an offset to the high watermark as it is when the first one is asked for: {@link iterate} without
   * `follow`.
   *
   * @param from where to begin; default: the first record there is
   * @throws as {@link read}
   */
  replay(from?: number): AsyncGenerator<LogRecord, void, undefined> {
    return this.iterate({ from });
  }

  /** The same as `replay()`: `for await (const record of log)`. */
  [Symbol.asyncIterator](): AsyncGenerator<LogRecord, void, undefined> {
    return this.replay();
  }

  /**
   * Where to start reading for the records that were appended at a time or later: never too late, early by at most an index
   * interval. Where all records are older, the high watermark.
   *
   * @param time a `Date`, or milliseconds since 1970
   * @throws MillraceError with `code` `BAD_ARGUMENT`, `STORAGE_FAILURE` or `CLOSED`
   *
   * @example
   * ```ts
   * import { openLog } from "millrace";
   *
   * const log = await openLog("./events");
   * await log.append(new TextEncoder().encode("today"));
   *
   * const yesterday = new Date(Date.now() - 24 * 3600 * 1000);
   * for await (const { payload } of log.replay(await log.offsetAt(yesterday))) {
   *   console.log(new TextDecoder().decode(payload));
   * }
   * await log.close();
   * ```
   */
  async offsetAt(time: Date | number): Promise<Offset> {
    const ms = time instanceof Date ? time.getTime() : time;
    if (!(Number.isSafeInteger(ms) && ms >= 0)) {
      throw badArgument("time", time, "a Date, or milliseconds since 1970, not before that");
    }
    if (this.#closing !== undefined) throw this.#closed();
    const found = await this.#log.offsetAtTime(ms);
    // What may not be read yet is not there yet.
    return found === undefined || found.offset >= this.highWatermark ? this.highWatermark : found.offset;
  }

  /**
   * Forces to disk everything that was appended before, however it was acknowledged. Resolves with the durable offset.
   *
   * @throws MillraceError with `code` `STORAGE_FAILURE` or `CLOSED`
   */
  async force(): Promise<Offset> {
    if (this.#closing !== undefined) throw this.#closed();
    await this.#queue.offered();
    return this.#writer.force();
  }

  /**
   * Writes and forces what was appended before, and closes the log: opening it again costs nothing that grows with it. Calls
   * after this one reject with CLOSED; closing again is no error.
   *
   * @throws MillraceError with `code` `STORAGE_FAILURE` when the last barrier failed; the log is closed nevertheless
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#stopRetention();
    this.#waits.release();
    for (const { closed } of this.#listeners) closed();
    await this.#retention;
    await this.#queue.offered();
    await this.#writer.close();
  }

  #armRetention(): void {
    this.#stopRetention = systemTimers.after(EMBEDDED_RETENTION_CHECK_MS, () => {
      this.#retention = this.#log.applyRetention().then(
        () => this.#rearmRetention(),
        () => this.#rearmRetention(),
      );
    });
  }

  #rearmRetention(): void {
    this.#changed();
    if (this.#closing === undefined) this.#armRetention();
  }

  #changed(): void {
    this.#waits.changed(0);
    for (const { changed } of this.#listeners) changed();
  }

  #closed(): MillraceError {
    return new MillraceError("CLOSED", `the log in ${this.dir} is closed`);
  }
}

/** A reader that looks at its own log has seen no other epoch. */
const ANY_EPOCH = -1;

/** How a read went that does not wait. */
const AT_ONCE: WaitOutcome = { parked: false, timedOut: false };
