// A fetch that waits: an object and nothing else. It holds no segment, no buffer and no promise, and what it asked for is
// planned again when its wait is over. Who ends the wait is the purgatory's business.

import type { Isolation } from "./isolation.js";
import { Timed } from "./timing-wheel.js";
import type { HeapElement } from "./wait-heap.js";

export const WaitState = { NEW: 0, PARKED: 1, DONE: 2 } as const;
export type WaitState = (typeof WaitState)[keyof typeof WaitState];

/** One partition of a waiting fetch. */
export class WaitPart implements HeapElement {
  /** Where its offset lies, in the count of the partition's bytes that {@link PartView.end} goes by. */
  start = 0;
  wanted = 0;
  place = -1;

  constructor(
    readonly fetch: WaitingFetch,
    /** The partition's place in the catalog. */
    readonly partition: number,
    readonly isolation: Isolation,
    /** The epoch under which the reader got its position; −1: unknown. */
    readonly epoch: number,
    readonly offset: number,
    readonly maxBytes: number,
  ) {}
}

export class WaitingFetch extends Timed {
  parts: WaitPart[] = [];
  state: WaitState = WaitState.NEW;
  /** It did not get its answer at the first look. */
  parked = false;
  /** Its deadline passed. Another fact than having been parked. */
  timedOut = false;

  constructor(
    /** Says to the owner which request this is. */
    readonly token: number,
    /** Summed over the parts; 0 and 1 both mean anything. */
    readonly minBytes: number,
    readonly minRecords: number,
    /** For the whole answer. */
    readonly maxBytes: number,
    /** When the wait ends, on the purgatory's clock. Fixed before the first wait: wake-ups that bring too little do not move it. */
    readonly deadlineMs: number,
  ) {
    super();
  }
}
