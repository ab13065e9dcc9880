// Counting in buckets: every value lies in the one whose bounds say so, and quantiles are as near as a bucket is wide.

import { describe, expect, it } from "vitest";
import { Histogram, LATENCY_BUCKETS } from "../../src/model/histogram.js";

const shapes = [
  LATENCY_BUCKETS,
  { minOctave: 0, maxOctave: 16, stepBits: 0 },
  { minOctave: 2, maxOctave: 5, stepBits: 2 },
];

describe("a histogram", () => {
  it.each(shapes)("has each value in the bucket whose bounds are around it: %o", (shape) => {
    const histogram = new Histogram(shape);
    const edges = [...histogram.counts.keys()].map((bucket) => histogram.boundOf(bucket));
    expect(edges).toEqual([...edges].sort((a, b) => a - b));
    const values = edges.slice(0, -1).flatMap((edge) => [edge - 1, edge, edge + 1]);
    for (const value of [0, 1, ...values, 2 ** 31, 2 ** 40]) {
      const bucket = histogram.bucketOf(value);
      expect([value, value <= histogram.boundOf(bucket)]).toEqual([value, true]);
      if (bucket > 0) expect([value, value > histogram.boundOf(bucket - 1)]).toEqual([value, true]);
    }
  });

  it("counts and sums", () => {
    const histogram = new Histogram();
    for (const value of [-1, 0, 17, 100]) histogram.observe(value);
    histogram.observeMs(0.0201);
    expect(histogram.total).toBe(5);
    expect(histogram.sum).toBe(17 + 100 + 21);
  });

  it("tells quantiles of what came since, off by at most a quarter of a power of two", () => {
    const histogram = new Histogram();
    for (let i = 0; i < 1000; i++) histogram.observe(1_000_000);
    const before = histogram.counts.slice();
    expect(histogram.quantileSince(before, 0.5)).toBeNaN();
    for (let value = 1; value <= 10_000; value++) histogram.observe(value);
    for (const q of [0.01, 0.5, 0.9, 0.99, 1]) {
      const told = histogram.quantileSince(before, q);
      expect(told / (q * 10_000)).toBeGreaterThan(0.8);
      expect(told / (q * 10_000)).toBeLessThan(1.25);
    }
    histogram.observe(2 ** 30);
    expect(histogram.quantileSince(before, 1)).toBe(2 ** 26);
  });
});
