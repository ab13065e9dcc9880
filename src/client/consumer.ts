// Reads one partition from a position of its own. The broker knows nothing of it: the position goes with each request.

import { MillraceError } from "../model/errors.js";
import { type Offset, offset, type PartitionId, partitionId } from "../model/ids.js";
import { CLIENT_FETCH_BYTES_MIN } from "../model/limits.js";
import type { RecordFormat } from "../model/record-format.js";
import type { PartitionMetadata } from "../protocol/metadata.js";
import { Found, RecordCursor } from "../protocol/records.js";
import type { Connection } from "./connection.js";
import type { RequestOptions } from "./connection-options.js";
import { CorruptRecordError, RecordExceedsMaxBytesError } from "./errors.js";
import { RecordBatch } from "./record-batch.js";

/** Where to begin: the start of the live log, its end for readers, or an offset. */
export type StartPosition = "earliest" | "latest" | Offset | number;

export interface ConsumerOptions {
  readonly topic: string;
  readonly partition: number;
  /** Default `earliest`. */
  readonly from?: StartPosition;
  /** At most so many bytes for each {@link Consumer.poll}, at least 16. Default 1 MiB. */
  readonly maxBytes?: number;
  /** When the next record is larger than `maxBytes`, ask for as much as it takes, up to this. Default: `maxBytes`, never more. */
  readonly maxBytesLimit?: number;
}

const MAX_BYTES = 1024 * 1024;

/**
 * A reader of one partition.
 *
 * `poll` gives the whole records from the position on and moves the position past them and no further; the record that the
 * answer ended in the middle of is read by the next one. Every sum is verified.
 */
export class Consumer {
  private readonly cursor: RecordCursor;
  private ranges = new Uint32Array(1024);
  private polling = false;
  private next: Offset;
  private end: Offset;

  /** Asks the broker for the topic's record format and, when it is not given, the position to begin at. */
  static async open(connection: Connection, options: ConsumerOptions): Promise<Consumer> {
    const [topic] = await connection.metadata([options.topic]);
    const partition = topic?.partitions.find((candidate) => candidate.partition === options.partition);
    if (topic === undefined || partition === undefined) {
      const text = `there is no partition ${options.partition} of topic ${options.topic}`;
      throw new MillraceError("UNKNOWN_TOPIC_OR_PARTITION", text);
    }
    return new Consumer(connection, options, topic.recordFormat, partition);
  }

  /** With metadata that is there already: `partition` and `format` of the topic that `options` names. */
  constructor(
    private readonly connection: Connection,
    private readonly options: ConsumerOptions,
    format: RecordFormat,
    partition: PartitionMetadata,
  ) {
    if (partition.highWatermark < 0) {
      const text = `partition ${options.topic}-${options.partition} is not open: the broker refused it, its log says why`;
      throw new MillraceError("STORAGE_FAILURE", text);
    }
    if (!Number.isInteger(this.maxBytes) || this.maxBytes < CLIENT_FETCH_BYTES_MIN) {
      const text = `maxBytes is ${options.maxBytes}: expected a whole number of at least ${CLIENT_FETCH_BYTES_MIN}`;
      throw new MillraceError("BAD_ARGUMENT", text);
    }
    this.cursor = new RecordCursor(format);
    this.end = partition.highWatermark;
    this.next = startOffset(options.from ?? "earliest", partition);
  }

  get topic(): string {
    return this.options.topic;
  }

  get partition(): PartitionId {
    return partitionId(this.options.partition);
  }

  /** The offset that the next {@link poll} asks for. */
  get position(): Offset {
    return this.next;
  }

  /** Where the partition ended for readers when the broker last said so. */
  get highWatermark(): Offset {
    return this.end;
  }

  /** How many records there are from the position to the high watermark, as last heard. */
  get lag(): number {
    return Math.max(0, this.end - this.next);
  }

  /** Reads on from another offset, also from one that was read before. */
  seek(position: Offset | number): void {
    this.next = startOffset(position, undefined);
  }

  /**
   * The next whole records; an empty batch when there is nothing yet. One at a time.
   *
   * Rejects with {@link RecordExceedsMaxBytesError}, {@link CorruptRecordError} (after the records before it were given),
   * OFFSET_OUT_OF_RANGE, REQUEST_TIMEOUT or CONNECTION_LOST. The position stays where it was, so a poll may be repeated.
   */
  async poll(options: RequestOptions = {}): Promise<RecordBatch> {
    if (this.polling) throw new MillraceError("BAD_ARGUMENT", "poll was called while another poll is waiting");
    this.polling = true;
    try {
      return await this.fetch(this.maxBytes, options);
    } finally {
      this.polling = false;
    }
  }

  private get maxBytes(): number {
    return this.options.maxBytes ?? MAX_BYTES;
  }

  private async fetch(maxBytes: number, options: RequestOptions): Promise<RecordBatch> {
    const from = this.next;
    const { topic, partition, connection } = this;
    const { highWatermark, payload } = await connection.fetch(topic, partition, from, maxBytes, options);
    const { records, found } = this.walk(payload);
    if (records === 0 && found !== Found.END) {
      if (found !== Found.CUT) throw new CorruptRecordError(topic, partition, from, WRONG[found]);
      const needed = this.cursor.cutRecordBytes;
      const limit = this.options.maxBytesLimit ?? this.maxBytes;
      // More is asked for only while it can help: a broker may have a lower bound of its own.
      if (needed > maxBytes && needed <= limit) return this.fetch(needed, options);
      throw new RecordExceedsMaxBytesError(topic, partition, from, needed, maxBytes);
    }
    this.end = highWatermark;
    // A wrong record behind whole ones is where the next poll begins, and that one says so.
    this.next = offset(from + records);
    const ranges = this.ranges.slice(0, 2 * records);
    return new RecordBatch(topic, partition, from, highWatermark, payload, ranges);
  }

  /** Finds the whole records of a payload into `ranges`. */
  private walk(payload: Uint8Array): { records: number; found: Exclude<Found, typeof Found.RECORD> } {
    const { cursor } = this;
    cursor.reset(new DataView(payload.buffer, payload.byteOffset, payload.byteLength), 0, payload.length);
    for (let records = 0; ; records++) {
      const found = cursor.next();
      if (found !== Found.RECORD) return { records, found };
      if (2 * records === this.ranges.length) this.growRanges();
      this.ranges[2 * records] = cursor.payloadFrom;
      this.ranges[2 * records + 1] = cursor.payloadEnd;
    }
  }

  private growRanges(): void {
    const larger = new Uint32Array(this.ranges.length * 2);
    larger.set(this.ranges);
    this.ranges = larger;
  }
}

const WRONG = {
  [Found.BAD_LENGTH]: "its length cannot be",
  [Found.BAD_SUM]: "its checksum does not match its bytes",
} as const;

function startOffset(from: StartPosition, partition: PartitionMetadata | undefined): Offset {
  // `earliest` is the start of the live log, not zero: after retention, zero would be out of range.
  if (partition !== undefined && from === "earliest") return partition.logStartOffset;
  if (partition !== undefined && from === "latest") return partition.highWatermark;
  if (typeof from === "number" && Number.isSafeInteger(from) && from >= 0) return offset(from);
  throw new MillraceError("BAD_ARGUMENT", `"${from}" is no position: expected earliest, latest or an offset`);
}
