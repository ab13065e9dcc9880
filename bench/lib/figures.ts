// What a question answers with: cases, each with sides that did the same work, each with its samples. A number never travels without
// the command that made it, its flush mode and how large its sample was.

import { inTurn, pairRatios, type Spread, spread } from "./compare.js";
import type { Timeline } from "./timeline.js";
import type { Latency } from "./tools.js";

export type Unit =
  | "requests/s"
  | "records/s"
  | "batches/s"
  | "GB/s"
  | "GiB/s"
  | "barriers/s"
  | "ms"
  | "s/GiB"
  | "bytes"
  | "µs"
  | "µs/s";

/** Units of which less is better. A ratio above 1 is then a cost. */
export const costs: ReadonlySet<Unit> = new Set<Unit>(["ms", "s/GiB", "bytes", "µs", "µs/s"]);

export interface Sample {
  readonly value: number;
  /** Numbers beside it, by the titles of their columns in the report ("p99 µs"). */
  readonly details: Readonly<Record<string, number>>;
  /** For the chart of percentiles. */
  readonly latency?: Latency;
  /** For the chart over time. */
  readonly timeline?: Timeline;
}

export interface Side {
  /** "millrace", "floor", … */
  readonly name: string;
  /** What a person would type to see it again. */
  readonly command: string;
  readonly measure: () => Promise<Sample>;
}

export interface Case {
  readonly label: string;
  /** What was promised when it was acknowledged, or how it was forced. */
  readonly flush: string;
  readonly unit: Unit;
  /** How large one sample is: "200 000 requests". */
  readonly sample: string;
  /** The last one is what the others are compared with. */
  readonly sides: readonly Side[];
  /** For samples that take minutes: no more rounds than this. */
  readonly roundsMax?: number;
}

/** What tells a case from the others of its question. */
export const caseName = ({ label, flush }: Pick<Case, "label" | "flush">): string =>
  flush === "none" ? label : `${label}, ${flush}`;

export interface SideResult {
  readonly name: string;
  readonly command: string;
  readonly samples: readonly Sample[];
  readonly value: Spread;
  /** Medians. */
  readonly details: Readonly<Record<string, number>>;
  /** To the last side, pair by pair; the last side has none. */
  readonly ratio?: Spread;
  /** Each percentile is the median of the samples' own. */
  readonly latency?: Latency;
  /** Of the sample in the middle: a mean of several would smooth away what it is there to show. */
  readonly timeline?: Timeline;
}

export interface CaseResult {
  readonly label: string;
  readonly flush: string;
  readonly unit: Unit;
  readonly sample: string;
  readonly sides: readonly SideResult[];
}

export async function measureCase(
  one: Case,
  rounds: number,
  progress: (text: string) => void = () => undefined,
): Promise<CaseResult> {
  const samples = await inTurn(
    one.sides.map(({ measure }) => measure),
    Math.min(rounds, one.roundsMax ?? rounds),
    (side, round, sample) =>
      progress(
        `${one.label}: ${one.sides[side].name} ${round + 1}/${rounds}: ${shortNumber(sample.value)} ${one.unit}`,
      ),
  );
  const values = samples.map((of) => of.map(({ value }) => value));
  const base = values[values.length - 1];
  const sides = one.sides.map(({ name, command }, index): SideResult => {
    const result = {
      name,
      command,
      samples: samples[index],
      value: spread(values[index]),
      details: medians(samples[index].map(({ details }) => details)),
      latency: latencyOf(samples[index]),
      timeline: middle(samples[index]).timeline,
    };
    return index === one.sides.length - 1 ? result : { ...result, ratio: spread(pairRatios(values[index], base)) };
  });
  return { label: one.label, flush: one.flush, unit: one.unit, sample: one.sample, sides };
}

function medians(of: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const names = new Set(of.flatMap((one) => Object.keys(one)));
  return Object.fromEntries([...names].map((name) => [name, spread(of.flatMap((one) => one[name] ?? [])).median]));
}

function latencyOf(samples: readonly Sample[]): Latency | undefined {
  const all = samples.flatMap(({ latency }) => (latency === undefined ? [] : [{ ...latency }]));
  return all.length === 0 ? undefined : (medians(all) as unknown as Latency);
}

/** The sample whose value is the median, or the one just below it. */
function middle(samples: readonly Sample[]): Sample {
  return samples.toSorted((a, b) => a.value - b.value)[(samples.length - 1) >> 1];
}

/** Columns of what a server spent: these, too, are worth more beside the floor's. */
const SPENT = /^server (CPU|cores)/;

/** As a cell shows it; of what was spent also the ratio to the last side, pair by pair. Undefined: the side has no such figure. */
export function detailText({ sides }: CaseResult, side: SideResult, name: string): string | undefined {
  const value = side.details[name];
  if (value === undefined) return undefined;
  const base = sides[sides.length - 1];
  const [own, others] = [side, base].map(({ samples }) => samples.flatMap(({ details }) => details[name] ?? []));
  const comparable =
    SPENT.test(name) && side !== base && own.length === others.length && others.every((one) => one > 0);
  return comparable
    ? `${shortNumber(value)} (× ${spread(pairRatios(own, others)).median.toFixed(2)})`
    : shortNumber(value);
}

/** Three figures that count, with thin groups of thousands: more would pretend. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 1000) {
    const digits = Math.max(0, Math.floor(Math.log10(Math.abs(value))) - 2);
    const rounded = Math.round(value / 10 ** digits) * 10 ** digits;
    return String(rounded).replace(/\B(?=(\d{3})+$)/g, " ");
  }
  return String(Number(value.toPrecision(3)));
}
