// Looks after one partition while it is written to: roll by time, the window of populated pages, checkpoints, the next
// segment. A partition that is left alone is looked after a little longer (its window must close) and then costs nothing:
// ten thousand idle partitions with a timer each would be seen in an idle broker's CPU time.

import type { Timers } from "../model/clock.js";
import { UPKEEP_INTERVAL_MS, UPKEEP_QUIET_TICKS } from "../model/limits.js";

export interface UpkeepTarget {
  /** Moves with every roll. */
  readonly activeBaseOffset: number;
  upkeep(): Promise<void>;
}

export interface UpkeepEvents {
  /** Whether it may be done now: not while room is being made. */
  mayRun(): boolean;
  /** `quiet`: nothing has been written for a while. */
  done(quiet: boolean): void;
  failed(cause: unknown): void;
}

export class Upkeep {
  readonly #target: UpkeepTarget;
  readonly #timers: Timers;
  readonly #rollMs: number;
  readonly #on: UpkeepEvents;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #quietTicks = 0;
  #stopped = false;

  /** `rollMs`: a segment that is so old is rolled also when nothing comes any more; 0: never. */
  constructor(target: UpkeepTarget, timers: Timers, rollMs: number, on: UpkeepEvents) {
    this.#target = target;
    this.#timers = timers;
    this.#rollMs = rollMs;
    this.#on = on;
  }

  get busy(): boolean {
    return this.#running !== undefined;
  }

  /** Something was written. */
  touched(): void {
    if (this.#quietTicks >= UPKEEP_QUIET_TICKS) {
      this.#cancel?.();
      this.#cancel = undefined;
    }
    this.#quietTicks = 0;
    if (this.#cancel === undefined && this.#running === undefined) this.#arm(UPKEEP_INTERVAL_MS);
  }

  /** Does it now. One at a time: a call during one does nothing more. */
  now(): void {
    if (this.#running !== undefined || this.#stopped) return;
    if (!this.#on.mayRun()) {
      if (this.#cancel === undefined) this.#arm(UPKEEP_INTERVAL_MS);
      return;
    }
    this.#cancel?.();
    this.#cancel = undefined;
    const { activeBaseOffset } = this.#target;
    this.#running = this.#target.upkeep().then(
      () => this.#done(this.#target.activeBaseOffset !== activeBaseOffset),
      (cause: unknown) => {
        this.#running = undefined;
        this.#on.failed(cause);
      },
    );
  }

  /** Resolves when the one that is running has ended. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    this.#cancel = undefined;
    await this.#running;
  }

  #done(rolled: boolean): void {
    this.#running = undefined;
    // What was rolled is to be forced and sealed in a while, however quiet it is otherwise.
    this.#quietTicks = rolled ? 0 : this.#quietTicks + 1;
    const quiet = this.#quietTicks >= UPKEEP_QUIET_TICKS;
    if (!this.#stopped) {
      if (!quiet) this.#arm(UPKEEP_INTERVAL_MS);
      else if (this.#rollMs > 0) this.#arm(this.#rollMs);
    }
    this.#on.done(quiet);
  }

  #arm(ms: number): void {
    if (this.#stopped) return;
    this.#cancel = this.#timers.after(ms, () => {
      this.#cancel = undefined;
      this.now();
    });
  }
}
