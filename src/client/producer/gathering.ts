// The batch of one partition that is being filled, and those who wait for its records.

import type { PartitionId } from "../../model/ids.js";
import { Accumulator, type AccumulatorOptions } from "../accumulator.js";
import { RegionBuilder } from "../record-region.js";
import { Batch } from "./batch.js";
import type { Abortable } from "./callers.js";
import type { Payload, SentRecord } from "./producer-options.js";
import type { SpareRegions } from "./spare-regions.js";

export interface GatheringSettings {
  readonly accumulator: AccumulatorOptions;
  readonly batchRecords: number;
  readonly deliveryTimeoutMs: number;
  readonly spares: SpareRegions;
  now(): number;
}

/** What an accumulator holds while nothing is gathered: no memory. There may be thousands of partitions. */
const NOTHING = new RegionBuilder(0);

export class Gathering {
  private readonly accumulator: Accumulator;
  private batch: Batch;
  /** The earliest of those that records brought. */
  private deadline = Number.POSITIVE_INFINITY;

  constructor(
    private readonly topic: string,
    private readonly partition: PartitionId,
    private readonly settings: GatheringSettings,
    private readonly gathered: (batch: Batch) => void,
  ) {
    this.accumulator = new Accumulator(settings.accumulator, () => this.closed());
    this.accumulator.region = NOTHING;
    this.batch = new Batch(topic, partition);
  }

  /** Closes the batch when a record of so many bytes does not fit beside what is there. Comes before {@link append}. */
  makeRoom(payloadBytes: number): void {
    this.accumulator.makeRoom(payloadBytes);
  }

  /** Appends a record of so many bytes. Without a deadline of its own its time begins when the batch is closed. */
  append(
    record: Payload,
    bytes: number,
    abortable: Abortable | undefined,
    deadline: number | undefined,
  ): Promise<SentRecord> {
    const { accumulator, settings } = this;
    if (deadline !== undefined && deadline < this.deadline) this.deadline = deadline;
    if (accumulator.region.records === 0) accumulator.region = settings.spares.take();
    const sent = this.batch.add(abortable);
    if (typeof record === "string") accumulator.appendText(record, bytes);
    else accumulator.append(record, 0, bytes);
    if (accumulator.region.records >= settings.batchRecords) accumulator.close();
    return sent;
  }

  /** Hands over what is there. */
  close(): void {
    this.accumulator.close();
  }

  private closed(): void {
    const { accumulator, settings, batch } = this;
    batch.close(accumulator.region, Math.min(settings.now() + settings.deliveryTimeoutMs, this.deadline));
    this.deadline = Number.POSITIVE_INFINITY;
    accumulator.region = NOTHING;
    this.batch = new Batch(this.topic, this.partition);
    this.gathered(batch);
  }
}
