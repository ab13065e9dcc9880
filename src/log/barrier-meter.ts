// How long barriers take and how many batches one of them answers, for all partitions that share a scheduler. Two readings of
// the clock for each barrier, which is itself a hundred microseconds at least.

import { Histogram } from "../model/histogram.js";

/** Batches by powers of two, 1 to 65 536. */
const GROUP_BUCKETS = { minOctave: 0, maxOctave: 16, stepBits: 0 };

export class BarrierMeter {
  /** Microseconds, of barriers that succeeded. */
  readonly durations = new Histogram();
  /** Batches that waited for a barrier and were answered by it; barriers that nobody waited for are not counted. */
  readonly groups = new Histogram(GROUP_BUCKETS);
  failed = 0;

  /** Milliseconds on a clock that never goes back. */
  constructor(readonly now: () => number = () => performance.now()) {}
}
