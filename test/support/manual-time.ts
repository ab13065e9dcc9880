// Time that a test moves by a call.

import type { RequestTime } from "../../src/client/request-queue.js";

export class ManualTime implements RequestTime {
  private ms = 0;
  private readonly timers = new Set<{ at: number; action: () => void }>();

  monotonicNow(): number {
    return this.ms;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.ms + ms, action };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** How many timers wait. */
  get armed(): number {
    return this.timers.size;
  }

  /** Moves time on; what is due fires in its order. */
  advance(ms: number): void {
    const until = this.ms + ms;
    for (;;) {
      const [due] = [...this.timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at);
      if (due === undefined) break;
      this.timers.delete(due);
      this.ms = Math.max(this.ms, due.at);
      due.action();
    }
    this.ms = until;
  }
}
