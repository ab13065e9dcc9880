// How an embedded log is read: what a read asks for is checked, waited for and read. Its documentation for users stands at
// `Log`. It must not know who appends, nor how a log is closed: only that it is.

import { badArgument } from "../model/arguments.js";
import { MillraceError } from "../model/errors.js";
import type { Offset } from "../model/ids.js";
import { EMBEDDED_FOLLOW_MS, EMBEDDED_READ_BYTES, SEGMENT_BYTES_MAX } from "../model/limits.js";
import type { PartitionLog } from "../storage/partition-log.js";
import {
  checkIterate,
  checkNumber,
  checkOffset,
  checkRead,
  type IterateOptions,
  type ReadOptions,
} from "./embedded-options.js";
import { LogReader, type ReadResult } from "./log-reader.js";
import type { PartitionWriter } from "./partition-writer.js";
import { ReadWaits, type WaitOutcome } from "./read-waits.js";
import type { LogRecord } from "./stored-records.js";
import { Isolation } from "./waiting/isolation.js";

/** What a read brought, and whether and how it waited. */
export type LogRead = ReadResult & WaitOutcome;

export class EmbeddedReads {
  readonly reader: LogReader;
  readonly #writer: PartitionWriter<PartitionLog>;
  readonly #waits: ReadWaits;
  readonly #throwIfClosed: () => void;

  constructor(writer: PartitionWriter<PartitionLog>, throwIfClosed: () => void) {
    this.reader = new LogReader(writer.log);
    this.#writer = writer;
    this.#waits = new ReadWaits([writer]);
    this.#throwIfClosed = throwIfClosed;
  }

  async read(from: number, options: ReadOptions): Promise<LogRead> {
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
    this.#throwIfClosed();
    const wait = { maxBytes, maxWaitMs, minBytes, minRecords, signal };
    const where = { place: 0, offset: from, maxBytes, epoch: ANY_EPOCH, isolation: Isolation.HIGH_WATERMARK };
    const { parked, timedOut } = maxWaitMs === 0 ? AT_ONCE : await this.#waits.wait([where], wait);
    this.#throwIfClosed();
    const most = Math.min(maxBytes, SEGMENT_BYTES_MAX);
    const read = await this.reader.read(from, most, () => this.#writer.highWatermark);
    return { ...read, parked, timedOut };
  }

  async *iterate(options: IterateOptions): AsyncGenerator<LogRecord, void, undefined> {
    checkIterate(options);
    const { follow = false, signal } = options;
    let next: number = options.from ?? this.#writer.logStartOffset;
    const end = follow ? Number.POSITIVE_INFINITY : this.#writer.highWatermark;
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

  async offsetAt(time: Date | number): Promise<Offset> {
    const ms = time instanceof Date ? time.getTime() : time;
    if (!(Number.isSafeInteger(ms) && ms >= 0)) {
      throw badArgument("time", time, "a Date, or milliseconds since 1970, not before that");
    }
    this.#throwIfClosed();
    const found = await this.#writer.log.offsetAtTime(ms);
    // What may not be read yet is not there yet.
    const { highWatermark } = this.#writer;
    return found === undefined || found.offset >= highWatermark ? highWatermark : found.offset;
  }

  /** The log has grown, rolled, failed, or lost segments: who waits may have enough now. */
  changed(): void {
    this.#waits.changed(0);
  }

  /** Ends all waits, and lets nobody wait any more. */
  release(): void {
    this.#waits.release();
  }
}

/** A reader that looks at its own log has seen no other epoch. */
const ANY_EPOCH = -1;

/** How a read went that does not wait. */
const AT_ONCE: WaitOutcome = { parked: false, timedOut: false };
