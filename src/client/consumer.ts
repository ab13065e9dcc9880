// Reads one partition from a position of its own. The broker knows nothing of it: the position goes with each request.

import { performance } from "node:perf_hooks";
import { MillraceError } from "../model/errors.js";
import type { Offset, PartitionId } from "../model/ids.js";
import { CLIENT_FOLLOW_BYTES } from "../model/limits.js";
import type { RecordFormat } from "../model/record-format.js";
import { UNKNOWN } from "../protocol/fetch-multi.js";
import type { PartitionMetadata } from "../protocol/metadata.js";
import { AnswerSize } from "./answer-size.js";
import { badConsumer, badLink, badRequest, INT32_MAX, outOfRange } from "./checks.js";
import type { WaitOptions } from "./connection-options.js";
import { type Bounds, within } from "./deadline.js";
import { unknownPartition } from "./errors.js";
import { fetchRound } from "./fetch-round.js";
import type { Link } from "./link.js";
import { badBounds, type ReadBounds } from "./read-bounds.js";
import { ReadPosition } from "./read-position.js";
import type { RecordBatch } from "./record-batch.js";
import { badStart, checkedOffset, type Start, type StartPosition, startOf } from "./start-position.js";
import { type LinkUser, linkUser, type SteadyLink } from "./steady-link.js";

export interface ConsumerOptions extends ReadBounds {
  readonly topic: string;
  readonly partition: number;
  /** Default `earliest`. */
  readonly from?: StartPosition | undefined;
  /**
   * The {@link Consumer.epoch} of whoever got the offset `from`, so that it is noticed when the log was cut below it since.
   * Default: unknown.
   */
  readonly epoch?: number | undefined;
  /**
   * How long a {@link Consumer.poll} waits at the end for something to come, in milliseconds. Default 0: not at all. Give a
   * consumer that waits a connection of its own: what is sent behind a waiting poll is answered after it.
   */
  readonly maxWaitMs?: number | undefined;
  /** How much must be there to end that wait, in bytes as stored; at most `maxBytes`. Default 1: anything. */
  readonly minBytes?: number | undefined;
}

/**
 * A reader of one partition.
 *
 * `poll` gives the whole records from the position on and moves the position past them and no further; the record that the
 * answer ended in the middle of is read by the next one. Every sum is verified.
 */
export class Consumer implements AsyncDisposable {
  private readonly reading: ReadPosition;
  private readonly links: LinkUser;
  private polling = false;
  private readonly answerSize = new AnswerSize(CLIENT_FOLLOW_BYTES);
  /** The last poll's. */
  private given: { readonly bytes: number; readonly at: number } | undefined;

  /** Asks the broker for the topic's record format and, when it is not given, the position to begin at. */
  static async open(connection: Link, options: ConsumerOptions): Promise<Consumer> {
    const bad = badLink(connection) ?? badReader(options);
    if (bad !== undefined) throw bad;
    return Consumer.begin(connection, options);
  }

  /** On links that are made again when they are lost, closed with the consumer. {@link Client.consumer} is the public way. */
  static async over(links: SteadyLink, options: ConsumerOptions, onClosed: () => void): Promise<Consumer> {
    const bad = badReader(options);
    if (bad !== undefined) throw bad;
    const onClose = (): void => {
      onClosed();
      links.destroy(consumerClosed(options));
    };
    return Consumer.begin(links, options, onClose, true);
  }

  private static async begin(
    links: Link | LinkUser,
    options: ConsumerOptions,
    onClose?: () => void,
    isGrowing = false,
  ): Promise<Consumer> {
    const { topic: name, partition: number, from = "earliest" } = options;
    return linkUser(links).use(async (link) => {
      const [topic] = await link.metadata([name]);
      const partition = topic?.partitions.find((candidate) => candidate.partition === number);
      if (topic === undefined || partition === undefined) throw unknownPartition(name, number);
      const start = await startOf(from, name, partition, link);
      return new Consumer(links, options, topic.recordFormat, partition, start, onClose, isGrowing);
    });
  }

  /** With what is known already: metadata and format of the partition that `options` names, and where to begin. */
  constructor(
    links: Link | LinkUser,
    private readonly options: ConsumerOptions,
    format: RecordFormat,
    partition: PartitionMetadata,
    start: Start,
    private readonly onClose?: () => void,
    /** Without a limit it may ask for whatever a producer can write. */
    private readonly isGrowing = false,
  ) {
    this.links = linkUser(links);
    const epoch = start.epoch === UNKNOWN ? (options.epoch ?? UNKNOWN) : start.epoch;
    this.reading = new ReadPosition(options.topic, format, partition, start.offset, epoch, options);
  }

  get topic(): string {
    return this.reading.topic;
  }

  get partition(): PartitionId {
    return this.reading.partition;
  }

  /** The offset that the next {@link poll} asks for. */
  get position(): Offset {
    return this.reading.next;
  }

  /**
   * The epoch of the log that the position belongs to: keep it beside the position. −1: unknown, before the first answer or on a
   * broker that does not tell.
   */
  get epoch(): number {
    return this.reading.epoch;
  }

  /** Where the partition ended for readers when the broker last said so. */
  get highWatermark(): Offset {
    return this.reading.highWatermark;
  }

  /** How many records there are from the position to the high watermark, as last heard. */
  get lag(): number {
    return this.reading.lag;
  }

  /**
   * Reads on from another offset, also from one that was read before; `epoch` as in {@link ConsumerOptions}. Throws BAD_ARGUMENT, also
   * while a poll waits: its answer would move the position again. Abort the poll by its signal and wait for it first.
   */
  seek(position: Offset | number, epoch: number = UNKNOWN): void {
    const bad = outOfRange("epoch", epoch, UNKNOWN, INT32_MAX);
    if (bad !== undefined) throw bad;
    if (this.polling) throw new MillraceError("BAD_ARGUMENT", "seek was called while a poll is waiting");
    this.reading.moveTo(checkedOffset("position", position, "an offset"), epoch);
  }

  /**
   * The next whole records; an empty batch when there is nothing yet, and nothing came in `maxWaitMs`. One at a time.
   *
   * Rejects with {@link RecordExceedsMaxBytesError}, {@link CorruptRecordError} (after the records before it were given),
   * {@link LogTruncatedError} (what was read before the position is not there any more), OFFSET_OUT_OF_RANGE,
   * REQUEST_TIMEOUT or CONNECTION_LOST. The position stays where it was, so a poll may be repeated.
   */
  async poll(options: WaitOptions = {}): Promise<RecordBatch> {
    const bad = badRequest("fetch", options);
    if (bad !== undefined) throw bad;
    if (this.polling) throw new MillraceError("BAD_ARGUMENT", "poll was called while another poll is waiting");
    this.polling = true;
    this.size();
    const { maxWaitMs, minBytes } = this.options;
    const wait = { maxWaitMs, minBytes, ...options };
    const { timeoutMs, signal } = options;
    const wholeMs = timeoutMs === undefined ? undefined : timeoutMs + (wait.maxWaitMs ?? 0);
    try {
      const batch = await within(wholeMs, signal, `a poll of ${this.topic}-${this.partition}`, (bounds) =>
        this.fetched({ ...wait, signal: bounds.signal }, bounds),
      );
      this.given = { bytes: batch.bytes.length, at: performance.now() };
      return batch;
    } finally {
      this.polling = false;
    }
  }

  /** A poll says that the batch of the one before was handled. On a connection of the caller's own it never grows: others wait there. */
  private size(): void {
    const { given } = this;
    this.given = undefined;
    if (given !== undefined) this.answerSize.handled(given.bytes, performance.now() - given.at);
    this.answerSize.share([this.reading]);
  }

  private async fetched(wait: WaitOptions, bounds: Bounds): Promise<RecordBatch> {
    const { reading, links } = this;
    for (;;) {
      const { batches, again } = await links.use(
        async (link) => {
          if (this.isGrowing) reading.mayGrowTo(link.maxFrameBytes);
          const round = await fetchRound(link, [reading], reading.wantedBytes, wait);
          // Thrown here: what another link puts right is asked again from the same position.
          for (const { error } of round.failures) throw error;
          return round;
          // The position has moved when an answer was taken: the poll gives what came then, or rejects and has not moved.
        },
        bounds,
        "obeyed",
      );
      if (!again) return batches[0] as RecordBatch;
    }
  }

  /** Closes the connection of a consumer that has one of its own ({@link Client.consumer}); a poll that waits rejects with CLOSED. */
  close(): Promise<void> {
    this.onClose?.();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const consumerClosed = ({ topic, partition }: ConsumerOptions): MillraceError =>
  new MillraceError("CLOSED", `the consumer of ${topic}-${partition} was closed by this program`);

function badReader(options: ConsumerOptions): MillraceError | undefined {
  return badConsumer(options) ?? badStart("from", options.from ?? "earliest") ?? badBounds(options);
}
