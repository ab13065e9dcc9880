// Where fetches wait until what they ask for is there. Each partition knows who waits for it, ordered by how far its log
// must have grown before that fetch's condition can hold, so a publish looks at those whose condition may hold now and not at
// all there are. Exactly one of publish, deadline, cancelling and shutdown ends a wait. No I/O, and no clock of its own.
//
// A fetch over several partitions lacks g bytes in all. As long as none of its k partitions has grown by g/k, the condition
// cannot hold; so it waits in each for that much, and is looked at (and its shares counted anew) when one of them gets there.
// (The slack of distributed threshold monitoring: Keralapura, Cormode, Ramamirtham, SIGMOD 2006.)

import type { Timers } from "../../model/clock.js";
import { invariant } from "../../model/invariant.js";
import type { Isolation } from "./isolation.js";
import { TimingWheel } from "./timing-wheel.js";
import { WaitHeap } from "./wait-heap.js";
import { type WaitingFetch, type WaitPart, WaitState } from "./waiting-fetch.js";

/** What the purgatory sees of a partition for one reader. Filled by {@link Partitions.view}. */
export class PartView {
  /** It is answered now, whatever it waits for: an error, or an older segment with something in it. */
  final = false;
  /** Records that may be read. */
  records = 0;
  /** Up to where one may read, in bytes of the log; only ever grows. */
  end = 0;
}

/** The partitions, as far as waiting goes. */
export interface Partitions {
  /** How a part stands now. `part.start` is known. No I/O. */
  view(part: WaitPart, view: PartView): void;
  /** {@link PartView.end} of a partition for readers of an isolation. */
  end(partition: number, isolation: Isolation): number;
  /** The fewest bytes that a record of this partition takes. */
  recordBytesMin(partition: number): number;
}

export interface PurgatoryOptions {
  readonly partitions: Partitions;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  readonly timers: Timers;
  /** A wait is over: called once for each fetch that `park` took, unless it was cancelled. May park and cancel others. */
  readonly completed: (fetch: WaitingFetch) => void;
}

const keyOf = (partition: number, isolation: Isolation): number => partition * 2 + isolation;

export class Purgatory {
  /** Fetches that were parked, that expired, and that something else ended, since the start. */
  parkedTotal = 0;
  expiredTotal = 0;
  wokenTotal = 0;
  readonly #options: PurgatoryOptions;
  readonly #wheel: TimingWheel<WaitingFetch>;
  /** By partition and isolation. Kept when empty: there are no more than partitions. */
  readonly #heaps = new Map<number, WaitHeap<WaitPart>>();
  readonly #view = new PartView();
  /** Fetches that may still be looked at before others than the purgatory get their chance. */
  #looks = Number.POSITIVE_INFINITY;
  /** Keys of the heaps in which conditions may hold that nobody has looked at. */
  readonly #grown = new Set<number>();
  /** Taken out of their heaps, to be looked at whatever they want. */
  readonly #doubtful: WaitPart[] = [];
  #released = false;
  #disarm: (() => void) | undefined;
  #armedFor = Number.POSITIVE_INFINITY;
  readonly #expire = (fetch: WaitingFetch): void => {
    fetch.timedOut = true;
    this.expiredTotal++;
    this.#end(fetch);
  };

  constructor(options: PurgatoryOptions) {
    this.#options = options;
    this.#wheel = new TimingWheel(options.now());
  }

  get waiting(): number {
    return this.#wheel.size;
  }

  /**
   * Takes a fetch in, or answers false: it is to be answered now, because its condition holds, something in it is final, its
   * deadline is over (then `timedOut`), or nobody may wait any more. The caller has set `start` of each part, in the same
   * step of the event loop, so that no record can come between the look and the wait.
   */
  park(fetch: WaitingFetch): boolean {
    invariant(fetch.state === WaitState.NEW, "a fetch is parked once");
    const lacking = this.#lacking(fetch);
    const now = this.#options.now();
    if (lacking > 0 && fetch.deadlineMs > now && !this.#released) {
      fetch.state = WaitState.PARKED;
      fetch.parked = true;
      this.parkedTotal++;
      this.#enter(fetch, lacking);
      this.#wheel.catchUp(now);
      this.#wheel.insert(fetch, fetch.deadlineMs);
      this.#arm();
      return true;
    }
    fetch.state = WaitState.DONE;
    fetch.timedOut = lacking > 0 && fetch.deadlineMs <= now;
    return false;
  }

  /** A partition's log or its durable part has grown. */
  published(partition: number): void {
    for (const isolation of [0, 1] as const)
      if (this.#mayHold(partition, isolation)) this.#grown.add(keyOf(partition, isolation));
    this.#work();
  }

  /** Something else may have changed what is final: a roll, retention, a poisoned log. Everybody who waits there is looked at. */
  recheck(partition: number): void {
    for (const isolation of [0, 1] as const) {
      const heap = this.#heaps.get(keyOf(partition, isolation));
      if (heap !== undefined) for (const part of heap.takeAll()) this.#doubtful.push(part);
    }
    this.#work();
  }

  /**
   * From now on looks at no more than `looks` fetches, beginning with what was left over before; `hasMore` says whether
   * something is left again. For an event loop that calls this once in each of its turns. Never called: no bound.
   */
  proceed(looks: number): void {
    this.#looks = looks;
    this.#work();
  }

  get hasMore(): boolean {
    return this.#grown.size > 0 || this.#doubtful.length > 0;
  }

  /** Nobody waits for the answer any more. Not completed, and harmless when it has been. */
  cancel(fetch: WaitingFetch): void {
    if (fetch.state !== WaitState.PARKED) return;
    this.#leave(fetch);
    this.#wheel.cancel(fetch);
    fetch.state = WaitState.DONE;
  }

  /** Ends a wait: it is answered with what there is. Harmless when it has ended. */
  release(fetch: WaitingFetch): void {
    if (fetch.state === WaitState.PARKED) this.#wake(fetch);
  }

  /** Ends every wait: each is answered with what there is. From here on nobody is taken in any more. */
  releaseAll(): void {
    this.#released = true;
    const all = new Set<WaitingFetch>();
    for (const heap of this.#heaps.values()) {
      for (let part = heap.first(); part !== undefined; part = heap.first()) {
        heap.remove(part);
        all.add(part.fetch);
      }
    }
    for (const part of this.#doubtful.splice(0)) all.add(part.fetch);
    this.#grown.clear();
    for (const fetch of all) if (fetch.state === WaitState.PARKED) this.#wake(fetch);
    this.#disarm?.();
    this.#disarm = undefined;
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  /** The first one whose condition may hold now that the partition has grown, or undefined. */
  #mayHold(partition: number, isolation: Isolation): WaitPart | undefined {
    const first = this.#heaps.get(keyOf(partition, isolation))?.first();
    if (first === undefined) return undefined;
    return first.wanted <= this.#options.partitions.end(partition, isolation) ? first : undefined;
  }

  #work(): void {
    for (let part = this.#nextToLookAt(); part !== undefined; part = this.#nextToLookAt()) {
      this.#looks--;
      this.#look(part.fetch);
    }
  }

  #nextToLookAt(): WaitPart | undefined {
    if (this.#looks <= 0) return undefined;
    for (let part = this.#doubtful.pop(); part !== undefined; part = this.#doubtful.pop()) {
      // Otherwise its wait has ended, or it has been looked at for the sake of another part of its fetch.
      if (part.fetch.state === WaitState.PARKED && part.place < 0) return part;
    }
    for (const key of this.#grown) {
      const part = this.#mayHold(key >> 1, (key & 1) as Isolation);
      if (part !== undefined) return part;
      this.#grown.delete(key);
    }
    return undefined;
  }

  /** Wakes the fetch, or counts its shares anew. */
  #look(fetch: WaitingFetch): void {
    const lacking = this.#lacking(fetch);
    if (lacking > 0) {
      this.#leave(fetch);
      this.#enter(fetch, lacking);
    } else {
      this.#wake(fetch);
    }
  }

  #wake(fetch: WaitingFetch): void {
    this.#wheel.cancel(fetch);
    this.wokenTotal++;
    this.#end(fetch);
  }

  #end(fetch: WaitingFetch): void {
    invariant(fetch.state === WaitState.PARKED, "a wait ends once");
    this.#leave(fetch);
    fetch.state = WaitState.DONE;
    this.#options.completed(fetch);
  }

  /**
   * How many bytes the partitions must grow by, in all, before this fetch's condition can hold; not above 0: it holds, or
   * something in it is final. For records it is what as many of the smallest would take: too little rather than too much,
   * because too little means one more look, and too much a late answer.
   */
  #lacking(fetch: WaitingFetch): number {
    const { partitions } = this.#options;
    const view = this.#view;
    let bytes = 0;
    let records = 0;
    let recordBytes = Number.POSITIVE_INFINITY;
    for (const part of fetch.parts) {
      partitions.view(part, view);
      const readable = Math.max(0, view.end - part.start);
      if (view.final || readable >= part.maxBytes) return 0;
      bytes += readable;
      records += view.records;
      recordBytes = Math.min(recordBytes, partitions.recordBytesMin(part.partition));
    }
    const forBytes = Math.max(1, fetch.minBytes) - bytes;
    const forRecords = (Math.max(1, fetch.minRecords) - records) * recordBytes;
    return Math.min(Math.max(forBytes, forRecords), fetch.maxBytes - bytes);
  }

  #enter(fetch: WaitingFetch, lacking: number): void {
    const { partitions } = this.#options;
    const share = Math.ceil(lacking / fetch.parts.length);
    for (const part of fetch.parts) {
      const end = partitions.end(part.partition, part.isolation);
      // Beyond the ceiling (written, not yet readable) only what comes behind its own offset counts.
      const from = Math.max(end, part.start);
      part.wanted = Math.min(from + share, part.start + part.maxBytes);
      this.#heap(part).add(part);
    }
  }

  #leave(fetch: WaitingFetch): void {
    for (const part of fetch.parts) if (part.place >= 0) this.#heap(part).remove(part);
  }

  #heap(part: WaitPart): WaitHeap<WaitPart> {
    const key = keyOf(part.partition, part.isolation);
    let heap = this.#heaps.get(key);
    if (heap === undefined) {
      heap = new WaitHeap();
      this.#heaps.set(key, heap);
    }
    return heap;
  }

  /** One timer for all deadlines, and none while nobody waits. */
  #arm(): void {
    const due = this.#wheel.nextDue();
    if (due === undefined || due >= this.#armedFor) return;
    this.#disarm?.();
    this.#armedFor = due;
    this.#disarm = this.#options.timers.after(Math.max(0, due - this.#options.now()), () => {
      this.#disarm = undefined;
      this.#armedFor = Number.POSITIVE_INFINITY;
      this.#wheel.advance(this.#options.now(), this.#expire);
      this.#arm();
    });
  }
}
