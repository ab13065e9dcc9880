// The course of time: whole intervals alone, the worst of them, and what a median of latencies is.

import { describe, expect, it } from "vitest";
import { timelineFigures, timelineOf } from "../../bench/lib/timeline.js";
import { caseOf, latency } from "./results.js";

describe("a timeline", () => {
  it("leaves out the interval that the end of the load cuts off", () => {
    expect(timelineOf(1000, [10, 20, 3], 2.4)).toEqual({ intervalMs: 1000, rates: [10, 20] });
  });

  it("keeps an interval in which nothing was answered, also when it is the last", () => {
    expect(timelineOf(500, [10, 0, 10], 2).rates).toEqual([20, 0, 20, 0]);
  });

  it("counts in the case's unit", () => {
    expect(timelineOf(500, [10, 20], 1, 1000).rates).toEqual([20_000, 40_000]);
  });

  it("finds the worst interval, its place and what it is of the median", () => {
    const figures = timelineFigures({ intervalMs: 1000, rates: [100, 90, 40, 110, 100] });
    expect(figures).toEqual({ mean: 88, median: 100, worst: 40, worstAt: 2, steadiness: 0.4 });
  });

  it("is no steadier than nothing when nothing was done", () => {
    expect(timelineFigures({ intervalMs: 1000, rates: [0, 0] }).steadiness).toBe(0);
  });
});

describe("what a side has of its samples", () => {
  it("is the median of each percentile, not the percentiles of one sample", async () => {
    let next = 0;
    const scales = [1, 100, 3];
    const one = await caseOf("a", "requests/s", [
      {
        name: "x",
        values: [1, 2, 3],
        more: {
          get latency() {
            return latency(scales[next++] as number);
          },
        },
      },
    ]);
    expect(one.sides[0]?.latency).toEqual({ ...latency(3), count: 1000 });
  });

  it("is the timeline of the sample in the middle", async () => {
    let next = 0;
    const rates = [[1], [2], [3]];
    const one = await caseOf("a", "requests/s", [
      {
        name: "x",
        values: [30, 10, 20],
        more: {
          get timeline() {
            return { intervalMs: 1, rates: rates[next++] as number[] };
          },
        },
      },
    ]);
    expect(one.sides[0]?.timeline?.rates).toEqual([3]);
  });
});
