// Has something collapsed: the ratios to the floor of a quick run, held against those that were recorded. A ratio may be a third of the
// recorded one before it fails, since CI's machines are shared and noisy; what it catches is a mistake that costs a factor, not a
// percent. Absolute figures are never compared: they say as much about the machine.

import { type CaseResult, caseName, costs } from "./figures.js";
import type { SectionResult } from "./report.js";

/** By question, case and side: the ratio to the last side of the case. */
export type RecordedRatios = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, number>>>>>>;

/** Worse than the recorded one by more than this factor is a collapse. */
export const COLLAPSE_FACTOR = 3;

export interface Finding {
  readonly question: string;
  readonly label: string;
  readonly side: string;
  readonly recorded: number;
  readonly ratio: number;
}

export function recordOf(sections: readonly SectionResult[]): RecordedRatios {
  return Object.fromEntries(
    sections.map(({ name, cases }) => [
      name,
      Object.fromEntries(
        cases.map((one) => [caseName(one), ratiosOf(one)]).filter(([, ratios]) => Object.keys(ratios).length > 0),
      ),
    ]),
  );
}

/** A floor beside a floor says nothing about the product. */
const isFloor = (command: string): boolean => command.startsWith("floor ");

function ratiosOf(one: CaseResult): Record<string, number> {
  const rounded = (ratio: number): number => Number(ratio.toPrecision(3));
  // The least favourable sample: what a disturbed neighbour made look better must not become what is asked for.
  const worst = costs.has(one.unit) ? "max" : "min";
  return Object.fromEntries(
    one.sides.flatMap(({ name, ratio, command }) =>
      ratio === undefined || isFloor(command) ? [] : [[name, rounded(ratio[worst])]],
    ),
  );
}

/** Less than a third of the recorded ratio; more than three times as much where less is better. */
export function collapsed(one: CaseResult, recorded: number, ratio: number): boolean {
  // The other way round a side that measured nothing, whose ratio is no number, would pass.
  return !(costs.has(one.unit) ? ratio <= recorded * COLLAPSE_FACTOR : ratio >= recorded / COLLAPSE_FACTOR);
}

/**
 * What of a case has collapsed, and how many sides were compared. A side that was not recorded is new, and not compared. `by`: the median
 * of its pairs, or the best of them, since what has really collapsed has no good pair, and a neighbour spoils only some.
 */
export function compareCase(
  question: string,
  one: CaseResult,
  recorded: RecordedRatios,
  by: "median" | "best",
): { compared: number; findings: Finding[] } {
  const known = recorded[question]?.[caseName(one)] ?? {};
  const best = costs.has(one.unit) ? "min" : "max";
  const findings: Finding[] = [];
  let compared = 0;
  for (const { name: side, ratio } of one.sides) {
    const was = known[side];
    if (was === undefined || ratio === undefined) continue;
    compared++;
    const is = ratio[by === "median" ? "median" : best];
    if (collapsed(one, was, is)) findings.push({ question, label: caseName(one), side, recorded: was, ratio: is });
  }
  return { compared, findings };
}

/** Sides that were recorded, of all questions or of one. */
export function recordedSides(recorded: RecordedRatios): number {
  return Object.values(recorded)
    .flatMap((cases) => Object.values(cases))
    .reduce((sum, sides) => sum + Object.keys(sides).length, 0);
}

export const findingText = ({ question, label, side, recorded, ratio }: Finding): string =>
  `${question}: ${label}: ${side}: ${ratio.toFixed(2)} of its floor, recorded ${recorded.toFixed(2)}`;
