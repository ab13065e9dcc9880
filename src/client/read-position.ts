// Where a reader stands in one partition, and how an answer moves it: past whole records, verified, and no further. It knows
// no connection and asks for nothing itself.

import { MillraceError } from "../model/errors.js";
import { type Offset, offset, type PartitionId, partitionId } from "../model/ids.js";
import { OFFSET_MAX } from "../model/limits.js";
import type { RecordFormat } from "../model/record-format.js";
import { WALK_COLUMNS, WalkColumn, WalkStop } from "../model/record-walk.js";
import { UNKNOWN } from "../protocol/fetch-multi.js";
import type { PartitionMetadata } from "../protocol/metadata.js";
import { INT32_MAX } from "./checks.js";
import { CorruptRecordError, RecordExceedsMaxBytesError } from "./errors.js";
import { badBounds, maxBytesOf, type ReadBounds } from "./read-bounds.js";
import { RecordBatch } from "./record-batch.js";
import { currentWalker, fetchWalker } from "./verification.js";

/** What of an answer matters to a position. */
export interface FetchedBytes {
  readonly highWatermark: Offset;
  /** −1: the broker did not say. */
  readonly epoch: number;
  /** Where that epoch began; only when it is known. */
  readonly epochStart?: Offset;
  readonly payload: Uint8Array;
}

export class ReadPosition {
  readonly partition: PartitionId;
  readonly maxBytes: number;
  /** How much to ask for now. */
  wantedBytes: number;
  /** What it asks for again behind a record that took more. */
  private usualBytes: number;
  private readonly isMaxBytesGiven: boolean;
  private limit: number;
  private readonly isLimitGiven: boolean;
  private readonly walked = new Uint32Array(WALK_COLUMNS);
  private ranges = new Uint32Array(1024);
  private at: Offset;
  private end: Offset;
  private until = offset(OFFSET_MAX);
  private untilEpoch = UNKNOWN;
  private answered = false;
  private seenEpoch: number;

  /** Throws STORAGE_FAILURE for a partition that the broker refused to open, BAD_ARGUMENT for bounds that cannot be. */
  constructor(
    readonly topic: string,
    private readonly format: RecordFormat,
    metadata: PartitionMetadata,
    start: Offset,
    /** Under which `start` was got; −1: unknown, so that it is not noticed when the log was cut before the first answer. */
    epoch: number,
    bounds: ReadBounds,
  ) {
    if (metadata.highWatermark < 0) {
      const text = `partition ${topic}-${metadata.partition} is not open: the broker refused it, its log says why`;
      throw new MillraceError("STORAGE_FAILURE", text);
    }
    const bad = badBounds(bounds);
    if (bad !== undefined) throw bad;
    this.maxBytes = maxBytesOf(bounds);
    this.usualBytes = this.maxBytes;
    this.isMaxBytesGiven = bounds.maxBytes !== undefined;
    this.limit = bounds.maxBytesLimit ?? this.maxBytes;
    this.isLimitGiven = bounds.maxBytesLimit !== undefined;
    this.partition = partitionId(metadata.partition);
    this.wantedBytes = this.maxBytes;
    this.end = metadata.highWatermark;
    this.at = start;
    this.seenEpoch = epoch;
    void fetchWalker();
  }

  /** The offset to ask for next. */
  get next(): Offset {
    return this.at;
  }

  /** The epoch of the log that the position belongs to; −1: unknown. */
  get epoch(): number {
    return this.seenEpoch;
  }

  /** Where the partition ended for readers when the broker last said so. */
  get highWatermark(): Offset {
    return this.end;
  }

  /** How many records there are from the position to the high watermark, as last heard. */
  get lag(): number {
    return Math.max(0, this.end - this.at);
  }

  /** The broker has answered from here: it knows the position, and has said whether it can be. */
  get isAnswered(): boolean {
    return this.answered;
  }

  /** Nothing is left up to where the reading ends. A position that came from elsewhere is asked for all the same, once. */
  get isDone(): boolean {
    return this.answered && this.at >= this.until;
  }

  /** Stands where the reading ends and was never asked for. The answer brings nothing; what it may bring is a refusal. */
  get isToBeChecked(): boolean {
    return !this.answered && this.at >= this.until;
  }

  /** Ends the reading before `until`, an end of the log under `epoch`: no record from there on is given. */
  endAt(until: Offset, epoch: number): void {
    this.until = until;
    this.untilEpoch = epoch;
  }

  /** Where no limit was given, it may ask for a record of so many bytes: of what the broker takes in one request. */
  mayGrowTo(bytes: number): void {
    if (!this.isLimitGiven) this.limit = Math.max(this.limit, Math.min(bytes, INT32_MAX));
  }

  /** Where no `maxBytes` was given, it asks for so many bytes instead, as far as it may, and for no less than it does by default. */
  askFor(bytes: number): void {
    if (this.isMaxBytesGiven) return;
    const isUsual = this.wantedBytes === this.usualBytes;
    this.usualBytes = Math.max(this.maxBytes, Math.min(bytes, this.limit));
    if (isUsual) this.wantedBytes = this.usualBytes;
  }

  moveTo(next: Offset, epoch: number): void {
    this.answered = false;
    this.at = next;
    this.seenEpoch = epoch;
    this.wantedBytes = this.usualBytes;
  }

  /**
   * Moves past the whole records of an answer to a request for `askedBytes` from `from` on, and gives them; none at the end.
   * Undefined: the next record is larger than that, and `wantedBytes` says now what it takes. Throws
   * {@link RecordExceedsMaxBytesError} when it may not ask for so much, {@link CorruptRecordError} for a record that is wrong,
   * after those before it were given; the position stays where it was then.
   */
  take(from: Offset, askedBytes: number, fetched: FetchedBytes): RecordBatch | undefined {
    const { topic, partition } = this;
    const { highWatermark, epoch, payload } = fetched;
    this.heed(fetched);
    const records = this.walk(payload, this.until - from);
    const stop = this.walked[WalkColumn.STOP];
    if (records === 0 && stop !== WalkStop.END) {
      if (stop !== WalkStop.CUT) throw new CorruptRecordError(topic, partition, from, WRONG[stop]);
      const needed = this.walked[WalkColumn.CUT_RECORD_BYTES];
      // More is asked for only while it can help: a broker may have a lower bound of its own.
      if (needed > askedBytes && needed <= this.limit) {
        this.wantedBytes = needed;
        return undefined;
      }
      throw new RecordExceedsMaxBytesError(topic, partition, from, needed, this.limit);
    }
    this.end = highWatermark;
    this.seenEpoch = epoch === UNKNOWN ? this.seenEpoch : epoch;
    this.wantedBytes = this.usualBytes;
    // A wrong record behind whole ones is where the next answer begins, and that one says so.
    this.at = offset(from + records);
    const ranges = this.ranges.slice(0, 2 * records);
    return new RecordBatch(topic, partition, from, highWatermark, payload, ranges, this.seenEpoch);
  }

  /** A recovery may have cut the log below where the reading was to end: what is there now came later, and it ends where the cut is. */
  private heed({ epoch, epochStart }: FetchedBytes): void {
    this.answered = true;
    if (this.untilEpoch === UNKNOWN || epochStart === undefined || epoch <= this.untilEpoch || epochStart >= this.until)
      return;
    this.until = epochStart;
    this.untilEpoch = epoch;
  }

  /** Finds the whole records of a payload into `ranges`, at most `max`, and what it found into `walked`. Gives their count. */
  private walk(payload: Uint8Array, max: number): number {
    const { walked } = this;
    let at = 0;
    for (let records = 0; records < max; at = walked[WalkColumn.POSITION]) {
      if (2 * records === this.ranges.length) this.growRanges();
      const ranges = records === 0 ? this.ranges : this.ranges.subarray(2 * records);
      const room = Math.min(max - records, ranges.length / 2);
      currentWalker().walk(payload, at, this.format, ranges, room, walked);
      records += walked[WalkColumn.RECORDS];
      if (walked[WalkColumn.STOP] !== WalkStop.FULL) return records;
      if (records === max) break;
    }
    walked[WalkColumn.STOP] = WalkStop.END;
    return Math.max(0, max);
  }

  private growRanges(): void {
    const larger = new Uint32Array(this.ranges.length * 2);
    larger.set(this.ranges);
    this.ranges = larger;
  }
}

const WRONG: Readonly<Record<number, string>> = {
  [WalkStop.BAD_LENGTH]: "its length cannot be",
  [WalkStop.BAD_SUM]: "its checksum does not match its bytes",
};
