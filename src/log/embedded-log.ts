// What can be done with an open log in your own process: its public face, with the documentation for users. Appends are
// carried out by append-queue.ts, reads by embedded-reads.ts. It must not know how a log is opened, the protocol, or a client.

import { AckPolicy, ackPolicyOf } from "../model/ack-policy.js";
import { badArgument } from "../model/arguments.js";
import { ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import type { Offset } from "../model/ids.js";
import type { RecordFormat } from "../model/record-format.js";
import type { PartitionLog, SegmentInfo } from "../storage/partition-log.js";
import type { RecoveryReport } from "../storage/recovery-report.js";
import { AppendQueue, outcomeError } from "./append-queue.js";
import {
  type AppendOptions,
  checkAppend,
  checkOffset,
  type IterateOptions,
  type ReadOptions,
  regionBytes,
} from "./embedded-options.js";
import { EmbeddedReads, type LogRead } from "./embedded-reads.js";
import { EmbeddedRetention } from "./embedded-retention.js";
import type { LogReader } from "./log-reader.js";
import type { PartitionWriter } from "./partition-writer.js";
import type { Scheduler } from "./scheduler.js";
import type { LogRecord } from "./stored-records.js";

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
  readonly #reads: EmbeddedReads;
  readonly #listeners = new Set<LogListener>();
  readonly #retention: EmbeddedRetention | undefined;
  #closing: Promise<void> | undefined;

  /** @internal Logs are opened by {@link openLog}. */
  constructor(writer: PartitionWriter<PartitionLog>, scheduler: Scheduler, hasRetention: boolean) {
    this.#log = writer.log;
    this.#writer = writer;
    this.#queue = new AppendQueue(writer, scheduler, (code) =>
      code === ErrorCodes.SHUTTING_DOWN ? this.#closed() : outcomeError(code, this.dir, this.#log.poisoned),
    );
    this.#reads = new EmbeddedReads(writer, () => this.#throwIfClosed());
    writer.onPublished = () => this.#changed();
    if (hasRetention) this.#retention = new EmbeddedRetention(this.#log, () => this.#changed());
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
      reader: this.#reads.reader,
      listeners: this.#listeners,
      throwIfClosed: () => this.#throwIfClosed(),
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
  read(from: number, options: ReadOptions = {}): Promise<LogRead> {
    return this.#reads.read(from, options);
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
  iterate(options: IterateOptions = {}): AsyncGenerator<LogRecord, void, undefined> {
    return this.#reads.iterate(options);
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
  offsetAt(time: Date | number): Promise<Offset> {
    return this.#reads.offsetAt(time);
  }

  /**
   * Forces to disk everything that was appended before, however it was acknowledged. Resolves with the durable offset.
   *
   * @throws MillraceError with `code` `STORAGE_FAILURE` or `CLOSED`
   */
  async force(): Promise<Offset> {
    this.#throwIfClosed();
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
    const retained = this.#retention?.stop();
    this.#reads.release();
    for (const { closed } of this.#listeners) closed();
    await retained;
    await this.#queue.offered();
    await this.#writer.close();
  }

  #changed(): void {
    this.#reads.changed();
    for (const { changed } of this.#listeners) changed();
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined) throw this.#closed();
  }

  #closed(): MillraceError {
    return new MillraceError("CLOSED", `the log in ${this.dir} is closed`);
  }
}
