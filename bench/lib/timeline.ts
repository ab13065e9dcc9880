// What was done in each interval of a load, so that a stall of a second is seen that no mean shows. Pure.

import { spread } from "./compare.js";

export interface Timeline {
  readonly intervalMs: number;
  /** What was done in each interval, in the case's own unit for each second. Whole intervals only. */
  readonly rates: readonly number[];
}

export interface TimelineFigures {
  readonly mean: number;
  readonly median: number;
  readonly worst: number;
  /** Which interval the worst is. */
  readonly worstAt: number;
  /** Worst over median: 1 is a load that never wavered. */
  readonly steadiness: number;
}

/** The last interval is cut off by the end of the load and would always be the worst one. `each`: units that one answer is worth. */
export function timelineOf(intervalMs: number, counts: readonly number[], seconds: number, each = 1): Timeline {
  const whole = Math.min(counts.length, Math.floor((seconds * 1000) / intervalMs + 1e-9));
  // An interval without any answer at the very end has no counter, and is no less an interval.
  const missing = Math.max(0, Math.floor((seconds * 1000) / intervalMs + 1e-9) - counts.length);
  const rates = counts.slice(0, whole).map((count) => (count * each * 1000) / intervalMs);
  return { intervalMs, rates: [...rates, ...Array<number>(missing).fill(0)] };
}

/** Of at least one interval. */
export function timelineFigures({ rates }: Timeline): TimelineFigures {
  const { median } = spread(rates);
  const worst = Math.min(...rates);
  return {
    mean: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
    median,
    worst,
    worstAt: rates.indexOf(worst),
    steadiness: median === 0 ? 0 : worst / median,
  };
}
