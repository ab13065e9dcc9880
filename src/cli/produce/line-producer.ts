// Records of the input to batches of partitions, one request of each on its way and what waits bounded. It knows lines and
// what became of them; where they come from is produce.ts's.

import { Backoff } from "../../client/backoff.js";
import type { Connection } from "../../client/connection.js";
import { BrokerError } from "../../client/errors.js";
import { partitionOfKey, RoundRobin } from "../../client/partitioner.js";
import { Window } from "../../client/window.js";
import { AckPolicy } from "../../model/ack-policy.js";
import type { Timers } from "../../model/clock.js";
import { MillraceError } from "../../model/errors.js";
import {
  PRODUCE_IN_FLIGHT_BATCHES,
  PRODUCE_IN_FLIGHT_BYTES,
  PRODUCE_REQUEST_BYTES,
  PRODUCE_RETRY_MS_MAX,
  PRODUCE_RETRY_MS_MIN,
} from "../../model/limits.js";
import { Failed } from "../failure.js";
import type { RecordTarget } from "../framing.js";
import { Lane } from "./lane.js";
import type { Parcel } from "./parcel.js";

export interface LineProducerOptions {
  readonly topic: string;
  readonly partitions: number;
  /** All records go there. */
  readonly partition: number | undefined;
  /** What stands between a line's key and its record. */
  readonly keySeparator: Buffer | undefined;
  readonly ack: AckPolicy;
  readonly batchBytes: number;
  /** What one request to this broker can carry. */
  readonly requestBytesMax: number;
  readonly lingerMs: number;
  /** How long a batch that was refused for now is tried again. */
  readonly retryMs: number;
  readonly timers: Timers;
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** A batch was acknowledged. */
  readonly onAcknowledged: (partition: number, baseOffset: number) => void;
  /** A batch was refused, and will be tried again for a while. Called once. */
  readonly onRetry: (error: Error) => void;
  /** A batch was refused or its connection was lost: nothing more should be read. Called once. */
  readonly onFailure: () => void;
}

export class LineProducer implements RecordTarget {
  /** The last input line that came. */
  lastLine = 0;
  /** Records of closed batches, acknowledged or not. */
  sent = 0;
  /** Why it stopped. */
  failure: Error | undefined;
  readonly lanes: readonly Lane[];
  private readonly roundRobin: RoundRobin;
  private readonly window = new Window(PRODUCE_IN_FLIGHT_BYTES, PRODUCE_IN_FLIGHT_BATCHES);
  private halted = false;
  private hasRetried = false;

  constructor(
    private readonly connection: Connection,
    private readonly options: LineProducerOptions,
  ) {
    const closed = (lane: Lane, bytes: number) => this.batchClosed(lane, bytes);
    const { partition, keySeparator, partitions, batchBytes, lingerMs, timers } = options;
    const requestBytes = Math.min(Math.max(PRODUCE_REQUEST_BYTES, batchBytes), options.requestBytesMax);
    const isScattered = keySeparator !== undefined || partition !== undefined || partitions === 1;
    const laneOptions = { batchBytes, lingerMs, timers, requestBytes, isScattered, spares: [] };
    this.lanes = Array.from({ length: partitions }, (_, each) => new Lane(each, laneOptions, closed));
    this.roundRobin = new RoundRobin(partitions);
    // Also when nothing is on its way: whoever pipes into this should hear of it now and not with the next line.
    void connection.closed.then((error) => {
      if (error !== undefined) this.fail(error);
    });
  }

  get acknowledged(): number {
    return this.lanes.reduce((sum, lane) => sum + lane.acknowledged, 0);
  }

  /** The first input line that was not acknowledged: everything before it was. */
  get nextLine(): number {
    return this.lanes.reduce((first, lane) => Math.min(first, lane.firstMissing ?? first), this.lastLine + 1);
  }

  record(bytes: Uint8Array, from: number, end: number, line: number): void {
    const { keySeparator, partition } = this.options;
    if (keySeparator !== undefined) this.keyed(bytes, from, end, line, keySeparator);
    else if (partition !== undefined) append(this.lanes[partition], bytes, from, end, line);
    else {
      // Making room closes the batch, and with it this partition's turn.
      this.lanes[this.roundRobin.current].makeRoom(end - from);
      this.lanes[this.roundRobin.current].append(bytes, from, end, line);
    }
    this.lastLine = line;
  }

  /** Resolves when more may be read. */
  async room(): Promise<void> {
    if (this.options.ack === AckPolicy.NONE) await this.connection.flushed();
    else await this.window.room();
  }

  /** Sends what waits for more, and waits for all answers. */
  async finish(): Promise<void> {
    for (const lane of this.lanes) lane.close();
    if (this.options.ack === AckPolicy.NONE) await this.confirmReceipt();
    await this.window.empty();
  }

  /** Waits for the answers to what was sent. */
  settled(): Promise<void> {
    return this.window.empty();
  }

  /** Sends nothing more. What is on its way may still be answered. */
  halt(): void {
    if (this.halted) return;
    this.halted = true;
    for (const lane of this.lanes) {
      const { bytes, batches } = lane.stop();
      if (batches > 0) this.window.leave(bytes, batches);
    }
  }

  private keyed(bytes: Uint8Array, from: number, end: number, line: number, separator: Buffer): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from);
    const at = text.indexOf(separator);
    if (at < 0) throw new Failed(`input line ${line} has no key separator`);
    const payload = from + at + separator.length;
    if (payload === end) throw new Failed(`input line ${line} has a key and no record behind it`);
    append(this.lanes[partitionOfKey(text.subarray(0, at), this.lanes.length)], bytes, payload, end, line);
  }

  /** Requests are taken in order: the answer to one that has an answer shows that the broker received those that have none. */
  private async confirmReceipt(): Promise<void> {
    try {
      await this.connection.metadata([this.options.topic]);
    } catch (error) {
      this.fail(error);
    }
  }

  private batchClosed(lane: Lane, bytes: number): void {
    // Sticky for a batch: the next one goes to the next partition.
    if (lane.partition === this.roundRobin.current) this.roundRobin.advance();
    this.window.enter(bytes);
    if (lane.isFlying) return;
    if (this.options.ack === AckPolicy.NONE) this.post(lane);
    else void this.send(lane);
  }

  private post(lane: Lane): void {
    const parcel = lane.takeOff();
    if (parcel === undefined) return;
    this.sent += parcel.region.records;
    try {
      this.connection.post(this.options.topic, lane.partition, parcel.region);
    } catch (error) {
      this.fail(error);
    }
    this.landed(lane, parcel);
  }

  /** Sends what waits for this partition, one request after the other. */
  private async send(lane: Lane): Promise<void> {
    const { topic, onAcknowledged } = this.options;
    const ack = this.options.ack === AckPolicy.WRITTEN ? AckPolicy.WRITTEN : AckPolicy.FORCED;
    let retry: Retry | undefined;
    for (;;) {
      const parcel = lane.takeOff();
      if (parcel === undefined) return;
      let baseOffset: number;
      try {
        ({ baseOffset } = await this.connection.produce(topic, lane.partition, parcel.region, { ack }));
      } catch (error) {
        retry ??= this.retry();
        if (isForNow(error) && (await this.mayRepeat(error, retry))) {
          lane.repeated();
          continue;
        }
        this.refused(lane, parcel, error, isRefusal(error) || (await this.isClosed(lane, error)));
        return;
      }
      retry = undefined;
      for (const { records } of parcel.batches) {
        onAcknowledged(lane.partition, baseOffset);
        baseOffset += records;
      }
      this.sent += parcel.region.records;
      this.landed(lane, parcel);
    }
  }

  private landed(lane: Lane, parcel: Parcel): void {
    this.window.leave(parcel.length, parcel.batches.length);
    lane.landed(() => this.nextLine);
  }

  /** A partition that never opened in this broker has nothing of what was sent to it. After a failed write nobody knows. */
  private async isClosed({ partition }: Lane, error: unknown): Promise<boolean> {
    if (!(error instanceof BrokerError) || error.code !== "STORAGE_FAILURE") return false;
    try {
      const [topic] = await this.connection.metadata([this.options.topic]);
      return topic.partitions.some((each) => each.partition === partition && each.logEndOffset < 0);
    } catch {
      return false;
    }
  }

  private refused(lane: Lane, parcel: Parcel, error: unknown, isInNoLog: boolean): void {
    lane.refused(isInNoLog ? "refused" : "unknown");
    this.window.leave(parcel.length, parcel.batches.length);
    this.fail(error);
  }

  private retry(): Retry {
    const { now, retryMs } = this.options;
    return { until: now() + retryMs, backoff: new Backoff(PRODUCE_RETRY_MS_MIN, PRODUCE_RETRY_MS_MAX, Math.random) };
  }

  /** Waits until it is time to send again, or says that there is no more of it. */
  private async mayRepeat(error: Error, { until, backoff }: Retry): Promise<boolean> {
    const left = until - this.options.now();
    if (this.halted || left <= 0) return false;
    if (!this.hasRetried) this.options.onRetry(error);
    this.hasRetried = true;
    await new Promise<void>((resolve) => this.options.timers.after(Math.min(left, backoff.next()), resolve));
    return !this.halted;
  }

  private fail(error: unknown): void {
    if (this.failure !== undefined) return;
    this.failure = error instanceof Error ? error : new Error(String(error));
    this.halt();
    this.options.onFailure();
  }
}

/** Until when a refused batch is tried again, and how often. */
interface Retry {
  readonly until: number;
  readonly backoff: Backoff;
}

/** Refused for a reason that may pass. A broker that stops takes its connections along. */
const isForNow = (error: unknown): error is BrokerError =>
  error instanceof BrokerError && error.retriable && error.code !== "SHUTTING_DOWN";

/** With these nothing of the batch is in the log. With everything else the broker may have carried it out. */
const REFUSALS: ReadonlySet<string> = new Set([
  "UNKNOWN_TOPIC_OR_PARTITION",
  "RECORD_TOO_LARGE",
  "UNSUPPORTED_VERSION",
  "CORRUPT_REQUEST",
  "LOG_FULL",
  "OVERLOADED",
  "SHUTTING_DOWN",
  "BAD_ARGUMENT",
]);

const isRefusal = (error: unknown): boolean => error instanceof MillraceError && REFUSALS.has(error.code);

function append(lane: Lane, bytes: Uint8Array, from: number, end: number, line: number): void {
  lane.makeRoom(end - from);
  lane.append(bytes, from, end, line);
}
