// Times of requests, counted a run at a time: what came in one turn and is answered in one flush took the same time.

import { expect, it } from "vitest";
import { Timed } from "../../src/broker/counters.js";
import { Histogram } from "../../src/model/histogram.js";
import { LatencyRuns, stampOf, withKind } from "../../src/server/latency-runs.js";

it("counts every timed request once, in its kind's histogram, with its own time", () => {
  const histograms = Array.from({ length: 5 }, () => new Histogram());
  const runs = new LatencyRuns(histograms);
  const early = stampOf(123_456_789.001);
  const late = stampOf(123_456_790.5);
  runs.begin(123_456_791.001);
  for (let i = 0; i < 3; i++) runs.answered(early + Timed.PRODUCE_WRITTEN);
  runs.answered(late + Timed.PRODUCE_FORCED);
  runs.answered(late + Timed.NOT);
  runs.answered(withKind(late + Timed.FETCH, Timed.FETCH_WAITED));
  runs.answered(early + Timed.PRODUCE_WRITTEN);
  runs.end();
  // A flush in which nothing is answered.
  runs.begin(123_456_999);
  runs.end();
  runs.begin(123_457_791.001);
  runs.answered(early + Timed.PRODUCE_WRITTEN);
  runs.end();
  expect(histograms.map(({ total }) => total)).toEqual([0, 5, 1, 0, 1]);
  expect(histograms.map(({ sum }) => sum)).toEqual([0, 4 * 2000 + 1_002_000, 501, 0, 501]);
});
