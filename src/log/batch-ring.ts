// Batches in the order they came: a ring of columns. An object for each batch would be the largest cost of a small one, so
// there is none. Knows nothing of what is done with a batch.
//
//   head ──► staged (the bytes are in our memory) ──► unstaged (the bytes are in the caller's) ──► tail

import type { AckPolicy } from "../model/ack-policy.js";
import { MAILBOX_ENTRIES_FIRST, MAILBOX_ENTRIES_MAX } from "../model/limits.js";
import type { AppendListener } from "./append-listener.js";

export class BatchRing {
  sources: (Uint8Array | undefined)[];
  listeners: (AppendListener | undefined)[];
  /** Where the record region begins in its source, its bytes, its records. */
  offsets: Int32Array;
  sizes: Int32Array;
  records: Int32Array;
  acks: Uint8Array;
  /** The base offset that the producer insists on, or −1. */
  expected: Float64Array;
  tokens: Float64Array;
  /** 1: the last entry of a staging chunk, which is given back when this entry goes. */
  chunkEnds: Uint8Array;

  /** Entries waiting. */
  size = 0;
  /** Bytes of record regions waiting. */
  bytes = 0;
  /** How many of the last entries still lie in memory that the caller owns. */
  unstaged = 0;
  /** Entries that ever left by `shift`. */
  gone = 0;
  #head = 0;
  #mask: number;

  constructor() {
    const capacity = MAILBOX_ENTRIES_FIRST;
    this.#mask = capacity - 1;
    this.sources = new Array<Uint8Array | undefined>(capacity).fill(undefined);
    this.listeners = new Array<AppendListener | undefined>(capacity).fill(undefined);
    this.offsets = new Int32Array(capacity);
    this.sizes = new Int32Array(capacity);
    this.records = new Int32Array(capacity);
    this.acks = new Uint8Array(capacity);
    this.expected = new Float64Array(capacity);
    this.tokens = new Float64Array(capacity);
    this.chunkEnds = new Uint8Array(capacity);
  }

  /** What `gone` will be when all that wait now have left by `shift`. */
  get came(): number {
    return this.gone + this.size;
  }

  get full(): boolean {
    return this.size === MAILBOX_ENTRIES_MAX;
  }

  /** The columns' index of the n-th waiting entry. */
  slot(n: number): number {
    return (this.#head + n) & this.#mask;
  }

  /** Not when `full`. */
  push(
    source: Uint8Array,
    offset: number,
    bytes: number,
    records: number,
    ack: AckPolicy,
    expected: number,
    listener: AppendListener,
    token: number,
  ): void {
    if (this.size > this.#mask) this.#resize((this.#mask + 1) * 2);
    const i = (this.#head + this.size) & this.#mask;
    this.sources[i] = source;
    this.listeners[i] = listener;
    this.offsets[i] = offset;
    this.sizes[i] = bytes;
    this.records[i] = records;
    this.acks[i] = ack;
    this.expected[i] = expected;
    this.tokens[i] = token;
    this.chunkEnds[i] = 0;
    this.size++;
    this.bytes += bytes;
    this.unstaged++;
  }

  /** Drops the oldest entry; its columns stay readable at `slot` until the next push. */
  shift(): void {
    const i = this.#head;
    this.bytes -= this.sizes[i] as number;
    this.sources[i] = undefined;
    this.listeners[i] = undefined;
    this.#head = (i + 1) & this.#mask;
    this.size--;
    this.gone++;
    if (this.unstaged > this.size) this.unstaged = this.size;
  }

  /** Drops the newest entry, which must be unstaged. */
  pop(): void {
    const i = (this.#head + this.size - 1) & this.#mask;
    this.bytes -= this.sizes[i] as number;
    this.sources[i] = undefined;
    this.listeners[i] = undefined;
    this.size--;
    this.unstaged--;
  }

  /** Gives back what a burst made this ring grow to. Called when the partition has been quiet. */
  trim(): void {
    if (this.size === 0 && this.#mask >= MAILBOX_ENTRIES_FIRST) this.#resize(MAILBOX_ENTRIES_FIRST);
  }

  #resize(capacity: number): void {
    const slots = new Int32Array(this.size);
    for (let n = 0; n < this.size; n++) slots[n] = this.slot(n);
    const objects = <T>(from: (T | undefined)[]): (T | undefined)[] => {
      const to = new Array<T | undefined>(capacity).fill(undefined);
      for (let n = 0; n < slots.length; n++) to[n] = from[slots[n] as number];
      return to;
    };
    const numbers = <T extends Int32Array | Uint8Array | Float64Array>(from: T, to: T): T => {
      for (let n = 0; n < slots.length; n++) to[n] = from[slots[n] as number] as number;
      return to;
    };
    this.sources = objects(this.sources);
    this.listeners = objects(this.listeners);
    this.offsets = numbers(this.offsets, new Int32Array(capacity));
    this.sizes = numbers(this.sizes, new Int32Array(capacity));
    this.records = numbers(this.records, new Int32Array(capacity));
    this.acks = numbers(this.acks, new Uint8Array(capacity));
    this.expected = numbers(this.expected, new Float64Array(capacity));
    this.tokens = numbers(this.tokens, new Float64Array(capacity));
    this.chunkEnds = numbers(this.chunkEnds, new Uint8Array(capacity));
    this.#head = 0;
    this.#mask = capacity - 1;
  }
}
