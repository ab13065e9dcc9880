// flush.every.records and flush.every.ms: how much that was only WRITTEN a power cut may take. They ask for barriers and
// promise nothing to a producer. Time is passed in; no clock is read, because a timer that was armed at the first record
// after the last look bounds the age of every record by the interval and the barrier that follows.

import type { Timers } from "../model/clock.js";

export interface FlushBounds {
  /** Records written since the last barrier began, at which one is asked for. */
  readonly everyRecords?: number;
  /** Milliseconds after which a written record is forced. */
  readonly everyMs?: number;
}

export class FlushPolicy {
  readonly #everyRecords: number;
  readonly #everyMs: number;
  readonly #timers: Timers;
  readonly #due: () => void;
  #records = 0;
  #cancel: (() => void) | undefined;

  /** `due` is called by the timer, outside any run. */
  constructor(bounds: FlushBounds, timers: Timers, due: () => void) {
    this.#everyRecords = bounds.everyRecords ?? 0;
    this.#everyMs = bounds.everyMs ?? 0;
    this.#timers = timers;
    this.#due = due;
  }

  /** So many records were published. True when the caller is to ask for a barrier. */
  published(records: number): boolean {
    if (this.#everyMs > 0 && this.#cancel === undefined) {
      this.#cancel = this.#timers.after(this.#everyMs, () => {
        this.#cancel = undefined;
        this.#due();
      });
    }
    if (this.#everyRecords === 0) return false;
    this.#records += records;
    return this.#records >= this.#everyRecords;
  }

  /** A barrier begins that covers all that was published. */
  barrierStarted(): void {
    this.#records = 0;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
