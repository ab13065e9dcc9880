// The dashboard and the alert rules name metrics that there are, with labels that they have, and ask of each what its type can answer.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ERROR_ROWS } from "../../src/model/error-codes.js";
import { packageRoot } from "../../src/native/load.js";

const read = (path: string): string => readFileSync(join(packageRoot(), path), "utf8");

interface Metric {
  readonly type: string;
  readonly labels: readonly string[];
}

/** By docs/metrics.md, which a test of its own keeps equal to what /metrics says. */
const metrics: ReadonlyMap<string, Metric> = new Map(
  [...read("docs/metrics.md").matchAll(/^\| `(\w+)`(?: \{([^}]*)\})? \| (\w+) \|/gm)].map(
    ([, name = "", labels = "", type = ""]) => [name, { type, labels: labels === "" ? [] : labels.split(", ") }],
  ),
);

const VALUES: Readonly<Record<string, readonly string[]>> = {
  code: ERROR_ROWS.map(({ name }) => name),
  state: ["open", "refused", "poisoned"],
  waited: ["yes", "no"],
  kind: [...read("docs/logs.md").matchAll(/^\| `([a-z.-]+)` \|/gm)].map(([, kind = ""]) => kind),
};
/** Prometheus' own. */
const TARGET_LABELS = ["job", "instance", "le"];

/** What is wrong with an expression; nothing when it is right. */
function faults(expression: string): string[] {
  const found: string[] = [];
  const used = [...expression.matchAll(/(?<![\w$"])((?:millrace|process|nodejs)_\w+)(?:\{([^}]*)\})?(\[)?/g)];
  if (used.length === 0 && !/^up\{job="millrace"\}/.test(expression)) found.push("no metric of millrace");
  const labels = new Set(TARGET_LABELS);
  for (const [, name = "", selector = "", range] of used) {
    const family = name.replace(/_(bucket|sum|count)$/, "");
    const metric = metrics.get(name) ?? metrics.get(family);
    if (metric === undefined) {
      found.push(`${name} is not in docs/metrics.md`);
      continue;
    }
    for (const label of metric.labels) labels.add(label);
    if ((metric.type === "histogram") === metrics.has(name)) found.push(`${name} is a ${metric.type}`);
    const counts = metric.type !== "gauge";
    const before = expression.slice(0, expression.indexOf(`${name}`));
    const by = /(rate|increase|changes|deriv|predict_linear)\($/.exec(before)?.[1];
    if (range !== undefined && counts !== /^(rate|increase)$/.test(by ?? ""))
      found.push(`${by ?? "nothing"} of ${name}, a ${metric.type}`);
    if (range === undefined && counts) found.push(`${name} without a rate: a ${metric.type} only ever grows`);
    for (const [, label = "", value = ""] of selector.matchAll(/(\w+)=~?"([^"]*)"/g)) {
      if (!labels.has(label)) found.push(`${name} has no label ${label}`);
      else if (!TARGET_LABELS.includes(label) && !VALUES[label]?.includes(value))
        found.push(`${label} is never ${value}`);
    }
  }
  for (const [, list = ""] of expression.matchAll(/\b(?:by|without|on) \(([^)]*)\)/g)) {
    found.push(
      ...list
        .split(", ")
        .filter((label) => !labels.has(label))
        .map((label) => `nothing there has a label ${label}`),
    );
  }
  if (expression.includes("histogram_quantile") && !/by \(le\b/.test(expression))
    found.push("a quantile of buckets that are not summed by le");
  return found;
}

describe("the alert rules", () => {
  const text = read("packaging/prometheus/alerts.yml");
  const rules = text.split(/^ {6}- /m).slice(1);
  const field = (rule: string, name: string): string =>
    new RegExp(`^ *${name}: (.*?)(?: +#.*)?$`, "m").exec(rule)?.[1] ?? "";

  it.each(rules.map((rule) => [field(rule, "alert"), rule]))(
    "%s asks for what there is, and says what to do",
    (name, rule) => {
      expect(name).toMatch(/^Millrace\w+$/);
      expect(faults(field(rule, "expr"))).toEqual([]);
      expect(field(rule, "labels")).toMatch(/^\{ severity: (page|ticket) \}$/);
      for (const said of ["summary", "description"]) expect(field(rule, said)).toMatch(/^".{10,}"$/);
    },
  );

  it("have names of their own, and name only log lines that there are", () => {
    const names = rules.map((rule) => field(rule, "alert"));
    expect([new Set(names).size, names.length > 10]).toEqual([names.length, true]);
    const lines = [...text.matchAll(/log line ([a-z.-]+)/g)].map(([, kind = ""]) => kind);
    expect(lines.filter((kind) => !VALUES.kind.includes(kind))).toEqual([]);
  });
});

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

describe("the dashboard", () => {
  const dashboard = JSON.parse(read("packaging/grafana/millrace.json")) as { panels: readonly Panel[] };
  const drawn = dashboard.panels.filter(({ type }) => type !== "row");
  const expressions = drawn.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr]));

  it("asks for what there is", () => {
    expect(expressions.length).toBeGreaterThan(30);
    expect(expressions.flatMap(([title, expr]) => faults(expr).map((fault) => `${title}: ${fault}: ${expr}`))).toEqual(
      [],
    );
  });

  it("asks for the chosen brokers alone, of the chosen data source", () => {
    const chosen = '{job=~"$job", instance=~"$instance"';
    const all = expressions.filter(([, expr]) => expr.split(chosen).length !== expr.split("{").length);
    expect(all).toEqual([]);
    expect(drawn.filter(({ datasource }) => datasource?.uid !== "$".concat("{datasource}"))).toEqual([]);
  });

  it("has panels that do not lie on each other, each with its own number and name", () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(new Set(drawn.map(({ title }) => title)).size).toBeGreaterThan(drawn.length - 2);
    const overlaps = dashboard.panels.flatMap(({ id, title, gridPos: a }) =>
      dashboard.panels
        .filter((other) => other.id > id)
        .filter(({ gridPos: b }) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h)
        .map((other) => `${title} and ${other.title}`),
    );
    expect(overlaps).toEqual([]);
    expect(dashboard.panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });
});

describe("what checks them", () => {
  it.each([
    ["millrace_nothing > 0", "millrace_nothing is not in docs/metrics.md"],
    ["rate(millrace_connections[5m])", "rate of millrace_connections, a gauge"],
    ["millrace_cold_reads_total > 5", "millrace_cold_reads_total without a rate: a counter only ever grows"],
    ["rate(millrace_barrier_duration_seconds[5m])", "millrace_barrier_duration_seconds is a histogram"],
    ['millrace_partitions{state="broken"}', "state is never broken"],
    ['millrace_ready{topic="a"}', "millrace_ready has no label topic"],
    ["sum by (topic) (millrace_ready)", "nothing there has a label topic"],
    ["node_load1 > 3", "no metric of millrace"],
  ])("finds what is wrong with %s", (expression, fault) => expect(faults(expression)).toEqual([fault]));
});
