// The Prometheus text format, version 0.0.4, read strictly: what a scraper would refuse, or take for something else, throws.
// Written against the format's description, not against what writes it.

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*/;
const TYPES = new Set(["counter", "gauge", "histogram", "summary", "untyped"]);

export function parseExposition(text: string): Map<string, ParsedFamily> {
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  const families = new Map<string, { name: string; type: string; help: string; samples: Sample[] }>();
  const helps = new Map<string, string>();
  let current: string | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    if (line === "") continue;
    const [, what, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (what === "HELP") {
      if (helps.has(name)) throw new Error(`two HELP lines of ${name}`);
      if (/\\(?![\\n])/.test(rest)) throw new Error(`HELP of ${name}: a backslash that escapes nothing`);
      helps.set(name, rest);
    } else if (what === "TYPE") {
      if (families.has(name)) throw new Error(`two TYPE lines of ${name}`);
      if (!TYPES.has(rest)) throw new Error(`TYPE of ${name}: ${rest}`);
      if (NAME.exec(name)?.[0] !== name) throw new Error(`not a name: ${name}`);
      families.set(name, { name, type: rest, help: helps.get(name) ?? "", samples: [] });
      current = name;
    } else if (!line.startsWith("#")) {
      const sample = parseSample(line);
      const family = families.get(current ?? "");
      if (family === undefined || !isOf(sample.name, family)) throw new Error(`${line}: not below its TYPE`);
      family.samples.push(sample);
    }
  }
  for (const family of families.values()) check(family);
  return families;
}

const isOf = (name: string, { name: family, type }: ParsedFamily): boolean =>
  type === "histogram" ? [`${family}_bucket`, `${family}_sum`, `${family}_count`].includes(name) : name === family;

function parseSample(line: string): Sample {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) throw new Error(`no name: ${line}`);
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith("{")) {
    rest = rest.slice(1);
    while (!rest.startsWith("}")) {
      const label = LABEL.exec(rest)?.[0];
      const value = label === undefined ? null : /^="((?:[^"\\]|\\[\\"n])*)"/.exec(rest.slice(label.length));
      if (label === undefined || value === null || label in labels) throw new Error(`labels of ${line}`);
      labels[label] = (value[1] ?? "").replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
      rest = rest.slice(label.length + value[0].length);
      if (rest.startsWith(",")) rest = rest.slice(1);
      else if (!rest.startsWith("}")) throw new Error(`labels of ${line}`);
    }
    rest = rest.slice(1);
  }
  const value = /^ (\+Inf|-Inf|NaN|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?: -?\d+)?$/i.exec(rest)?.[1];
  if (value === undefined) throw new Error(`value of ${line}`);
  return { name, labels, value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value) };
}

function check(family: ParsedFamily): void {
  const { name, type, help, samples } = family;
  if (help === "") throw new Error(`${name} has no HELP`);
  const series = samples.map((sample) => `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`);
  if (new Set(series).size !== series.length) throw new Error(`${name}: a series twice`);
  if (type === "counter") {
    if (!name.endsWith("_total")) throw new Error(`${name}: a counter ends in _total`);
    if (samples.some(({ value }) => !(value >= 0))) throw new Error(`${name}: a counter below 0`);
  }
  if (type === "histogram") for (const group of groups(samples)) checkHistogram(name, group);
}

/** Samples that differ in nothing but `le`. */
function groups(samples: readonly Sample[]): Sample[][] {
  const byLabels = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(Object.entries(labels).sort());
    byLabels.set(key, [...(byLabels.get(key) ?? []), sample]);
  }
  return [...byLabels.values()];
}

function checkHistogram(name: string, samples: readonly Sample[]): void {
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`);
  const sum = samples.filter((sample) => sample.name === `${name}_sum`);
  const [count, ...more] = samples.filter((sample) => sample.name === `${name}_count`);
  if (sum.length !== 1 || count === undefined || more.length > 0) throw new Error(`${name}: one sum and one count`);
  const bounds = buckets.map(({ labels }) => (labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le)));
  for (let i = 0; i < buckets.length; i++) {
    if (!(bounds[i] > (bounds[i - 1] ?? Number.NEGATIVE_INFINITY))) throw new Error(`${name}: bounds that do not grow`);
    if (buckets[i].value < (buckets[i - 1]?.value ?? 0)) throw new Error(`${name}: buckets that do not add up`);
  }
  if (bounds.at(-1) !== Number.POSITIVE_INFINITY) throw new Error(`${name}: no bucket for everything`);
  if (buckets.at(-1)?.value !== count.value) throw new Error(`${name}: the last bucket is not the count`);
}

/** The value of one series. */
export function seriesValue(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
  const wanted = JSON.stringify(Object.entries(labels).sort());
  const sample = family?.samples.find(
    (each) => each.name === name && JSON.stringify(Object.entries(each.labels).sort()) === wanted,
  );
  if (sample === undefined) throw new Error(`there is no ${name} with ${wanted}`);
  return sample.value;
}
