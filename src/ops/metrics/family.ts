// One family of the exposition: a name, what it says, its type, and where its values come from when somebody scrapes. Nothing
// is kept between two scrapes: what is counted is counted where it happens.

import type { Histogram } from "../../model/histogram.js";

export type Labels = Readonly<Record<string, string>>;

export interface Value {
  /** Of a histogram: the family's name with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
  readonly labels: Labels;
  readonly value: number;
}

export interface Family<Source> {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  /** For the documentation; values have these and no others. */
  readonly labels: readonly string[];
  readonly values: (source: Source) => Iterable<Value> | Promise<Iterable<Value>>;
}

const one = (value: number): readonly Value[] => [{ labels: {}, value }];

export const counter = <S>(name: string, help: string, read: (source: S) => number): Family<S> => ({
  name,
  type: "counter",
  help,
  labels: [],
  values: (source) => one(read(source)),
});

export const gauge = <S>(name: string, help: string, read: (source: S) => number): Family<S> => ({
  name,
  type: "gauge",
  help,
  labels: [],
  values: (source) => one(read(source)),
});

/** A value for each of some things that one label tells apart. */
export const labelled = <S>(
  type: "counter" | "gauge",
  name: string,
  help: string,
  label: string,
  read: (source: S) => Iterable<readonly [of: string, value: number]>,
): Family<S> => ({
  name,
  type,
  help,
  labels: [label],
  values: (source) => Array.from(read(source), ([of, value]) => ({ labels: { [label]: of }, value })),
});

export interface HistogramShown {
  readonly labels: Labels;
  readonly histogram: Histogram;
}

/** `scale`: what the histogram's unit is in the family's (microseconds in seconds: 1e-6). */
export const histogram = <S>(
  name: string,
  help: string,
  labels: readonly string[],
  scale: number,
  read: (source: S) => readonly HistogramShown[],
): Family<S> => ({
  name,
  type: "histogram",
  help,
  labels,
  values: (source) => read(source).flatMap((shown) => valuesOf(name, scale, shown)),
});

/** Every second step of those that are four to a power of two: a factor of about 1.4 is what a dashboard needs. */
const MERGED = 2;

function valuesOf(name: string, scale: number, { labels, histogram: counted }: HistogramShown): Value[] {
  const values: Value[] = [];
  const { counts } = counted;
  const last = counts.length - 1;
  const isFine = counted.stepsPerOctave > MERGED;
  let below = 0;
  for (let bucket = 0; bucket < last; bucket++) {
    below += counts[bucket];
    if (isFine && bucket % MERGED === 1) continue;
    const le = String(Number((counted.boundOf(bucket) * scale).toPrecision(12)));
    values.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: below });
  }
  const total = below + counts[last];
  values.push({ metricName: `${name}_bucket`, labels: { ...labels, le: "+Inf" }, value: total });
  values.push({ metricName: `${name}_sum`, labels, value: counted.sum * scale });
  values.push({ metricName: `${name}_count`, labels, value: total });
  return values;
}
