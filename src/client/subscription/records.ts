// The records of batches, one by one. Written out, not as a generator: one that yields for each record costs three times as much.

import type { Offset, PartitionId } from "../../model/ids.js";
import type { RecordBatch } from "../record-batch.js";

/** One record of a subscription. */
export interface SubscriptionRecord {
  readonly topic: string;
  readonly partition: PartitionId;
  readonly offset: Offset;
  /** A view of what came: copy it to keep it without the rest of its batch. */
  readonly payload: Uint8Array;
  /** Where the partition ended for readers when the broker answered. */
  readonly highWatermark: Offset;
}

const DONE = { done: true, value: undefined } as const;

export class RecordIterator implements AsyncIterableIterator<SubscriptionRecord, void> {
  private batch: RecordBatch | undefined;
  private index = 0;
  /** A call that waits for a batch: those that come meanwhile are answered behind it. */
  private waiting: Promise<unknown> | undefined;

  constructor(private readonly batches: AsyncIterator<RecordBatch, void>) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<SubscriptionRecord, void>> {
    const { batch } = this;
    if (this.waiting === undefined && batch !== undefined && this.index < batch.length) {
      return Promise.resolve({ done: false, value: recordOf(batch, this.index++) });
    }
    return this.inTurn();
  }

  async return(): Promise<IteratorResult<SubscriptionRecord, void>> {
    this.batch = undefined;
    await this.batches.return?.();
    return DONE;
  }

  private inTurn(): Promise<IteratorResult<SubscriptionRecord, void>> {
    const { waiting } = this;
    const next = waiting === undefined ? this.nextOfNext() : waiting.then(() => this.nextOfNext());
    const over = (): void => {
      if (this.waiting === settled) this.waiting = undefined;
    };
    const settled: Promise<void> = next.then(over, over);
    this.waiting = settled;
    return next;
  }

  private async nextOfNext(): Promise<IteratorResult<SubscriptionRecord, void>> {
    const { batch } = this;
    if (batch !== undefined && this.index < batch.length) return { done: false, value: recordOf(batch, this.index++) };
    for (;;) {
      const { done, value } = await this.batches.next();
      if (done) return DONE;
      this.batch = value;
      this.index = 0;
      if (value.length > 0) return { done: false, value: recordOf(value, this.index++) };
    }
  }
}

function recordOf(batch: RecordBatch, index: number): SubscriptionRecord {
  const { topic, partition, highWatermark } = batch;
  return { topic, partition, offset: (batch.baseOffset + index) as Offset, payload: batch.at(index), highWatermark };
}
