// Offset indexes of sealed segments in memory, bounded by bytes for all partitions together: memory must not grow with the
// bytes stored. It only decides who stays; who owns an index also loads it.
//
// Least recently used, by a tick that every lookup stamps on the holder: a lookup is a field read and a field write. A list
// that is re-linked, or a Map that is re-inserted, on each lookup was turned down: lookups are for each fetch, evictions for
// each half megabyte loaded, so the evictions may search.

import type { OffsetIndex } from "./offset-index.js";

export interface IndexHolder {
  /** Undefined when it is not in memory. */
  index: OffsetIndex | undefined;
  indexTick: number;
}

/** What a holder's place in the cache costs beside the entries. */
const HOLDER_BYTES = 256;

const cost = (index: OffsetIndex): number => index.bytes + HOLDER_BYTES;

export class IndexCache {
  readonly #holders = new Set<IndexHolder>();
  #bytes = 0;
  #tick = 0;

  constructor(readonly maxBytes: number) {}

  get bytes(): number {
    return this.#bytes;
  }
  get size(): number {
    return this.#holders.size;
  }

  /** The holder's index was used. */
  touch(holder: IndexHolder): void {
    holder.indexTick = ++this.#tick;
  }

  /** Takes a holder in with the index it has. The newest always stays, however large: its reader is waiting for it. */
  admit(holder: IndexHolder, index: OffsetIndex): void {
    this.forget(holder);
    holder.index = index;
    this.touch(holder);
    this.#holders.add(holder);
    this.#bytes += cost(index);
    while (this.#bytes > this.maxBytes && this.#holders.size > 1) this.#evictOldest();
  }

  /** Drops the holder's index. A holder that was never admitted is left alone: its index is not the cache's. */
  forget(holder: IndexHolder): void {
    if (!this.#holders.delete(holder) || holder.index === undefined) return;
    this.#bytes -= cost(holder.index);
    holder.index = undefined;
  }

  #evictOldest(): void {
    let oldest: IndexHolder | undefined;
    for (const holder of this.#holders) {
      if (oldest === undefined || holder.indexTick < oldest.indexTick) oldest = holder;
    }
    if (oldest !== undefined) this.forget(oldest);
  }
}
