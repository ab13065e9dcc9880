// Deadlines of everything that waits: insert, cancel and expire in constant time, however many there are. A hierarchical
// timing wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7): five levels of 32
// buckets; a bucket of level l covers 32^l ticks of one millisecond, and when its time comes what lies in it moves to finer
// levels. It holds no timer: `nextDue` says when `advance` should be called, so that one timer serves all of it and none
// runs while nothing waits. It must not know what waits.
//
// Where `advance` was last called, there the wheel stands: that may lie hours back when nothing waited. Deadlines are
// therefore never cut to what the wheel can reach. One that lies further is put into the bucket that comes last, and again
// when that one's time comes.

import { invariant } from "../../model/invariant.js";

const LEVELS = 5;
const BUCKETS = 32;
const LEVEL_BITS = 5;
/** Ticks that a bucket of each level covers. */
const SPAN = Array.from({ length: LEVELS }, (_, level) => BUCKETS ** level);
/** How far the buckets reach from where the wheel stands: a little over nine hours. */
const REACH = BUCKETS ** LEVELS - 1;
const NOWHERE = -1;

/** What can be put into a wheel; the fields are the wheel's. */
export abstract class Timed {
  /** The tick at which it expires. */
  due = 0;
  bucket = NOWHERE;
  nextTimed: Timed | undefined = undefined;
  previousTimed: Timed | undefined = undefined;
  get isTimed(): boolean {
    return this.bucket !== NOWHERE;
  }
}

export class TimingWheel<Entry extends Timed> {
  size = 0;
  /** The tick up to which everything has expired. */
  #now: number;
  #advancing = false;
  readonly #heads: (Timed | undefined)[] = new Array(LEVELS * BUCKETS).fill(undefined);
  /** A bit for each bucket that is not empty, one word for each level. */
  readonly #occupied = new Int32Array(LEVELS);

  /** `nowMs`: any clock in milliseconds that never goes back. */
  constructor(nowMs: number) {
    this.#now = Math.floor(nowMs);
  }

  /**
   * `dueMs` on the same clock. Never expires before it, and at the first `advance` whose millisecond is at or after it.
   * What is due already expires with the next millisecond.
   */
  insert(entry: Entry, dueMs: number): void {
    invariant(!entry.isTimed, "an entry is in the wheel once");
    entry.due = Math.max(Math.ceil(dueMs), this.#now + 1);
    this.#place(entry);
    this.size++;
  }

  cancel(entry: Entry): void {
    if (!entry.isTimed) return;
    this.#unlink(entry);
    this.size--;
  }

  /** When to call `advance` next, or undefined: nothing waits. At times earlier than the first deadline, never later. */
  nextDue(): number | undefined {
    const next = this.#nextStart();
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  /** Expires everything that is due at `nowMs`, in the order of deadlines. `expire` may insert and cancel. */
  advance(nowMs: number, expire: (entry: Entry) => void): void {
    const now = Math.floor(nowMs);
    invariant(!this.#advancing, "what expires does not advance the wheel");
    this.#advancing = true;
    for (let start = this.#nextStart(); start <= now; start = this.#nextStart()) {
      this.#now = start;
      // All buckets whose time comes now: from here on the wheel takes those of this place for those of the next turn.
      for (let level = 0; level < LEVELS; level++) {
        const turn = start / (SPAN[level] as number);
        if (Number.isInteger(turn)) this.#empty((level << LEVEL_BITS) + (turn % BUCKETS), expire);
      }
    }
    this.#advancing = false;
    this.#now = Math.max(this.#now, now);
  }

  /**
   * Brings a wheel in which nothing waits to the present. Left behind, it would take the next deadline for one that is far
   * away, and need a call of `advance` more to see that it is not.
   */
  catchUp(nowMs: number): void {
    if (this.size === 0 && !this.#advancing) this.#now = Math.max(this.#now, Math.floor(nowMs));
  }

  #empty(bucket: number, expire: (entry: Entry) => void): void {
    for (let entry = this.#heads[bucket]; entry !== undefined; entry = this.#heads[bucket]) {
      this.#unlink(entry);
      if (entry.due > this.#now) {
        this.#place(entry);
      } else {
        this.size--;
        expire(entry as Entry);
      }
    }
  }

  #place(entry: Timed): void {
    const wait = Math.min(entry.due - this.#now, REACH);
    let level = 0;
    while (wait >= (SPAN[level] as number) * BUCKETS) level++;
    const bucket = (level << LEVEL_BITS) + (Math.floor((this.#now + wait) / (SPAN[level] as number)) % BUCKETS);
    const head = this.#heads[bucket];
    entry.bucket = bucket;
    entry.previousTimed = undefined;
    entry.nextTimed = head;
    if (head !== undefined) head.previousTimed = entry;
    this.#heads[bucket] = entry;
    this.#occupied[level] |= 1 << (bucket & (BUCKETS - 1));
  }

  #unlink(entry: Timed): void {
    const { bucket, nextTimed, previousTimed } = entry;
    if (nextTimed !== undefined) nextTimed.previousTimed = previousTimed;
    if (previousTimed !== undefined) previousTimed.nextTimed = nextTimed;
    else {
      this.#heads[bucket] = nextTimed;
      if (nextTimed === undefined) this.#occupied[bucket >> LEVEL_BITS] &= ~(1 << (bucket & (BUCKETS - 1)));
    }
    entry.bucket = NOWHERE;
    entry.nextTimed = undefined;
    entry.previousTimed = undefined;
  }

  /** The tick at which the time of a bucket comes that is not empty; Infinity when all are. */
  #nextStart(): number {
    let first = Number.POSITIVE_INFINITY;
    for (let level = 0; level < LEVELS; level++) {
      const bits = this.#occupied[level] as number;
      if (bits === 0) continue;
      const span = SPAN[level] as number;
      const turn = Math.floor(this.#now / span);
      // How many buckets ahead the first one lies, round and round: the current one itself is a whole turn away.
      const current = turn % BUCKETS;
      const turned = current === BUCKETS - 1 ? bits : (bits >>> (current + 1)) | (bits << (BUCKETS - 1 - current));
      const ahead = 32 - Math.clz32(turned & -turned);
      first = Math.min(first, (turn + ahead) * span);
    }
    return first;
  }
}
