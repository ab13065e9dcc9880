// Batches that are written and wait for a barrier: first in, first out, by the log's end after each. Columns, as the
// mailbox has them and for the same reason. Knows nothing of barriers.

import { WAITERS_FIRST } from "../model/limits.js";
import type { AppendListener } from "./append-listener.js";

export class WaiterQueue {
  #listeners: (AppendListener | undefined)[] = new Array<AppendListener | undefined>(WAITERS_FIRST).fill(undefined);
  #tokens = new Float64Array(WAITERS_FIRST);
  #bases = new Float64Array(WAITERS_FIRST);
  #ends = new Float64Array(WAITERS_FIRST);
  #head = 0;
  #size = 0;
  #mask = WAITERS_FIRST - 1;

  get size(): number {
    return this.#size;
  }

  /** The end that the oldest waits for. Only when there is one. */
  get firstEnd(): number {
    return this.#ends[this.#head] as number;
  }
  get firstListener(): AppendListener {
    return this.#listeners[this.#head] as AppendListener;
  }
  get firstToken(): number {
    return this.#tokens[this.#head] as number;
  }
  get firstBase(): number {
    return this.#bases[this.#head] as number;
  }

  /** `end` never goes down from one call to the next. */
  push(listener: AppendListener, token: number, base: number, end: number): void {
    if (this.#size > this.#mask) this.#resize((this.#mask + 1) * 2);
    const i = (this.#head + this.#size) & this.#mask;
    this.#listeners[i] = listener;
    this.#tokens[i] = token;
    this.#bases[i] = base;
    this.#ends[i] = end;
    this.#size++;
  }

  shift(): void {
    this.#listeners[this.#head] = undefined;
    this.#head = (this.#head + 1) & this.#mask;
    this.#size--;
  }

  /** Gives back what a burst made this ring grow to. */
  trim(): void {
    if (this.#size === 0 && this.#mask >= WAITERS_FIRST) this.#resize(WAITERS_FIRST);
  }

  #resize(capacity: number): void {
    const listeners = new Array<AppendListener | undefined>(capacity).fill(undefined);
    const tokens = new Float64Array(capacity);
    const bases = new Float64Array(capacity);
    const ends = new Float64Array(capacity);
    for (let n = 0; n < this.#size; n++) {
      const i = (this.#head + n) & this.#mask;
      listeners[n] = this.#listeners[i];
      tokens[n] = this.#tokens[i] as number;
      bases[n] = this.#bases[i] as number;
      ends[n] = this.#ends[i] as number;
    }
    this.#listeners = listeners;
    this.#tokens = tokens;
    this.#bases = bases;
    this.#ends = ends;
    this.#head = 0;
    this.#mask = capacity - 1;
  }
}
