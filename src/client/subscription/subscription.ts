// What `follow()` and `replay()` give: something to iterate. Nothing is asked for before somebody does.

import type { CheckpointStore } from "../checkpoint/store.js";
import type { RecordBatch } from "../record-batch.js";
import type { AsyncItems } from "./async-items.js";
import { BatchIterator } from "./batches.js";
import { CheckpointedSubscription, type CheckpointOptions } from "./checkpointed.js";
import { Reading, type ReadingPlan, type SubscriptionHost } from "./reading.js";
import { recordsOf, type SubscriptionRecord } from "./records.js";

/**
 * Batches of records of one topic or several, in order inside each partition. Each iteration has a connection of its own, starts anew
 * where the options say, and closes it when it ends, by `break` and by an error, too. The next answer is on its way while
 * one is handled and not more than that: who handles slowly slows the reading down.
 *
 * The iteration throws what happened to a position ({@link LogTruncatedError}, {@link OffsetOutOfRangeError}, unless the options
 * choose where to go on), {@link CorruptRecordError}, {@link RecordExceedsMaxBytesError}, the signal's reason, CLOSED when the
 * client is closed. A broker that is away is none of these: it waits until it is back (`onLost` tells).
 */
export class Subscription implements AsyncIterable<RecordBatch> {
  constructor(
    private readonly host: SubscriptionHost,
    private readonly plan: ReadingPlan,
  ) {}

  [Symbol.asyncIterator](): AsyncItems<RecordBatch> {
    return new BatchIterator(new Reading(this.host, this.plan));
  }

  /**
   * The records one by one: simpler, and some hundred nanoseconds dearer each than going through a batch.
   *
   * ```ts
   * for await (const { topic, partition, offset, payload } of client.replay("orders").records()) {
   *   console.log(`${topic}-${partition} ${offset}: ${Buffer.from(payload)}`);
   * }
   * ```
   */
  records(): AsyncItems<SubscriptionRecord> {
    return recordsOf(this[Symbol.asyncIterator]());
  }

  /**
   * The same from where `store` says on, and the store is told when a batch was handled. Partitions that are not in the store
   * start where the options say.
   */
  checkpointing(store: CheckpointStore, options: CheckpointOptions = {}): CheckpointedSubscription {
    return new CheckpointedSubscription(this.host, this.plan, store, options);
  }
}
