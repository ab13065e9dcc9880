// The batches of a reading one by one. Written out, not as a generator: one that is left while it waits for the next batch
// would be left only when that comes, and on a quiet topic that is never.

import type { RecordBatch } from "../record-batch.js";
import type { AsyncItems } from "./async-items.js";
import type { Reading } from "./reading.js";

/** What is told of the iteration. What a call rejects with ends it. */
export interface BatchWatcher {
  /** The next batch was asked for: this one was handled. */
  handled(batch: RecordBatch): Promise<void>;
  /** The iteration has ended, however it did. */
  ended(): Promise<void>;
}

const DONE = { done: true, value: undefined } as const;
type Result = IteratorResult<RecordBatch, void>;

export class BatchIterator implements AsyncItems<RecordBatch> {
  private batches: readonly RecordBatch[] = [];
  private index = 0;
  private given: RecordBatch | undefined;
  private over = false;
  /** Calls that come at once are answered in their order. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly reading: Reading,
    private readonly watcher?: BatchWatcher,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const next = this.last.then(() => this.step());
    this.last = next.catch(() => undefined);
    return next;
  }

  async return(): Promise<Result> {
    this.over = true;
    this.given = undefined;
    await this.reading.return();
    await this.last;
    await this.watcher?.ended();
    return DONE;
  }

  private async step(): Promise<Result> {
    if (this.over) return DONE;
    try {
      if (this.given !== undefined) await this.watcher?.handled(this.given);
      this.given = undefined;
      while (this.index === this.batches.length) {
        const { done, value } = await this.reading.next();
        if (done) {
          this.over = true;
          await this.watcher?.ended();
          return DONE;
        }
        this.batches = value;
        this.index = 0;
      }
      this.given = this.batches[this.index++] as RecordBatch;
      return { done: false, value: this.given };
    } catch (error) {
      await this.failed();
      throw error;
    }
  }

  /** What it failed with first is what is thrown. */
  private async failed(): Promise<void> {
    if (this.over) return;
    this.over = true;
    await this.reading.return();
    await this.watcher?.ended().catch(() => undefined);
  }
}
