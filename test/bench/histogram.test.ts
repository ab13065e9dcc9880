// The histogram's percentiles against a sorted array.

import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, it } from "vitest";
import { buildTools } from "../../bench/build.mjs";
import type { Latency } from "../../bench/lib/tools.js";
import { printedSeed, randomFrom } from "../support/seed.js";

let floor: string;

async function histogramOf(values: readonly number[]): Promise<Latency> {
  const child = spawn(floor, ["histogram"], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(values.join("\n"));
  return (JSON.parse(await text(child.stdout)) as { latency: Latency }).latency;
}

/** The value that `percent` of all do not exceed. */
const exact = (sorted: readonly number[], percent: number): number =>
  sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1];

function expectNear(got: number, sorted: readonly number[], percent: number): void {
  const want = exact(sorted, percent) / 1000;
  // Never below the truth, and at most one part in 128 above it (the JSON has six digits).
  expect(got).toBeGreaterThanOrEqual(want * (1 - 1e-5));
  expect(got).toBeLessThanOrEqual(want * (1 + 1 / 128) * (1 + 1e-5));
}

describe.skipIf(process.platform !== "linux")("the histogram", () => {
  beforeAll(async () => {
    ({ floor } = await buildTools());
  }, 180_000);

  it("agrees with a sorted array over ten orders of magnitude, within a part in 128", async () => {
    const random = randomFrom(printedSeed("histogram"));
    for (const count of [1, 2, 3, 100, 9_999, 50_000]) {
      const values = Array.from({ length: count }, () => Math.floor(10 ** (random() * 10)));
      const sorted = values.toSorted((a, b) => a - b);
      const got = await histogramOf(values);
      expect(got.count).toBe(count);
      expectNear(got.p50Us, sorted, 50);
      expectNear(got.p90Us, sorted, 90);
      expectNear(got.p99Us, sorted, 99);
      expectNear(got.p999Us, sorted, 99.9);
      expectNear(got.p9999Us, sorted, 99.99);
      for (const [shown, value] of [
        [got.minUs, sorted[0]],
        [got.maxUs, sorted[count - 1]],
      ]) {
        expect(shown).toBeCloseTo(value / 1000, 8 - Math.log10(value)); // six digits are printed
      }
    }
  });

  it("keeps small values exactly, and every power of two and its neighbours near enough", async () => {
    expect((await histogramOf([0, 1, 2, 254, 255])).p50Us).toBe(0.002);
    for (let power = 8; power < 53; power += 3) {
      for (const value of [2 ** power - 1, 2 ** power, 2 ** power + 1]) {
        expectNear((await histogramOf([value, value, 2 ** 60])).p50Us, [value], 50);
      }
    }
  });

  it("of nothing is all zeros", async () => {
    expect(await histogramOf([])).toMatchObject({ count: 0, p50Us: 0, maxUs: 0, minUs: 0, meanUs: 0 });
  });
});
