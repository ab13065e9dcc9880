// How long requests took: an HDR histogram, which keeps each to three digits however far the slowest is from the fastest, in memory
// that does not grow with their number. Node has one.

import { createHistogram } from "node:perf_hooks";

/** What is asked of it, and how it is called. */
export const PERCENTILES = [
  { name: "p50", percentile: 50 },
  { name: "p75", percentile: 75 },
  { name: "p90", percentile: 90 },
  { name: "p95", percentile: 95 },
  { name: "p99", percentile: 99 },
  { name: "p99.9", percentile: 99.9 },
] as const;

/** In microseconds. A request that takes longer has failed by its deadline long before. */
const HIGHEST_US = 600_000_000;
const US_PER_MS = 1000;

export interface LatencySummary {
  readonly min: number;
  readonly mean: number;
  /** By its name in {@link PERCENTILES}. */
  readonly percentiles: Readonly<Record<string, number>>;
  readonly max: number;
}

export class Latencies {
  private readonly histogram = createHistogram({ lowest: 1, highest: HIGHEST_US, figures: 3 });

  record(ms: number): void {
    this.histogram.record(Math.min(Math.max(Math.round(ms * US_PER_MS), 1), HIGHEST_US));
  }

  get count(): number {
    return this.histogram.count;
  }

  /** In milliseconds. */
  get summary(): LatencySummary {
    const { histogram } = this;
    const ms = (us: number): number => Math.round(us) / US_PER_MS;
    // A value is known to three digits, and what is given is the upper end of them: never above the largest that there was.
    const upTo = (percentile: number): number => Math.min(histogram.percentile(percentile), histogram.max);
    const at = PERCENTILES.map(({ name, percentile }) => [name, ms(upTo(percentile))]);
    return {
      min: this.count === 0 ? 0 : ms(histogram.min),
      mean: this.count === 0 ? 0 : ms(histogram.mean),
      percentiles: Object.fromEntries(at),
      max: ms(histogram.max),
    };
  }
}
