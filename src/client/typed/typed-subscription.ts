// Subscriptions whose records have values. What they read, and when, is the subscription's beneath.

import type { CheckpointStore } from "../checkpoint/store.js";
import type { Codec } from "../codec/codec.js";
import type { EnvelopeCodec } from "../codec/envelope.js";
import type { RecordBatch } from "../record-batch.js";
import type { AsyncItems } from "../subscription/async-items.js";
import type { CheckpointedSubscription, CheckpointOptions } from "../subscription/checkpointed.js";
import { EachIterator } from "../subscription/records.js";
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

  [Symbol.asyncIterator](): AsyncItems<TypedBatch<T>> {
    return new TypedBatchIterator(this.batches[Symbol.asyncIterator](), (batch) => this.typed(batch));
  }

  /** The records one by one. */
  records(): AsyncItems<TypedRecord<T>> {
    return new EachIterator(this[Symbol.asyncIterator](), (batch, index) => batch.take(index));
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

/** Written out, not as a generator: one that is left while it waits would be left only when the next batch comes. */
class TypedBatchIterator<T> implements AsyncItems<TypedBatch<T>> {
  constructor(
    private readonly batches: AsyncIterator<RecordBatch, void>,
    private readonly typed: (batch: RecordBatch) => TypedBatch<T>,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<TypedBatch<T>, void>> {
    const next = await this.batches.next();
    return next.done ? next : { done: false, value: this.typed(next.value) };
  }

  async return(): Promise<IteratorResult<TypedBatch<T>, void>> {
    await this.batches.return?.();
    return { done: true, value: undefined };
  }
}
