// The records of batches, one by one. Written out, not as a generator: one that yields for each record costs three times as much.

import type { Offset, PartitionId } from "../../model/ids.js";
import type { RecordBatch } from "../record-batch.js";
import type { AsyncItems } from "./async-items.js";

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

/** One by one what stands in batches. `take` gives what is at an index, or undefined for what is left out. */
export class EachIterator<Batch extends { readonly length: number }, Each> implements AsyncItems<Each> {
  private batch: Batch | undefined;
  private index = 0;
  /** A call that waits for a batch: those that come meanwhile are answered behind it. */
  private waiting: Promise<unknown> | undefined;

  constructor(
    private readonly batches: AsyncIterator<Batch, void>,
    private readonly take: (batch: Batch, index: number) => Each | undefined,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Each, void>> {
    if (this.waiting === undefined) {
      try {
        const value = this.nextHere();
        if (value !== undefined) return Promise.resolve({ done: false, value });
      } catch (error) {
        return this.failed(error);
      }
    }
    return this.inTurn();
  }

  async return(): Promise<IteratorResult<Each, void>> {
    this.batch = undefined;
    await this.batches.return?.();
    return DONE;
  }

  private inTurn(): Promise<IteratorResult<Each, void>> {
    const { waiting } = this;
    const next = waiting === undefined ? this.nextOfNext() : waiting.then(() => this.nextOfNext());
    const over = (): void => {
      if (this.waiting === settled) this.waiting = undefined;
    };
    const settled: Promise<void> = next.then(over, over);
    this.waiting = settled;
    return next;
  }

  private async nextOfNext(): Promise<IteratorResult<Each, void>> {
    for (;;) {
      let value: Each | undefined;
      try {
        value = this.nextHere();
      } catch (error) {
        return this.failed(error);
      }
      if (value !== undefined) return { done: false, value };
      const next = await this.batches.next();
      if (next.done) return DONE;
      this.batch = next.value;
      this.index = 0;
    }
  }

  /** Of the batch that is there. */
  private nextHere(): Each | undefined {
    const { batch } = this;
    while (batch !== undefined && this.index < batch.length) {
      const value = this.take(batch, this.index++);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** Whoever iterates does not say that it is over when what it asks for throws. */
  private async failed(error: unknown): Promise<never> {
    await this.return().catch(() => undefined);
    throw error;
  }
}

export const recordsOf = (batches: AsyncIterator<RecordBatch, void>): AsyncItems<SubscriptionRecord> =>
  new EachIterator(batches, recordOf);

function recordOf(batch: RecordBatch, index: number): SubscriptionRecord {
  const { topic, partition, highWatermark } = batch;
  return { topic, partition, offset: (batch.baseOffset + index) as Offset, payload: batch.at(index), highWatermark };
}
