// Goals against figures: what is met, what is missed and why, and nothing about what was not asked.

import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type Goal, goals, goalsOf } from "../../bench/lib/goals.js";
import { improvements } from "../../bench/lib/profiles.js";
import { markdown, type RunResult, type SectionResult } from "../../bench/lib/report.js";
import { html, prose } from "../../bench/report/html.js";
import { caseOf, runOf } from "./results.js";

async function fetched(values: readonly number[]): Promise<SectionResult> {
  const one = await caseOf("one connection, 8 in flight", "GB/s", [
    { name: "millrace, sendfile", values },
    { name: "floor, sendfile", values: values.map(() => 100) },
  ]);
  return { name: "fetch", title: "Fetch", about: "About.", cases: [{ ...one, flush: "none" }] };
}

describe("goals", () => {
  it("are met by the median, and say nothing of a reason then", async () => {
    const [throughput] = goalsOf([await fetched([80, 95, 92])]);
    expect(throughput).toMatchObject({ asked: "at least 0.9", is: "0.92 (0.8 – 0.95)", met: true, reason: undefined });
  });

  it("are missed below it, and say why", async () => {
    const [throughput] = goalsOf([await fetched([80, 95, 82])]);
    expect(throughput).toMatchObject({ is: "0.82 (0.8 – 0.95)", met: false });
    expect(throughput?.reason).toContain("the cache");
  });

  it("that ask for little are missed above it", async () => {
    const goal: Goal = {
      question: "fetch",
      of: "one connection, 8 in flight",
      side: "millrace, sendfile",
      what: "little",
      atMost: 85,
      unit: "ms",
      read: (_, { value }) => value,
    };
    const sections = [await fetched([80, 90, 90])];
    expect(goalsOf(sections, [goal])).toMatchObject([{ asked: "at most 85 ms", is: "90 ms (80 – 90)", met: false }]);
    expect(goalsOf(sections, [{ ...goal, atMost: 90 }])).toMatchObject([{ met: true }]);
  });

  it("of figures that a run has not are left out, and so is their table", async () => {
    const { cases } = await fetched([1]);
    const sections = [{ name: "other", title: "Other", about: "", cases }];
    expect(goalsOf(sections)).toEqual([]);
    expect(markdown(runOf(sections))).not.toContain("## Goals");
    expect(html(runOf(sections), { style: "", script: "" })).not.toContain("Goals");
  });

  it("name questions, cases and sides that there are: the published figures answer all but those of long runs", async () => {
    const { sections } = JSON.parse(await readFile("docs/figures/run.json", "utf8")) as RunResult;
    const answered = new Set(goalsOf(sections).map(({ what }) => what));
    const open = goals.map(({ what }) => what).filter((what) => !answered.has(what));
    expect(open.filter((what) => !what.includes("1000 sealed segments"))).toEqual([]);
  });

  it("stand above the figures, in both pages", async () => {
    const run = runOf([await fetched([80, 95, 82])]);
    expect(markdown(run)).toMatch(/## Goals[\s\S]*\*\*missed\*\*: it asks the cache[\s\S]*## Fetch/);
    expect(html(run, { style: "", script: "" })).toMatch(/id="goals"[\s\S]*<strong>missed<\/strong>[\s\S]*id="fetch"/);
  });

  it("are followed by what profiles found on both paths, before and after, three of each at least", async () => {
    for (const path of ["PRODUCE", "FETCH"]) {
      expect(improvements.filter((one) => one.path === path).length, path).toBeGreaterThanOrEqual(3);
    }
    const run = runOf([await fetched([80, 95, 82])]);
    const page = html(run, { style: "", script: "" });
    for (const { before, after } of improvements) {
      expect(markdown(run)).toContain(`| ${before} | ${after} |`);
      expect(page).toContain(prose(before));
    }
    expect(page).toMatch(/id="goals"[\s\S]*id="profiles"[\s\S]*id="fetch"/);
  });
});
