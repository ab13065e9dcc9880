// How late the event loop is. A timer that should come every 20 ms is seen to come later, and by how much is how long
// everybody else had to wait. It runs only while the loop has work: on an idle broker it would be the work. Node's own
// monitorEventLoopDelay was turned down for that reason, and because it keeps no buckets that could be added up over time.

import { type EventLoopUtilization, performance } from "node:perf_hooks";
import type { Timers } from "../../model/clock.js";
import { Histogram } from "../../model/histogram.js";
import { LOOP_BUSY_SHARE, LOOP_PROBE_MS } from "../../model/limits.js";

export interface LoopWatchDeps {
  readonly timers: Timers;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  readonly utilization: () => Pick<EventLoopUtilization, "active" | "idle">;
}

export class LoopWatch {
  /** Microseconds. */
  readonly delays = new Histogram();
  private maxMs = 0;
  private active = 0;
  private idle = 0;
  private cancel: (() => void) | undefined;

  constructor(private readonly deps: LoopWatchDeps) {
    this.look();
  }

  /** Since the process began. */
  get activeSeconds(): number {
    return this.deps.utilization().active / 1000;
  }

  get probing(): boolean {
    return this.cancel !== undefined;
  }

  /** A delay that somebody else has noticed, as the lateness of a timer of his own. */
  late(ms: number): void {
    this.delays.observeMs(ms);
    this.maxMs = Math.max(this.maxMs, ms);
  }

  /** How it was since the last look, and whether it is worth asking more often until the next. */
  look(): { readonly active: number; readonly maxMs: number } {
    const { active, idle } = this.deps.utilization();
    const spent = active - this.active;
    const passed = spent + idle - this.idle;
    this.active = active;
    this.idle = idle;
    const share = passed > 0 ? Math.min(1, spent / passed) : 0;
    const seen = { active: share, maxMs: this.maxMs };
    this.maxMs = 0;
    if (share < LOOP_BUSY_SHARE) this.stop();
    else if (this.cancel === undefined) this.probe();
    return seen;
  }

  stop(): void {
    this.cancel?.();
    this.cancel = undefined;
  }

  private probe(): void {
    const due = this.deps.now() + LOOP_PROBE_MS;
    this.cancel = this.deps.timers.after(LOOP_PROBE_MS, () => {
      this.late(Math.max(0, this.deps.now() - due));
      this.probe();
    });
  }
}

export const loopUtilization = (): EventLoopUtilization => performance.eventLoopUtilization();
