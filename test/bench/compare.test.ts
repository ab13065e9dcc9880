// Sides in turn, ratios in pairs, and what the report makes of them.

import { describe, expect, it } from "vitest";
import { inTurn, pairRatios, spread } from "../../bench/lib/compare.js";
import { type Case, detailText, measureCase, type Sample, shortNumber } from "../../bench/lib/figures.js";
import { markdown, OTHERS } from "../../bench/lib/report.js";
import { runOf } from "./results.js";

const constant = (values: number[], details: Record<string, number> = {}) => {
  let next = 0;
  return async (): Promise<Sample> => ({ value: values[next++], details });
};

describe("comparing", () => {
  it("runs the sides in turn, every second round backwards", async () => {
    const order: string[] = [];
    const side = (name: string) => async () => void order.push(name);
    await inTurn([side("A"), side("B"), side("C")], 3);
    expect(order.join("")).toBe("ABCCBAABC");
  });

  it("keeps the samples of each side in the order of the rounds", async () => {
    let n = 0;
    const samples = await inTurn([async () => n++, async () => n++], 3);
    expect(samples).toEqual([
      [0, 3, 4],
      [1, 2, 5],
    ]);
  });

  it("pairs by round: a machine that gets slower for both does not move the ratio", () => {
    expect(pairRatios([50, 40, 10], [100, 80, 20])).toEqual([0.5, 0.5, 0.5]);
    expect(() => pairRatios([1, 2], [1])).toThrow(RangeError);
  });

  it("gives median, lowest and highest", () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3, samples: 3 });
    expect(spread([4, 1, 2, 3]).median).toBe(2.5);
    expect(() => spread([])).toThrow(RangeError);
  });

  it("compares every side with the last one, within its round", async () => {
    const one: Case = {
      label: "work",
      flush: "WRITTEN",
      unit: "requests/s",
      sample: "10 requests",
      sides: [
        { name: "millrace", command: "a", measure: constant([10, 40, 30], { "p99 µs": 5 }) },
        { name: "floor", command: "b", measure: constant([20, 50, 100]) },
      ],
    };
    const { sides } = await measureCase(one, 3);
    // In the second round the floor came first, which does not change what is paired with what.
    expect(sides[0].ratio).toEqual({ median: 0.5, min: 0.3, max: 0.8, samples: 3 });
    expect(sides[0].value.median).toBe(30);
    expect(sides[0].details).toEqual({ "p99 µs": 5 });
    expect(sides[1].ratio).toBeUndefined();
  });

  it("compares what servers spent, too, round by round", async () => {
    const spends = (values: number[]) => {
      let next = 0;
      return async (): Promise<Sample> => ({ value: 1, details: { "server CPU s/GiB": values[next++], "p99 µs": 5 } });
    };
    const one = await measureCase(
      {
        label: "work",
        flush: "none",
        unit: "GB/s",
        sample: "1 s",
        sides: [
          { name: "millrace", command: "", measure: spends([2, 30, 5]) },
          { name: "floor", command: "", measure: spends([1, 10, 5]) },
        ],
      },
      3,
    );
    const [millrace, floor] = one.sides;
    expect(detailText(one, millrace, "server CPU s/GiB")).toBe("5 (× 2.00)");
    expect(detailText(one, floor, "server CPU s/GiB")).toBe("5");
    expect(detailText(one, millrace, "p99 µs")).toBe("5");
    expect(detailText(one, millrace, "else")).toBeUndefined();
  });

  it("rounds to three figures that count", () => {
    expect([0.123456, 12.3456, 999.7, 1234, 1_234_567].map(shortNumber)).toEqual([
      "0.123",
      "12.3",
      "1000",
      "1 230",
      "1 230 000",
    ]);
  });
});

describe("the report", () => {
  const page = async (othersCores: number): Promise<string> => {
    const one: Case = {
      label: "64 producers",
      flush: "FORCED",
      unit: "requests/s",
      sample: "2 s",
      sides: [
        {
          name: "millrace",
          command: "loadgen --ack forced",
          measure: constant([58_000, 60_000], { [OTHERS]: othersCores }),
        },
        { name: "floor", command: "floor serve", measure: constant([100_000, 100_000]) },
      ],
    };
    const cases = [await measureCase(one, 2)];
    return markdown(runOf([{ name: "forced", title: "Forced", about: "About it.", cases }]));
  };

  it("has flush mode, sample, spread, ratio and command of every figure, and the machine above", async () => {
    const text = await page(0.1);
    expect(text).toContain(
      "| 64 producers | FORCED | millrace | 59 000 | 58 000 – 60 000 | **0.59** (0.58 – 0.60) | 0.1 | 2 × 2 s |",
    );
    expect(text).toContain("loadgen --ack forced");
    for (const fact of ["a processor", "ext4", "6.1", "abc", "cubic", "normal"]) expect(text).toContain(fact);
  });

  it("says above all figures when other programs were at work", async () => {
    expect(await page(0.1)).not.toContain("Doubtful");
    expect(await page(1.2)).toContain("**Doubtful:** other programs used up to 1.2 of the 2 cores");
  });
});
