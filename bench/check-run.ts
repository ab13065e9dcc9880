// `--check`: a quick run of the questions whose ratios were recorded, which fails on a collapse and on nothing else. A case that has
// collapsed is measured once more before it fails, and fails if no pair of that is any better. `--record` is the same run, and writes the ratios down.

import { readFile } from "node:fs/promises";
import { compareCase, type Finding, findingText, type RecordedRatios, recordedSides, recordOf } from "./lib/check.js";
import { type Case, caseName, measureCase } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import type { SectionResult } from "./lib/report.js";
import { replace } from "./lib/results.js";
import type { Stand } from "./lib/stand.js";

/** After this no case is begun: what is left counts as skipped. A machine that is busy is slow, and that is no collapse. */
export const CHECK_SECONDS = 180;
/** After this something hangs. */
export const CHECK_HARD_SECONDS = 235;

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

class TimeIsUp extends Error {}

export const readRecorded = async (path: string): Promise<RecordedRatios> =>
  JSON.parse(await readFile(path, "utf8")) as RecordedRatios;

/** `until`: of `performance.now()`. */
export async function checkQuestions(
  stand: Stand,
  asked: readonly Question[],
  recorded: RecordedRatios,
  until: number,
): Promise<Counts> {
  const { progress: say } = stand;
  const failures: string[] = [];
  let passed = 0;
  let compared = 0;
  const check = async (name: string, one: Case): Promise<void> => {
    if (performance.now() > until) throw new TimeIsUp();
    if (recorded[name]?.[caseName(one)] === undefined) return;
    const progress = (text: string): void => say(`  ${text}`);
    const first = compareCase(name, await measureCase(one, stand.rounds, progress), recorded, "median");
    const bad = first.findings.length === 0 ? [] : await again(name, one, first.findings);
    compared += first.compared;
    passed += first.compared - bad.length;
    failures.push(...bad.map(findingText));
  };
  const again = async (name: string, one: Case, before: readonly Finding[]): Promise<Finding[]> => {
    for (const finding of before) say(`once more, since it seems to have collapsed: ${findingText(finding)}`);
    const second = compareCase(
      name,
      await measureCase(one, stand.rounds, (text) => say(`  ${text}`)),
      recorded,
      "best",
    );
    return second.findings.filter(({ side }) => before.some((finding) => finding.side === side));
  };

  for (const { name, title, ask } of asked) {
    say(`\n${name}: ${title}`);
    try {
      await ask(stand, (one) => check(name, one));
    } catch (error) {
      if (error instanceof TimeIsUp) break;
      failures.push(`${name}: ${error instanceof Error ? error.stack : error}`);
    }
  }
  for (const failure of failures) say(`failed: ${failure}`);
  const wanted = recordedSides(Object.fromEntries(asked.map(({ name }) => [name, recorded[name] ?? {}])));
  return { passed, failed: failures.length, skipped: Math.max(0, wanted - compared) };
}

export const countsLine = ({ passed, failed, skipped }: Counts): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;

/** Ratios of the questions that were asked; those of the others stay. */
export async function record(path: string, sections: readonly SectionResult[]): Promise<void> {
  const before = await readRecorded(path).catch((): RecordedRatios => ({}));
  await replace(path, `${JSON.stringify({ ...before, ...recordOf(sections) }, undefined, 2)}\n`);
}
