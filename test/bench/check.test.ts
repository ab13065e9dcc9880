// What CI fails on: a collapse that is still there when it is measured again, and nothing else.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkQuestions, countsLine, readRecorded, record } from "../../bench/check-run.js";
import { collapsed, compareCase, recordedSides, recordOf } from "../../bench/lib/check.js";
import type { Case, Sample } from "../../bench/lib/figures.js";
import type { Question } from "../../bench/lib/question.js";
import type { Stand } from "../../bench/lib/stand.js";
import { tempDir } from "../support/tmp.js";
import { caseOf } from "./results.js";

const stand = { rounds: 2, progress: () => undefined } as unknown as Stand;
const FOREVER = Number.POSITIVE_INFINITY;

/** A question of one case whose ratio to the floor is, in each measurement, the next of these; several of them: in each round. */
function questionOf(
  ratios: readonly (number | readonly number[])[],
  unit: Case["unit"] = "requests/s",
): Question & { measured: number } {
  let sample = 0;
  const measure = async (): Promise<Sample> => {
    const of = ratios[Math.floor(sample / stand.rounds)] ?? 0;
    const ratio = typeof of === "number" ? of : (of[sample % stand.rounds] as number);
    sample++;
    return { value: 100 * ratio, details: {} };
  };
  const one: Case = {
    label: "work",
    flush: "none",
    unit,
    sample: "1",
    sides: [
      { name: "millrace", command: "", measure },
      { name: "floor", command: "", measure: async () => ({ value: 100, details: {} }) },
    ],
  };
  return {
    name: "q",
    title: "",
    about: "",
    ask: (_, ask) => ask(one),
    get measured() {
      return sample / stand.rounds;
    },
  };
}

const recorded = { q: { work: { millrace: 0.9 } } };

describe("recorded ratios", () => {
  it("are the least favourable samples of every side that has a ratio, by question, case and side", async () => {
    const one = await caseOf("work", "requests/s", [
      { name: "millrace", values: [50, 40, 31.234] },
      { name: "floor", values: [100, 100, 100] },
    ]);
    const ratios = recordOf([{ name: "q", title: "", about: "", cases: [one] }]);
    expect(ratios).toEqual({ q: { "work, WRITTEN": { millrace: 0.312 } } });
    expect(recordedSides(ratios)).toBe(1);
  });

  it("are none for a floor beside a floor, which says nothing about the product", async () => {
    const one = await caseOf("work", "ms", [
      { name: "a", values: [3] },
      { name: "b", values: [2] },
    ]);
    const sides = one.sides.map((side) => ({ ...side, command: `floor barrier --how ${side.name}` }));
    expect(recordOf([{ name: "q", title: "", about: "", cases: [{ ...one, sides }] }])).toEqual({ q: {} });
  });

  it("of one question replace its own and leave the others", async () => {
    const path = join(tempDir(), "ratios.json");
    const cases = [
      await caseOf("work", "ms", [
        { name: "a", values: [3] },
        { name: "b", values: [2] },
      ]),
    ];
    await record(path, [{ name: "x", title: "", about: "", cases }]);
    await record(path, [{ name: "y", title: "", about: "", cases }]);
    expect(await readRecorded(path)).toEqual({
      x: { "work, WRITTEN": { a: 1.5 } },
      y: { "work, WRITTEN": { a: 1.5 } },
    });
  });
});

describe("a collapse", () => {
  it("is less than a third, or more than three times where less is better", async () => {
    const speed = await caseOf("w", "requests/s", [{ name: "a", values: [1] }]);
    expect([0.31, 0.29, 5].map((ratio) => collapsed(speed, 0.9, ratio))).toEqual([false, true, false]);
    const cost = await caseOf("w", "ms", [{ name: "a", values: [1] }]);
    expect([2.6, 2.8, 0.1].map((ratio) => collapsed(cost, 0.9, ratio))).toEqual([false, true, false]);
  });

  it("is also what measured nothing, and has no ratio", async () => {
    for (const unit of ["requests/s", "ms"] as const) {
      const one = await caseOf("w", unit, [{ name: "a", values: [1] }]);
      expect(collapsed(one, 0.9, Number.NaN)).toBe(true);
    }
  });

  it("is not seen in a side that was never recorded", async () => {
    const one = await caseOf("work", "requests/s", [
      { name: "new", values: [1] },
      { name: "floor", values: [100] },
    ]);
    expect(compareCase("q", one, recorded, "median")).toEqual({ compared: 0, findings: [] });
  });
});

describe("the check", () => {
  it("passes what is slower but not collapsed, and measures it once", async () => {
    const question = questionOf([0.4]);
    expect(await checkQuestions(stand, [question], recorded, FOREVER)).toEqual({ passed: 1, failed: 0, skipped: 0 });
    expect(question.measured).toBe(1);
  });

  it("measures a collapse again and lets it pass when it is gone", async () => {
    const question = questionOf([0.1, 0.8]);
    expect(await checkQuestions(stand, [question], recorded, FOREVER)).toEqual({ passed: 1, failed: 0, skipped: 0 });
    expect(question.measured).toBe(2);
  });

  it("fails a collapse that stays", async () => {
    const question = questionOf([0.1, 0.2]);
    expect(await checkQuestions(stand, [question], recorded, FOREVER)).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(question.measured).toBe(2);
  });

  it("lets a collapse pass when one pair of the second measurement is as it should be: neighbours spoil only some", async () => {
    const passes = { passed: 1, failed: 0, skipped: 0 };
    expect(await checkQuestions(stand, [questionOf([0.1, [0.1, 0.4]])], recorded, FOREVER)).toEqual(passes);
    const fails = { passed: 0, failed: 1, skipped: 0 };
    expect(await checkQuestions(stand, [questionOf([[0.1, 0.4], 0.1])], recorded, FOREVER)).toEqual(fails);
    expect(await checkQuestions(stand, [questionOf([3, [1, 3]], "ms")], recorded, FOREVER)).toEqual(passes);
  });

  it("fails a question that cannot be asked, and goes on with the next", async () => {
    const broken: Question = { ...questionOf([]), name: "broken", ask: () => Promise.reject(new Error("no")) };
    const counts = await checkQuestions(stand, [broken, questionOf([0.9])], recorded, FOREVER);
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  it("begins no case when its time is up, and says how many are left", async () => {
    const question = questionOf([0.9]);
    expect(await checkQuestions(stand, [question], recorded, 0)).toEqual({ passed: 0, failed: 0, skipped: 1 });
    expect(question.measured).toBe(0);
  });

  it("counts a recorded case that is no longer asked as skipped", async () => {
    const more = { q: { ...recorded.q, gone: { millrace: 1 } } };
    expect(await checkQuestions(stand, [questionOf([0.9])], more, FOREVER)).toEqual({
      passed: 1,
      failed: 0,
      skipped: 1,
    });
  });

  it("ends with a line of counts", () => {
    expect(countsLine({ passed: 3, failed: 0, skipped: 0 })).toBe("3 passed, 0 failed");
    expect(countsLine({ passed: 3, failed: 1, skipped: 2 })).toBe("3 passed, 1 failed, 2 skipped");
  });
});
