// A slot for each request that is not answered yet. All slots of all connections lie in the same typed arrays and are
// chained, so a request costs no object, an idle connection costs no slot, and what completes a request later (a barrier,
// a read of the disk) needs only the slot's number. It knows neither bytes nor sockets.
//
// A slot belongs to a session from `add` to `release`. When its connection goes away while something is still under way for
// it, it is orphaned: the outcome finds that nobody waits and frees it. A number is therefore never reused too early.

import { Timed } from "../broker/counters.js";
import type { Topic } from "../broker/topic.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { invariant } from "../model/invariant.js";
import type { KeptFetches } from "./kept-fetches.js";
import { withKind } from "./latency-runs.js";
import { NO_SLOT, type Session } from "./session.js";

export const SlotState = {
  FREE: 0,
  /** PRODUCE: the log has the batch. */
  PENDING: 1,
  /** PRODUCE: `base` and `end` are known. */
  PRODUCED: 2,
  /** Any request: `error` is known. */
  FAILED: 3,
  /** FETCH: planned when it is the connection's next, so that nothing is held for it meanwhile. */
  FETCH: 4,
  /** A request that is the next, and waits for the disk. Afterwards it is again what it was. */
  LOADING: 5,
  METADATA: 6,
  HELLO: 7,
  /** FETCH of several partitions: as FETCH. */
  MULTI_FETCH: 8,
  /** FETCH of either kind that is the next, and waits for records. Afterwards it is again what it was. */
  WAITING: 9,
  /** LIST_OFFSETS: looked up when it is the connection's next. */
  LIST_OFFSETS: 10,
  /** LIST_OFFSETS: `base` and `end`, its offset and its time, are known. */
  LISTED: 11,
} as const;
export type SlotState = (typeof SlotState)[keyof typeof SlotState];

const ORPHAN = -1;
const INITIAL_SLOTS = 1024;
/** What a slot takes in the columns below. */
export const SLOT_BYTES = 4 + 6 * 4 + 4 * 8;

export class ReplySlots {
  state = new Uint8Array(INITIAL_SLOTS);
  error = new Uint8Array(INITIAL_SLOTS);
  connection = new Int32Array(INITIAL_SLOTS);
  correlation = new Int32Array(INITIAL_SLOTS);
  /** Behind it in its session's list, or in the list of free slots. */
  next = new Int32Array(INITIAL_SLOTS);
  /** PRODUCED: the batch's first offset. FETCH: the offset asked for. LIST_OFFSETS: the time asked for. */
  base = new Float64Array(INITIAL_SLOTS);
  /** PRODUCED: the log's end. */
  end = new Float64Array(INITIAL_SLOTS);
  /** FETCH, LIST_OFFSETS: the partition's place in the catalog. METADATA: the version of the request. */
  target = new Int32Array(INITIAL_SLOTS);
  /** FETCH: the most bytes to answer, and how many of them are worth waiting for. */
  maxBytes = new Int32Array(INITIAL_SLOTS);
  minBytes = new Int32Array(INITIAL_SLOTS);
  /** FETCH, MULTI_FETCH: until when it may wait; 0: it does not, or not any more. */
  deadline = new Float64Array(INITIAL_SLOTS);
  /** LOADING, WAITING: the state before. MULTI_FETCH in any state: itself, so that what was kept for it is found. */
  before = new Uint8Array(INITIAL_SLOTS);
  /** How often the disk was read for it, 255 at most. */
  loads = new Uint8Array(INITIAL_SLOTS);
  /** When it arrived, and how its time counts: see latency-runs.ts. */
  stamp = new Float64Array(INITIAL_SLOTS);
  /** Of the turn whose requests are taken now, without a kind: one reading of the clock for all of them. */
  turnStamp = 0;
  /** METADATA: the topics that were asked for. Rare, so it is no column. */
  readonly asked = new Map<number, readonly Topic[]>();
  /** MULTI_FETCH: what was asked. */
  readonly kept: KeptFetches;
  /** Requests that somebody else will settle: a writer, a read of the disk. */
  underWay = 0;
  /** What of `heldBytes` fetches take that wait for records. */
  waitingBytes = 0;
  private used = 0;
  private free = 0;

  constructor(kept: KeptFetches) {
    this.kept = kept;
    this.chainFree(0);
  }

  /** Memory of slots in use. It counts as queued, or ten thousand connections that only ask could hold what they like. */
  get heldBytes(): number {
    return this.used * SLOT_BYTES + this.kept.bytes;
  }

  /** A slot behind the session's last one. */
  add(session: Session, correlation: number, state: SlotState, timed: Timed = Timed.NOT): number {
    if (this.free === NO_SLOT) this.grow();
    const slot = this.free;
    this.free = this.next[slot];
    this.used++;
    if (state === SlotState.PENDING) this.underWay++;
    this.state[slot] = state;
    this.stamp[slot] = this.turnStamp + timed;
    this.connection[slot] = session.connection;
    this.correlation[slot] = correlation;
    this.next[slot] = NO_SLOT;
    if (session.last === NO_SLOT) session.first = slot;
    else this.next[session.last] = slot;
    session.last = slot;
    return slot;
  }

  addFailed(session: Session, correlation: number, error: ErrorCode): void {
    this.error[this.add(session, correlation, SlotState.FAILED)] = error;
  }

  /** A fetch of several partitions, with the bytes in which it came. */
  addMultiFetch(session: Session, correlation: number, request: Uint8Array, partitions: number): number {
    const slot = this.add(session, correlation, SlotState.MULTI_FETCH, Timed.FETCH);
    this.before[slot] = SlotState.MULTI_FETCH;
    this.kept.keep(slot, session, request, partitions);
    return slot;
  }

  /** How a PRODUCE ended. Answers the connection that waits for it, or a negative number when it is gone. */
  settle(slot: number, error: ErrorCode, baseOffset: number, logEndOffset: number): number {
    invariant(this.state[slot] === SlotState.PENDING, "a batch is settled once");
    this.underWay--;
    const connection = this.connection[slot];
    if (connection === ORPHAN) {
      this.release(slot);
    } else if (error === ErrorCodes.NONE) {
      this.state[slot] = SlotState.PRODUCED;
      this.base[slot] = baseOffset;
      this.end[slot] = logEndOffset;
    } else {
      this.state[slot] = SlotState.FAILED;
      this.error[slot] = error;
    }
    return connection;
  }

  /** A request waits for a read of the disk. */
  load(slot: number): void {
    this.before[slot] = this.state[slot];
    this.state[slot] = SlotState.LOADING;
    if (this.loads[slot] < 255) this.loads[slot]++;
    this.underWay++;
  }

  /** The disk was read for a request: it is planned again, or has failed. Answers as {@link settle} does. */
  loaded(slot: number, error: ErrorCode): number {
    invariant(this.state[slot] === SlotState.LOADING, "a request is read in once at a time");
    this.underWay--;
    const connection = this.connection[slot];
    if (connection === ORPHAN) {
      this.release(slot);
    } else if (error === ErrorCodes.NONE) {
      this.state[slot] = this.before[slot];
    } else {
      this.state[slot] = SlotState.FAILED;
      this.error[slot] = error;
    }
    return connection;
  }

  /** A LIST_OFFSETS that was looked up on the disk. Answers as {@link settle} does. */
  listed(slot: number, offset: number, timestampMs: number): number {
    const connection = this.loaded(slot, ErrorCodes.NONE);
    if (connection !== ORPHAN) {
      this.state[slot] = SlotState.LISTED;
      this.base[slot] = offset;
      this.end[slot] = timestampMs;
    }
    return connection;
  }

  /** A FETCH waits for records. */
  park(slot: number): void {
    this.before[slot] = this.state[slot];
    this.state[slot] = SlotState.WAITING;
    this.waitingBytes += this.bytesOf(slot);
    this.stamp[slot] = withKind(this.stamp[slot], Timed.FETCH_WAITED);
  }

  /** Its wait is over, however it ended: it is planned again, and waits no more. Answers its connection. */
  woken(slot: number): number {
    invariant(this.state[slot] === SlotState.WAITING, "a wait ends once");
    this.waitingBytes -= this.bytesOf(slot);
    this.state[slot] = this.before[slot];
    this.deadline[slot] = 0;
    return this.connection[slot];
  }

  /** Frees a slot that was answered. Its session's list must not name it any more. */
  release(slot: number): void {
    if (this.before[slot] === SlotState.MULTI_FETCH) this.kept.drop(slot);
    this.before[slot] = SlotState.FREE;
    this.loads[slot] = 0;
    this.state[slot] = SlotState.FREE;
    this.next[slot] = this.free;
    this.free = slot;
    this.used--;
  }

  /** The session's connection is gone. */
  abandon(session: Session): void {
    let slot = session.first;
    while (slot !== NO_SLOT) {
      const next = this.next[slot];
      if (this.state[slot] === SlotState.PENDING || this.state[slot] === SlotState.LOADING) {
        this.connection[slot] = ORPHAN;
      } else {
        if (this.state[slot] === SlotState.WAITING) this.waitingBytes -= this.bytesOf(slot);
        this.asked.delete(slot);
        this.release(slot);
      }
      slot = next;
    }
    session.first = NO_SLOT;
    session.last = NO_SLOT;
  }

  private bytesOf(slot: number): number {
    return SLOT_BYTES + (this.before[slot] === SlotState.MULTI_FETCH ? (this.kept.get(slot)?.cost ?? 0) : 0);
  }

  private chainFree(from: number): void {
    for (let slot = from; slot < this.next.length; slot++) this.next[slot] = slot + 1;
    this.next[this.next.length - 1] = NO_SLOT;
    this.free = from;
  }

  private grow(): void {
    const from = this.next.length;
    const larger = <A extends Uint8Array | Int32Array | Float64Array>(make: new (length: number) => A, old: A): A => {
      const grown = new make(from * 2);
      grown.set(old);
      return grown;
    };
    this.state = larger(Uint8Array, this.state);
    this.error = larger(Uint8Array, this.error);
    this.connection = larger(Int32Array, this.connection);
    this.correlation = larger(Int32Array, this.correlation);
    this.next = larger(Int32Array, this.next);
    this.base = larger(Float64Array, this.base);
    this.end = larger(Float64Array, this.end);
    this.target = larger(Int32Array, this.target);
    this.maxBytes = larger(Int32Array, this.maxBytes);
    this.minBytes = larger(Int32Array, this.minBytes);
    this.deadline = larger(Float64Array, this.deadline);
    this.before = larger(Uint8Array, this.before);
    this.loads = larger(Uint8Array, this.loads);
    this.stamp = larger(Float64Array, this.stamp);
    this.chainFree(from);
  }
}
