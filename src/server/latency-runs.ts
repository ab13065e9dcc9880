// How long requests took, from the turn that took them to the flush that answers them. All requests that came in one turn and
// are answered in one flush took the same time, and they mostly follow each other: a run of them is counted by comparing and
// adding one, and enters a histogram once. That is 2 ns for a request; each for itself was 5, and a small PRODUCE is 200.
//
// A request carries a stamp, one number: the microsecond in which its turn began, times eight, plus its kind.

import type { Timed } from "../broker/counters.js";
import type { Histogram } from "../model/histogram.js";

const KINDS = 8;

/** What is added to by a request's kind; `ms` on a clock that never goes back. */
export const stampOf = (ms: number): number => Math.floor(ms * 1000) * KINDS;

export const withKind = (stamp: number, timed: Timed): number => stamp - (stamp % KINDS) + timed;

export class LatencyRuns {
  private nowUs = 0;
  private stamp = 0;
  private count = 0;

  /** Histograms by kind; the first, of requests that are not timed, stays empty. */
  constructor(private readonly histograms: readonly Histogram[]) {}

  /** A flush begins. */
  begin(ms: number): void {
    this.nowUs = Math.ceil(ms * 1000);
  }

  /** A request is answered. */
  answered(stamp: number): void {
    if (stamp !== this.stamp) {
      this.end();
      this.stamp = stamp;
    }
    this.count++;
  }

  /** The flush is over: all that was answered in it is counted. */
  end(): void {
    const { stamp, count } = this;
    this.count = 0;
    const timed = stamp % KINDS;
    if (count > 0 && timed !== 0) this.histograms[timed].observeMany(this.nowUs - (stamp - timed) / KINDS, count);
  }
}
