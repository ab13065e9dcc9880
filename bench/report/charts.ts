// What there is to draw of a section, before anybody draws it: bars of each case, percentiles, and the course of time. Pure; it knows
// neither pixels nor colours, so that the page and the pictures of the Markdown cannot say different things.

import { type CaseResult, caseName, costs, type SideResult } from "../lib/figures.js";
import type { SectionResult } from "../lib/report.js";
import { type TimelineFigures, timelineFigures } from "../lib/timeline.js";
import type { Latency } from "../lib/tools.js";

/** Which colour: 0 is what the first case of a section compares with, the others count from 1. A name has one in all cases of a section. */
export type Series = number;

export interface Bar {
  readonly name: string;
  readonly series: Series;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly ratio?: number;
}

/** One case. Its bars share a scale; other cases have their own, since their units and sizes differ. */
export interface BarGroup {
  readonly label: string;
  readonly flush: string;
  readonly unit: string;
  readonly lessIsBetter: boolean;
  readonly bars: readonly Bar[];
}

export interface Curve {
  readonly name: string;
  readonly series: Series;
  readonly values: readonly number[];
}

/** Microseconds at each of {@link PERCENTILES}. */
export interface PercentileChart {
  readonly label: string;
  readonly curves: readonly Curve[];
}

export interface TimeCurve extends Curve {
  readonly figures: TimelineFigures;
}

export interface TimeChart {
  readonly label: string;
  readonly unit: string;
  readonly intervalMs: number;
  /** Which sample it is the course of. */
  readonly drawn: string;
  readonly curves: readonly TimeCurve[];
}

export interface SectionCharts {
  readonly bars: readonly BarGroup[];
  readonly percentiles: readonly PercentileChart[];
  readonly times: readonly TimeChart[];
}

/** The columns of a chart of percentiles, in order, and where each is found. */
export const PERCENTILES: readonly (readonly [name: string, key: keyof Latency])[] = [
  ["p50", "p50Us"],
  ["p90", "p90Us"],
  ["p99", "p99Us"],
  ["p99.9", "p999Us"],
  ["p99.99", "p9999Us"],
  ["max", "maxUs"],
];

/** Fewer intervals than this are no course of time. */
const INTERVALS_MIN = 5;

export function chartsOf({ cases }: Pick<SectionResult, "cases">): SectionCharts {
  const series = seriesOf(cases);
  return {
    bars: cases.map((one) => barsOf(one, series)),
    percentiles: cases.flatMap((one) => percentilesOf(one, series)),
    times: cases.flatMap((one) => timesOf(one, series)),
  };
}

type SeriesOf = (name: string) => Series;

function seriesOf(cases: readonly CaseResult[]): SeriesOf {
  const base = cases[0]?.sides[cases[0].sides.length - 1]?.name;
  const names = [...new Set(cases.flatMap(({ sides }) => sides.map(({ name }) => name)))].filter(
    (name) => name !== base,
  );
  return (name) => names.indexOf(name) + 1;
}

function barsOf(one: CaseResult, series: SeriesOf): BarGroup {
  const bars = one.sides.map(({ name, value, ratio }) => ({
    name,
    series: series(name),
    value: value.median,
    min: value.min,
    max: value.max,
    ratio: ratio?.median,
  }));
  return { label: one.label, flush: one.flush, unit: one.unit, lessIsBetter: costs.has(one.unit), bars };
}

function curvesOf(
  one: CaseResult,
  series: SeriesOf,
  valuesOf: (side: SideResult) => readonly number[] | undefined,
): Curve[] {
  return one.sides.flatMap((side) => {
    const values = valuesOf(side);
    return values === undefined ? [] : [{ name: side.name, series: series(side.name), values }];
  });
}

function percentilesOf(one: CaseResult, series: SeriesOf): PercentileChart[] {
  const curves = curvesOf(one, series, ({ latency }) =>
    latency === undefined ? undefined : PERCENTILES.map(([, key]) => latency[key]),
  );
  return curves.length === 0 ? [] : [{ label: caseName(one), curves }];
}

function timesOf(one: CaseResult, series: SeriesOf): TimeChart[] {
  const intervalMs = one.sides.find(({ timeline }) => timeline !== undefined)?.timeline?.intervalMs ?? 0;
  const curves = curvesOf(one, series, ({ timeline }) =>
    timeline === undefined || timeline.rates.length < INTERVALS_MIN ? undefined : timeline.rates,
  ).map((curve) => ({ ...curve, figures: timelineFigures({ intervalMs, rates: curve.values }) }));
  return curves.length === 0 ? [] : [{ label: caseName(one), unit: one.unit, intervalMs, drawn: drawnOf(one), curves }];
}

/** All sides of a case have as many samples. */
function drawnOf({ sides }: CaseResult): string {
  const samples = sides[0].value.samples;
  return samples === 1 ? "the only sample" : `middle of ${samples} samples`;
}
