// A subscription that remembers how far it was handled. A batch is handled when the next one is asked for: then, and not when
// it was given, it is saved.

import { badArgument, badOptions, shown } from "../../model/arguments.js";
import { CHECKPOINT_EVERY_MS } from "../../model/limits.js";
import { Saver } from "../checkpoint/saver.js";
import { type CheckpointPosition, type CheckpointStore, checkpointFailure } from "../checkpoint/store.js";
import { badTime } from "../checks.js";
import type { ReadPosition } from "../read-position.js";
import type { RecordBatch } from "../record-batch.js";
import { isOffset } from "../start-position.js";
import type { AsyncItems } from "./async-items.js";
import { BatchIterator } from "./batches.js";
import { Reading, type ReadingPlan, type SubscriptionHost } from "./reading.js";
import { recordsOf, type SubscriptionRecord } from "./records.js";

/** How a subscription saves. */
export interface CheckpointOptions {
  /** How much time passes at least between two saves, in milliseconds. 0 saves each batch. Default 100. */
  readonly saveEveryMs?: number | undefined;
}

const KNOWN = new Set(["saveEveryMs"]);

/**
 * A subscription with a {@link CheckpointStore}.
 *
 * Asking for the next batch says that the one before was handled, and that is saved, at most once in `saveEveryMs`; what
 * waits for that is saved by a timer, and when the iteration ends, however it ends. So after an ordinary end, an error of the
 * handler or a `break` the store says exactly what was handled, and after a kill of the process what was handled
 * `saveEveryMs` before: those batches are given again. At least once, that is; a store that writes in the handler's own
 * transaction makes it once.
 *
 * A batch that `break` or an error leaves was not handled as far as anybody knows, and is given again the next time. To end
 * after a batch that was handled, call {@link save} with it before the `break`, or let {@link run} do the iterating.
 */
export class CheckpointedSubscription implements AsyncIterable<RecordBatch> {
  private readonly saveEveryMs: number;
  private saver: Saver | undefined;

  constructor(
    private readonly host: SubscriptionHost,
    private readonly plan: ReadingPlan,
    private readonly store: CheckpointStore,
    options: CheckpointOptions,
  ) {
    const bad =
      badStore(store) ?? badOptions(options, KNOWN, "checkpointing()") ?? badTime("saveEveryMs", options.saveEveryMs);
    if (bad !== undefined) throw bad;
    this.saveEveryMs = options.saveEveryMs ?? CHECKPOINT_EVERY_MS;
  }

  [Symbol.asyncIterator](): AsyncItems<RecordBatch> {
    const { store, host, plan } = this;
    const saver = new Saver(store, this.saveEveryMs);
    this.saver = saver;
    const reading = new Reading(host, plan, {
      load: async () => checkedPositions(await store.load()),
      // Whoever begins at the end and is ended before anything comes would the next time begin at the end of then; so with a partition
      // that was added, when the options say latest.
      begun: (positions) => saver.handled(positions.map(positionOf)),
    });
    return new BatchIterator(reading, {
      handled: (batch) => saver.handled([positionAfter(batch)]),
      ended: () => saver.flush(),
    });
  }

  /** The records one by one. A record is saved with its batch, when the first record of the next one is asked for. */
  records(): AsyncItems<SubscriptionRecord> {
    return recordsOf(this[Symbol.asyncIterator]());
  }

  /** This batch was handled, and is saved now: before a `break`. Rejects as the store does. */
  async save(batch: RecordBatch): Promise<void> {
    const saver = this.saver ?? new Saver(this.store, this.saveEveryMs);
    await saver.handled([positionAfter(batch)]);
    await saver.flush();
  }

  /**
   * Gives each batch to `handler`, and saves it when that has returned or resolved. `false` from the handler ends it, after
   * the batch was saved; an error leaves the stored position before the batch. Resolves at the end of a replay, or after `false`.
   *
   * ```ts
   * let left = 2;
   * await client.follow("orders").checkpointing(store).run(async (batch) => {
   *   for (const record of batch.records) console.log(`deliver ${Buffer.from(record)}`);
   *   left -= batch.length;
   *   return left > 0;
   * });
   * ```
   */
  async run(handler: (batch: RecordBatch) => unknown): Promise<void> {
    if (typeof handler !== "function") throw badArgument("handler", handler, "a function that is given each batch");
    for await (const batch of this) {
      if ((await handler(batch)) !== false) continue;
      await this.save(batch);
      return;
    }
  }
}

const positionOf = ({ topic, partition, next, epoch }: ReadPosition): CheckpointPosition => ({
  topic,
  partition,
  offset: next,
  epoch,
});

const positionAfter = ({ topic, partition, nextOffset, epoch }: RecordBatch): CheckpointPosition => ({
  topic,
  partition,
  offset: nextOffset,
  epoch,
});

/** What a store of the caller's own has brought. */
function checkedPositions(loaded: unknown): readonly CheckpointPosition[] {
  if (!Array.isArray(loaded)) {
    throw checkpointFailure(
      `load() of the checkpoint store brought ${shown(loaded)}: expected an array, [] when nothing is kept`,
    );
  }
  for (const each of loaded) {
    const { topic, partition, offset, epoch } = (each ?? {}) as Partial<CheckpointPosition>;
    if (typeof topic === "string" && isOffset(partition) && isOffset(offset) && Number.isInteger(epoch)) continue;
    const text = `load() of the checkpoint store brought topic ${shown(topic)}, partition ${shown(partition)}, offset ${shown(offset)}, epoch ${shown(epoch)}`;
    throw checkpointFailure(`${text}: expected a name and three whole numbers`);
  }
  return loaded;
}

function badStore(store: unknown) {
  const { load, save } = (store ?? {}) as Partial<CheckpointStore>;
  const isStore = typeof load === "function" && typeof save === "function";
  return isStore ? undefined : badArgument("store", store, "a CheckpointStore with load() and save()");
}
