// Subscriptions whose records have values. What they read, and when, is the subscription's beneath.

import type { CheckpointStore } from "../checkpoint/store.js";
import type { Codec } from "../codec/codec.js";
import type { EnvelopeCodec } from "../codec/envelope.js";
import type { RecordBatch } from "../record-batch.js";
import type { CheckpointedSubscription, CheckpointOptions } from "../subscription/checkpointed.js";
import type { Subscription } from "../subscription/subscription.js";
import { type OnBad, TypedBatch, type TypedRecord } from "./typed-record.js";

/** What turns batches into typed ones. */
export interface Decoding<T> {
  readonly codec: Codec<T> | EnvelopeCodec<T>;
  readonly onBad: OnBad<T>;
}

abstract class TypedBatches<T> implements AsyncIterable<TypedBatch<T>> {
  constructor(
    private readonly batches: AsyncIterable<RecordBatch>,
    protected readonly decoding: Decoding<T>,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<TypedBatch<T>, void, undefined> {
    for await (const batch of this.batches) yield this.typed(batch);
  }

  /** The records one by one. */
  records(): AsyncIterableIterator<TypedRecord<T>, void> {
    return new TypedRecordIterator(this[Symbol.asyncIterator]());
  }

  protected typed(batch: RecordBatch): TypedBatch<T> {
    return new TypedBatch(batch, this.decoding.codec, this.decoding.onBad);
  }
}

/** As `Subscription`, of one topic, with values. */
export class TypedSubscription<T> extends TypedBatches<T> {
  constructor(
    private readonly subscription: Subscription,
    decoding: Decoding<T>,
  ) {
    super(subscription, decoding);
  }

  /** The same from where `store` says on, and the store is told when a batch was handled: as `Subscription.checkpointing`. */
  checkpointing(store: CheckpointStore, options?: CheckpointOptions): TypedCheckpointedSubscription<T> {
    return new TypedCheckpointedSubscription(this.subscription.checkpointing(store, options), this.decoding);
  }
}

/** As `CheckpointedSubscription`, of one topic, with values. */
export class TypedCheckpointedSubscription<T> extends TypedBatches<T> {
  constructor(
    private readonly subscription: CheckpointedSubscription,
    decoding: Decoding<T>,
  ) {
    super(subscription, decoding);
  }

  /** This batch was handled, and is saved now: before a `break`. Rejects as the store does. */
  save(batch: TypedBatch<T>): Promise<void> {
    return this.subscription.save(batch.raw);
  }

  /**
   * Gives each batch to `handler`, and saves it when that has returned or resolved; `false` ends it. As
   * `CheckpointedSubscription.run`.
   */
  run(handler: (batch: TypedBatch<T>) => unknown): Promise<void> {
    return this.subscription.run((batch) => handler(this.typed(batch)));
  }
}

const DONE = { done: true, value: undefined } as const;

/** Written out, as the records of a subscription are: a generator that yields for each record costs three times as much. */
class TypedRecordIterator<T> implements AsyncIterableIterator<TypedRecord<T>, void> {
  private batch: TypedBatch<T> | undefined;
  private index = 0;

  constructor(private readonly batches: AsyncGenerator<TypedBatch<T>, void, undefined>) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<TypedRecord<T>, void>> {
    for (;;) {
      const record = this.nextHere();
      if (record !== undefined) return { done: false, value: record };
      const { done, value } = await this.batches.next();
      if (done) return DONE;
      this.batch = value;
      this.index = 0;
    }
  }

  async return(): Promise<IteratorResult<TypedRecord<T>, void>> {
    this.batch = undefined;
    await this.batches.return();
    return DONE;
  }

  /** The next one of this batch that its codec takes. */
  private nextHere(): TypedRecord<T> | undefined {
    const { batch } = this;
    while (batch !== undefined && this.index < batch.length) {
      const record = batch.take(this.index++);
      if (record !== undefined) return record;
    }
    return undefined;
  }
}
