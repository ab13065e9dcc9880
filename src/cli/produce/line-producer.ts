// Records of the input to batches of partitions, many of them on their way at once. It knows lines and what became of them;
// where they come from is produce.ts's.

import type { Connection } from "../../client/connection.js";
import type { ProduceOptions } from "../../client/connection-options.js";
import { partitionOfKey, RoundRobin } from "../../client/partitioner.js";
import { Window } from "../../client/window.js";
import { AckPolicy } from "../../model/ack-policy.js";
import type { Timers } from "../../model/clock.js";
import { MillraceError } from "../../model/errors.js";
import { PRODUCE_IN_FLIGHT_BYTES, PRODUCE_IN_FLIGHT_REQUESTS } from "../../model/limits.js";
import type { ProduceResult } from "../../protocol/produce.js";
import { Failed } from "../failure.js";
import type { RecordTarget } from "../framing.js";
import { type Batch, Lane } from "./lane.js";

export interface LineProducerOptions {
  readonly topic: string;
  readonly partitions: number;
  /** All records go there. */
  readonly partition: number | undefined;
  /** What stands between a line's key and its record. */
  readonly keySeparator: Buffer | undefined;
  readonly ack: AckPolicy;
  readonly batchBytes: number;
  readonly lingerMs: number;
  readonly timers: Timers;
  /** A batch was acknowledged. */
  readonly onAcknowledged: (partition: number, result: ProduceResult, records: number) => void;
  /** A batch was refused or its connection was lost: nothing more should be read. Called once. */
  readonly onFailure: () => void;
}

export class LineProducer implements RecordTarget {
  /** The last input line that came. */
  lastLine = 0;
  /** Records that were sent, acknowledged or not. */
  sent = 0;
  /** Why it stopped. */
  failure: Error | undefined;
  readonly lanes: readonly Lane[];
  private readonly roundRobin: RoundRobin;
  private readonly window = new Window(PRODUCE_IN_FLIGHT_BYTES, PRODUCE_IN_FLIGHT_REQUESTS);

  constructor(
    private readonly connection: Connection,
    private readonly options: LineProducerOptions,
  ) {
    const send = (batch: Batch) => this.send(batch);
    this.lanes = Array.from({ length: options.partitions }, (_, partition) => new Lane(partition, options, send));
    this.roundRobin = new RoundRobin(options.partitions);
    // Also when nothing is on its way: whoever pipes into this should hear of it now and not with the next line.
    void connection.closed.then((error) => {
      if (error !== undefined) this.fail(error);
    });
  }

  get acknowledged(): number {
    return this.lanes.reduce((sum, lane) => sum + lane.acknowledged, 0);
  }

  record(bytes: Uint8Array, from: number, end: number, line: number): void {
    this.lastLine = line;
    const { keySeparator, partition } = this.options;
    if (keySeparator !== undefined) this.keyed(bytes, from, end, line, keySeparator);
    else if (partition !== undefined) append(this.lanes[partition], bytes, from, end, line);
    else {
      // Making room closes the batch, and with it this partition's turn.
      this.lanes[this.roundRobin.current].makeRoom(end - from);
      this.lanes[this.roundRobin.current].append(bytes, from, end, line);
    }
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

  private send(batch: Batch): void {
    // Sticky for a batch: the next one goes to the next partition.
    if (batch.lane.partition === this.roundRobin.current) this.roundRobin.advance();
    if (this.failure !== undefined) return;
    const { topic, ack } = this.options;
    const { records } = batch.region;
    this.sent += records;
    if (ack === AckPolicy.NONE) this.post(batch);
    else void this.produce(batch, records, topic, { ack });
  }

  private post({ lane, region }: Batch): void {
    try {
      this.connection.post(this.options.topic, lane.partition, region);
    } catch (error) {
      this.fail(error);
    }
  }

  private async produce(batch: Batch, records: number, topic: string, options: ProduceOptions): Promise<void> {
    const { lane, region } = batch;
    const bytes = region.bytes.length;
    this.window.enter(bytes);
    try {
      // The region is copied before this returns; from then on it is filled again.
      const result = await this.connection.produce(topic, lane.partition, region, options);
      lane.batchAcknowledged(batch, records);
      this.options.onAcknowledged(lane.partition, result, records);
    } catch (error) {
      lane.batchFailed(batch, isUnknown(error) ? "unknown" : "refused");
      this.fail(error);
    } finally {
      this.window.leave(bytes);
    }
  }

  private fail(error: unknown): void {
    if (this.failure !== undefined) return;
    this.failure = error instanceof Error ? error : new Error(String(error));
    this.options.onFailure();
  }
}

/** Whether the broker may have carried the request out. */
function isUnknown(error: unknown): boolean {
  return (
    error instanceof MillraceError && ["CONNECTION_LOST", "REQUEST_TIMEOUT", "STORAGE_FAILURE"].includes(error.code)
  );
}

function append(lane: Lane, bytes: Uint8Array, from: number, end: number, line: number): void {
  lane.makeRoom(end - from);
  lane.append(bytes, from, end, line);
}
