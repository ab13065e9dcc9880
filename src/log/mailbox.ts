// The mailbox of one partition: the ring of its waiting batches, with the duties that go with waiting. Each batch leaves it
// once, answered or refused; what waits longer than a run is copied out of the caller's memory; and whoever wants to know
// when all that came before has left is told. Knows nothing of why a batch waits.

import type { ErrorCode } from "../model/error-codes.js";
import type { AppendListener } from "./append-listener.js";
import { BatchRing } from "./batch-ring.js";
import type { Staging } from "./staging.js";

export class Mailbox extends BatchRing {
  readonly #staging: Staging;
  readonly #drains: { upTo: number; resolve: () => void }[] = [];
  /** Set while a worker reads the oldest batch: should that leave early, its chunk must not be used again. */
  firstIsBeingRead = false;

  constructor(staging: Staging) {
    super();
    this.#staging = staging;
  }

  /** Drops the oldest batch. */
  dropFirst(): void {
    const i = this.slot(0);
    if (this.chunkEnds[i] === 1) this.#staging.release(this.sources[i] as Uint8Array, !this.firstIsBeingRead);
    this.shift();
  }

  refuseFirst(error: ErrorCode): void {
    const i = this.slot(0);
    const listener = this.listeners[i] as AppendListener;
    const token = this.tokens[i] as number;
    this.dropFirst();
    listener.appended(token, error, -1, -1);
  }

  /** Tells everybody who waits now; a listener that offers again at once is not among them. */
  refuseAll(error: ErrorCode): void {
    for (let left = this.size; left > 0; left--) this.refuseFirst(error);
    this.notifyDrained();
  }

  /**
   * Copies what lies in the callers' memory. What finds no room is refused, and so is all behind it: nobody passes one
   * that was refused, because it may build on it.
   */
  stage(error: ErrorCode): void {
    if (this.unstaged === 0) return;
    const kept = this.#copy();
    if (kept === this.size) return;
    const refused: (() => void)[] = [];
    for (let n = kept; n < this.size; n++) {
      const i = this.slot(n);
      const listener = this.listeners[i] as AppendListener;
      const token = this.tokens[i] as number;
      refused.push(() => listener.appended(token, error, -1, -1));
    }
    while (this.size > kept) this.pop();
    for (const tell of refused) tell();
    this.notifyDrained();
  }

  /** Resolves when all that is waiting now has left. */
  drained(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#drains.push({ upTo: this.came, resolve }));
  }

  /** To be called after batches have left. */
  notifyDrained(): void {
    while (this.#drains.length > 0) {
      // A newest batch that was refused lowered `came` after it was noted; then it is the next one's leaving that counts,
      // or that there is none.
      if ((this.#drains[0] as { upTo: number }).upTo > this.gone && this.size > 0) return;
      this.#drains.shift()?.resolve();
    }
  }

  /** Returns how many of the waiting batches now lie in our memory. */
  #copy(): number {
    const first = this.size - this.unstaged;
    let left = 0;
    for (let n = first; n < this.size; n++) left += this.sizes[this.slot(n)] as number;
    let chunk: Uint8Array | undefined;
    let used = 0;
    let n = first;
    for (; n < this.size; n++) {
      const i = this.slot(n);
      const size = this.sizes[i] as number;
      if (chunk === undefined || used + size > chunk.length) {
        if (chunk !== undefined) this.chunkEnds[this.slot(n - 1)] = 1;
        chunk = this.#staging.take(size, left);
        used = 0;
        if (chunk === undefined) break;
      }
      const from = this.offsets[i] as number;
      chunk.set((this.sources[i] as Uint8Array).subarray(from, from + size), used);
      this.sources[i] = chunk;
      this.offsets[i] = used;
      used += size;
      left -= size;
    }
    if (chunk !== undefined) this.chunkEnds[this.slot(n - 1)] = 1;
    this.unstaged = this.size - n;
    return n;
  }
}
