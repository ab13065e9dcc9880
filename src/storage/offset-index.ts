// The sparse index of one segment: (offset, position, append time) about every `index.interval.bytes` of log, ascending in
// all three. It grows for the active segment and is a view of a loaded `.index` file for a sealed one; the same class, so
// that the lookup stays monomorphic. It must not know files.
//
// Offsets are kept relative to the segment's base: a segment of 1 GiB holds fewer than 2^32 records, and three plain typed
// arrays of 16 bytes an entry load from a file as they lie.

import { invariant } from "../model/invariant.js";

/** The append time of an entry that a scan found: nobody knows when it was written. */
export const TIME_UNKNOWN = 0;

/** Entries an empty index has room for: a partition that gets a batch a day should not hold more. */
const ENTRIES_FIRST = 16;
/** Bytes of an entry in memory and on disk. */
export const INDEX_ENTRY_BYTES = 16;

export class OffsetIndex {
  #times: Float64Array;
  #offsets: Uint32Array;
  #positions: Uint32Array;
  #count: number;

  constructor(times: Float64Array, offsets: Uint32Array, positions: Uint32Array, count: number) {
    invariant(times.length === offsets.length && offsets.length === positions.length, "index columns have one length");
    this.#times = times;
    this.#offsets = offsets;
    this.#positions = positions;
    this.#count = count;
  }

  static empty(): OffsetIndex {
    return new OffsetIndex(
      new Float64Array(ENTRIES_FIRST),
      new Uint32Array(ENTRIES_FIRST),
      new Uint32Array(ENTRIES_FIRST),
      0,
    );
  }

  get count(): number {
    return this.#count;
  }
  /** Memory it holds. */
  get bytes(): number {
    return this.#times.length * INDEX_ENTRY_BYTES;
  }

  /** Appends an entry. Entries come ascending; one that would not be is a bug of its caller. */
  add(relativeOffset: number, position: number, timeMs: number): void {
    const at = this.#count;
    if (at === this.#times.length) this.#grow();
    invariant(at === 0 || this.#positions[at - 1] < position, "index positions ascend");
    this.#times[at] = timeMs;
    this.#offsets[at] = relativeOffset;
    this.#positions[at] = position;
    this.#count = at + 1;
  }

  relativeOffset(entry: number): number {
    return this.#offsets[entry];
  }
  position(entry: number): number {
    return this.#positions[entry];
  }
  time(entry: number): number {
    return this.#times[entry];
  }

  /** The last entry at or before an offset, or −1. */
  floor(relativeOffset: number): number {
    const offsets = this.#offsets;
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (offsets[middle] <= relativeOffset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Bytes from an entry (−1: the segment's start) to an offset before the next entry, were its records of one size. 0: nobody knows. */
  bytesAbout(entry: number, relativeOffset: number): number {
    const next = entry + 1;
    if (next >= this.#count) return 0;
    const known = entry < 0 ? 0 : this.#offsets[entry];
    const position = entry < 0 ? 0 : this.#positions[entry];
    const share = (relativeOffset - known) / (this.#offsets[next] - known);
    return Math.ceil(share * (this.#positions[next] - position));
  }

  /** The last entry whose time is below `ms`, or −1. Entries of unknown time are below every time: they come first. */
  lastBefore(ms: number): number {
    const times = this.#times;
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (times[middle] < ms) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The columns without the room behind them, for writing. */
  columns(): { readonly times: Float64Array; readonly offsets: Uint32Array; readonly positions: Uint32Array } {
    return {
      times: this.#times.subarray(0, this.#count),
      offsets: this.#offsets.subarray(0, this.#count),
      positions: this.#positions.subarray(0, this.#count),
    };
  }

  #grow(): void {
    const length = Math.max(ENTRIES_FIRST, this.#times.length * 2);
    const times = new Float64Array(length);
    const offsets = new Uint32Array(length);
    const positions = new Uint32Array(length);
    times.set(this.#times);
    offsets.set(this.#offsets);
    positions.set(this.#positions);
    this.#times = times;
    this.#offsets = offsets;
    this.#positions = positions;
  }
}

/** The index that a scan found: its pairs (record from `firstRecord` on, position), of unknown times. */
export function addScanned(index: OffsetIndex, pairs: Uint32Array, firstRecord: number): void {
  for (let at = 0; at < pairs.length; at += 2) index.add(firstRecord + pairs[at], pairs[at + 1], TIME_UNKNOWN);
}
