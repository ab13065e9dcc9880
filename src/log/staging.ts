// Memory for batches that could not be written in the turn they came in. The caller's arena is overwritten by the next
// turn, so they are copied, into chunks that are used again: under steady overload this is a busy path, and fresh memory
// would cost page faults on every turn. Counts what it has given out by whole chunks, because that is what is really held.

import { STAGING_CHUNK_BYTES, STAGING_POOL_BYTES } from "../model/limits.js";

export class Staging {
  #queuedBytes = 0;
  readonly #free: Uint8Array[] = [];

  constructor(readonly maxBytes: number) {}

  /** Bytes given out and not released. Never above `maxBytes`. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /**
   * A chunk that holds at least `first` bytes and as much of `all` as fits one, or undefined when the bound would be
   * passed. A pass that needs little gets exactly that: a thousand partitions with one small batch each must not hold a
   * thousand whole chunks.
   */
  take(first: number, all: number): Uint8Array | undefined {
    const pooled = first <= STAGING_CHUNK_BYTES && all > STAGING_CHUNK_BYTES / 2;
    const bytes = pooled ? STAGING_CHUNK_BYTES : Math.max(first, Math.min(all, STAGING_CHUNK_BYTES));
    if (this.#queuedBytes + bytes > this.maxBytes) {
      // Near the bound an exact chunk may still fit where a pooled one does not.
      if (this.#queuedBytes + first > this.maxBytes) return undefined;
      this.#queuedBytes += first;
      return new Uint8Array(first);
    }
    this.#queuedBytes += bytes;
    return (pooled ? this.#free.pop() : undefined) ?? new Uint8Array(bytes);
  }

  /** `reuse` is false when a worker may still be reading it. */
  release(chunk: Uint8Array, reuse: boolean): void {
    this.#queuedBytes -= chunk.length;
    if (!reuse || chunk.length !== STAGING_CHUNK_BYTES) return;
    if (this.#free.length < STAGING_POOL_BYTES / STAGING_CHUNK_BYTES) this.#free.push(chunk);
  }
}
