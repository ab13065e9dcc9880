// Group commit of one partition: one barrier at a time, and whoever comes during it waits for the next one. The group
// grows with the load by itself. A timer that waits for company was turned down: it makes the lone producer slower and,
// under load, the barrier in flight is the better timer.
//
// Knows nothing of batches that are not written yet, and of how a barrier is made.

import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import type { Offset } from "../model/ids.js";
import type { AppendListener } from "./append-listener.js";
import { BarrierMeter } from "./barrier-meter.js";
import { WaiterQueue } from "./waiter-queue.js";

export interface CommitTarget {
  readonly logEndOffset: Offset;
  readonly durableOffset: Offset;
  /** Forces everything that was written when it is called. */
  force(): Promise<Offset>;
}

export class GroupCommit {
  readonly #target: CommitTarget;
  readonly #started: () => void;
  readonly #moved: () => void;
  readonly #failed: (cause: unknown) => void;
  readonly #waiters = new WaiterQueue();
  readonly #meter: BarrierMeter;
  #startedAt = 0;
  #wanted = false;
  #inFlight = false;
  #broken = false;
  /** Barriers that were asked of the storage. */
  #barriers = 0;
  #idle: (() => void)[] = [];

  /**
   * `started` is called when a barrier begins, `moved` when the durable offset has gone up (before those who waited for
   * it hear), `failed` when a barrier failed: its owner then calls `fail`.
   */
  constructor(
    target: CommitTarget,
    on: { started(): void; moved(): void; failed(cause: unknown): void },
    meter = new BarrierMeter(),
  ) {
    this.#target = target;
    this.#meter = meter;
    this.#started = () => on.started();
    this.#moved = () => on.moved();
    this.#failed = (cause) => on.failed(cause);
  }

  get wanted(): boolean {
    return this.#wanted;
  }
  get waiting(): number {
    return this.#waiters.size;
  }
  get barriers(): number {
    return this.#barriers;
  }

  /** The batch `[base, end)` is written; its producer hears when a barrier covers it. */
  add(listener: AppendListener, token: number, base: number, end: number): void {
    this.#waiters.push(listener, token, base, end);
    this.#wanted = true;
  }

  /** Asks for a barrier over everything that is written now, for nobody in particular. */
  want(): void {
    this.#wanted = true;
  }

  /** Begins the barrier that is wanted, unless one is in flight: then the next one begins when that one ends. */
  start(): void {
    if (!this.#wanted || this.#inFlight || this.#broken) return;
    this.#wanted = false;
    this.#inFlight = true;
    this.#barriers++;
    this.#startedAt = this.#meter.now();
    this.#started();
    this.#target.force().then(
      () => this.#done(),
      (cause: unknown) => this.#fail(cause),
    );
  }

  /** Resolves when no barrier is in flight and none is wanted. */
  idle(): Promise<void> {
    if (!this.#inFlight && (!this.#wanted || this.#broken)) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /**
   * No barrier will come any more: everybody who waits is told, those of the group in flight included. They cannot be told
   * apart from the others by what a failed barrier says, and one that is tried again may say "good" with the data gone.
   */
  fail(error: ErrorCode): void {
    this.#broken = true;
    this.#wanted = false;
    while (this.#waiters.size > 0) {
      const listener = this.#waiters.firstListener;
      const token = this.#waiters.firstToken;
      this.#waiters.shift();
      listener.appended(token, error, -1, -1);
    }
    this.#settleIdle();
  }

  trim(): void {
    this.#waiters.trim();
  }

  #done(): void {
    this.#inFlight = false;
    this.#meter.durations.observeMs(this.#meter.now() - this.#startedAt);
    let answered = 0;
    const durable = this.#target.durableOffset;
    this.#moved();
    while (this.#waiters.size > 0 && this.#waiters.firstEnd <= durable) {
      const listener = this.#waiters.firstListener;
      const token = this.#waiters.firstToken;
      const base = this.#waiters.firstBase;
      this.#waiters.shift();
      answered++;
      listener.appended(token, ErrorCodes.NONE, base, this.#target.logEndOffset);
    }
    if (answered > 0) this.#meter.groups.observe(answered);
    this.start();
    this.#settleIdle();
  }

  #fail(cause: unknown): void {
    this.#inFlight = false;
    this.#meter.failed++;
    this.#failed(cause);
    this.#settleIdle();
  }

  #settleIdle(): void {
    if (this.#idle.length === 0 || this.#inFlight || (this.#wanted && !this.#broken)) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
