// The picture of a broker under load: where its time begins, and which crowd came when.

import { expect, it } from "vitest";
import { samplesSvg } from "../../faults/rungs/load/picture.js";

it("begins with the first sample, and numbers what begins behind it in every panel", () => {
  const sample = { memory: 2 ** 24, descriptors: 20, connections: 5, queuedBytes: 0, waitingFetches: 0 };
  const svg = samplesSvg(
    [29, 60, 109].map((at) => ({ ...sample, at })),
    [29, 69],
    "A broker under load",
  );
  const seconds = [...svg.matchAll(/>(\d+) s</g)].map(([, at]) => Number(at));
  expect(seconds.slice(0, 5)).toEqual([29, 49, 69, 89, 109]);
  const marks = [...svg.matchAll(/stroke-dasharray="3 3" d="M([\d.]+) /g)].map(([, x]) => Number(x));
  expect(marks).toHaveLength(8);
  // The second in the middle of the first and the right edge.
  expect(marks[1]).toBeCloseTo((marks[0] + 840) / 2, 0);
  for (const number of ["1", "2"]) expect(svg.split(`class="q">${number}<`)).toHaveLength(5);
});
