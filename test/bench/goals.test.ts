// Goals against figures: what is met, what is missed and why, and those that were not measured say so; nothing about what was not asked.

import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type Goal, goals, goalsOf } from "../../bench/lib/goals.js";
import { improvements } from "../../bench/lib/profiles.js";
import { markdown, type RunResult, type SectionResult } from "../../bench/lib/report.js";
import { mergeResults } from "../../bench/lib/results.js";
import { questions } from "../../bench/questions.js";
import { html, prose } from "../../bench/report/html.js";
import { requestsFor } from "../../bench/start.js";
import { caseOf, runOf } from "./results.js";

async function fetched(values: readonly number[]): Promise<SectionResult> {
  const one = await caseOf("one connection, 8 in flight", "GB/s", [
    { name: "millrace, sendfile", values },
    { name: "floor, sendfile", values: values.map(() => 100) },
  ]);
  return { name: "fetch", title: "Fetch", about: "About.", cases: [{ ...one, flush: "none" }] };
}

const literal = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

describe("goals", () => {
  it("are met by the median, and say nothing of a reason then", async () => {
    const [throughput] = goalsOf([await fetched([80, 95, 92])]);
    expect(throughput).toMatchObject({
      asked: "at least 0.9",
      is: "0.92 (0.8 – 0.95)",
      verdict: "met",
      reason: undefined,
    });
  });

  it("are missed below it, and say why", async () => {
    const [throughput] = goalsOf([await fetched([80, 95, 82])]);
    expect(throughput).toMatchObject({ is: "0.82 (0.8 – 0.95)", verdict: "missed" });
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
    const judged = (one: Goal) => goalsOf(sections, undefined, [one]);
    expect(judged(goal)).toMatchObject([{ asked: "at most 85 ms", is: "90 ms (80 – 90)", verdict: "missed" }]);
    expect(judged({ ...goal, atMost: 90 })).toMatchObject([{ verdict: "met" }]);
  });

  it("of questions that were not asked are left out, and so is their table", async () => {
    const { cases } = await fetched([1]);
    const sections = [{ name: "other", title: "Other", about: "", cases }];
    expect(goalsOf(sections)).toEqual([]);
    expect(markdown(runOf(sections))).not.toContain("## Goals");
    expect(html(runOf(sections), { style: "", script: "" })).not.toContain("Goals");
  });

  it("of cases that a question left out are not measured, and stand there all the same", async () => {
    const section = { ...(await fetched([80, 95, 82])), cases: [] };
    const own = goals.filter(({ question }) => question === "fetch");
    expect(goalsOf([section]).map(({ what, verdict }) => [what, verdict])).toEqual(
      own.map(({ what }) => [what, "not measured"]),
    );
  });

  it("of a page about all questions are all on it, whatever its run came to", async () => {
    const run = { ...runOf([await fetched([80, 95, 82])]), asked: questions.map(({ name }) => name) };
    const table = markdown(run).split("## Before and after")[0];
    const page = html(run, { style: "", script: "" });
    for (const { what, question } of goals) {
      expect(table).toContain(`| ${what} |`);
      if (question === "fetch") continue;
      expect(table).toMatch(
        new RegExp(`\\| ${literal(what)} \\| at [^|]*\\|  \\| \\*\\*not measured\\*\\* in this run \\|`),
      );
    }
    const open = goalsOf(run.sections, run.asked).filter(({ verdict }) => verdict === "not measured");
    expect(page.match(/<strong>not measured<\/strong> in this run/g)).toHaveLength(open.length);
  });

  it("are those of the questions alone that a page is about", async () => {
    const asked = new Set(goalsOf([await fetched([80, 95, 82])]).map(({ what }) => what));
    expect(goals.filter(({ what }) => asked.has(what)).map(({ question }) => question)).toEqual(["fetch", "fetch"]);
  });

  it("come back merged: a question that none of the runs came to is not measured", async () => {
    const first = { ...runOf([await fetched([80, 95, 82])]), asked: ["fetch", "recovery"] };
    const merged = mergeResults([first, runOf([await fetched([90, 95, 92])], "two")], ["fetch", "recovery"]);
    expect(goalsOf(merged.sections, merged.asked).map(({ verdict }) => verdict)).toContain("not measured");
  });

  it("name questions, cases and sides that there are: the published figures answer all but those of long runs", async () => {
    const { sections } = JSON.parse(await readFile("docs/figures/run.json", "utf8")) as RunResult;
    const open = goalsOf(
      sections,
      questions.map(({ name }) => name),
    ).filter(({ verdict }) => verdict === "not measured");
    expect(open.map(({ what }) => what).filter((what) => !what.includes("1000 sealed segments"))).toEqual([]);
  });

  it("name the cases of a start as the question fills them: so many segments, each full but the last", () => {
    for (const segments of [10, 100, 1000]) {
      const each = Math.floor((1 << 20) / (100 * 136));
      expect(Math.ceil(requestsFor(segments) / each)).toBe(segments);
    }
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
