// Batches of one partition that wait, in order. Those that come back go in front.

import type { Batch } from "./batch.js";

/** Batches that were taken are dropped from the array when there are so many: taking one costs the same however many wait. */
const COMPACT_AT = 64;

export class BatchQueue implements Iterable<Batch> {
  private items: Batch[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }

  get first(): Batch | undefined {
    return this.items[this.head];
  }

  get last(): Batch | undefined {
    return this.length === 0 ? undefined : this.items[this.items.length - 1];
  }

  push(batch: Batch): void {
    this.items.push(batch);
  }

  shift(): Batch | undefined {
    const batch = this.first;
    if (batch === undefined) return undefined;
    this.head++;
    if (this.head >= COMPACT_AT && this.head * 2 >= this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return batch;
  }

  putBack(batches: readonly Batch[]): void {
    if (batches.length === 0) return;
    this.items = [...batches, ...this];
    this.head = 0;
  }

  /** Takes out those of which nobody knows whether they are written. Something that was refused may stand before them. */
  takeUncertain(): Batch[] {
    const all = this.clear();
    this.items = all.filter(({ isUncertain }) => !isUncertain);
    return all.filter(({ isUncertain }) => isUncertain);
  }

  clear(): Batch[] {
    const all = [...this];
    this.items = [];
    this.head = 0;
    return all;
  }

  *[Symbol.iterator](): Generator<Batch, void> {
    for (let i = this.head; i < this.items.length; i++) yield this.items[i];
  }
}
