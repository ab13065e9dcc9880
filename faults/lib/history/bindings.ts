// What is known of each offset of one partition: which record it has, and how anybody came to know. From the first time on that an offset was
// acknowledged or seen, every later word about it must be the same.
//
// A loss of power (or a failed barrier) may take what was not forced: such offsets become loose. A loose offset may be gone, or
// get another record; the next word about it binds it again.

import { type RecordId, shownId } from "./payload.js";
import type { Violations } from "./violations.js";

export const How = {
  ACKNOWLEDGED: 1,
  /** A consumer saw it. */
  VISIBLE: 2,
} as const;

const LOOSE = 4;
/** No record is known. */
const UNKNOWN = -1;

export class Bindings {
  #ids = new Float64Array(1024).fill(UNKNOWN);
  #how = new Uint8Array(1024);
  /** Above the last offset of which anything is known. */
  #end = 0;
  /** Everything below is known to be forced. */
  #durable = 0;
  /** Between a loss of power and the next start nothing that is said counts but what was forced. */
  #shaky = false;

  constructor(
    readonly name: string,
    readonly violations: Violations,
  ) {}

  get end(): number {
    return this.#end;
  }

  get shaky(): boolean {
    return this.#shaky;
  }

  get durable(): number {
    return this.#durable;
  }

  bind(offset: number, id: RecordId, how: number): void {
    this.#grow(offset + 1);
    const known = this.#ids[offset];
    const loose = (this.#how[offset] & LOOSE) !== 0;
    if (known !== UNKNOWN && known !== id && !loose) {
      const text = `${this.name} offset ${offset} was ${shownId(known)} and is ${shownId(id)}`;
      this.violations.add("offset-reused", text);
    }
    const before = known === id && !loose ? this.#how[offset] : 0;
    this.#ids[offset] = id;
    this.#how[offset] = before | how | (this.#shaky && offset >= this.#durable ? LOOSE : 0);
    this.#end = Math.max(this.#end, offset + 1);
  }

  /** Everything below `offset` was forced: a barrier covers all that was written before. */
  forcedUpTo(offset: number): void {
    for (let at = this.#durable; at < Math.min(offset, this.#end); at++) this.#how[at] &= ~LOOSE;
    this.#durable = Math.max(this.#durable, offset);
  }

  loosen(): void {
    this.#shaky = true;
    for (let at = this.#durable; at < this.#end; at++) this.#how[at] |= LOOSE;
  }

  /** A broker has opened what is there: what it says now counts. */
  steady(): void {
    this.#shaky = false;
  }

  /** The record that must be at an offset, and how it is known; undefined when it may be anything, or nothing. */
  at(offset: number): { readonly id: RecordId; readonly acknowledged: boolean } | undefined {
    if (offset >= this.#end || this.#ids[offset] === UNKNOWN || (this.#how[offset] & LOOSE) !== 0) return undefined;
    return { id: this.#ids[offset], acknowledged: (this.#how[offset] & How.ACKNOWLEDGED) !== 0 };
  }

  #grow(length: number): void {
    if (length <= this.#ids.length) return;
    const size = Math.max(length, this.#ids.length * 2);
    const ids = new Float64Array(size).fill(UNKNOWN);
    ids.set(this.#ids);
    this.#ids = ids;
    const how = new Uint8Array(size);
    how.set(this.#how);
    this.#how = how;
  }
}
