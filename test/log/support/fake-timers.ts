// Timers that a call moves.

import type { Timers } from "../../../src/model/clock.js";

export class FakeTimers implements Timers {
  #now = 0;
  #timers: { at: number; action: () => void }[] = [];

  get pending(): number {
    return this.#timers.length;
  }
  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#now + ms, action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }
  /** Moves time; what is due runs in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#now = due.at;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      due.action();
    }
    this.#now = end;
  }
}
