// Rules for alerts that a page shows: each metric is one of docs/metrics.md with that label, and each value of a label one that there is.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ERROR_ROWS } from "../../src/model/error-codes.js";
import { root } from "../rules/sources.js";
import type { Block } from "./blocks.js";

const read = (page: string): string => readFileSync(join(root, page), "utf8");
const metrics = new Map(
  [...read("docs/metrics.md").matchAll(/^\| `(\w+)`(?: \{([^}]*)\})? \| (\w+) \|/gm)].map(
    ([, name, labels = "", type]) => [name, { labels: labels.split(", "), type }],
  ),
);
/** What a label may be. Prometheus itself adds job and instance. */
const VALUES: Readonly<Record<string, ReadonlySet<string>>> = {
  code: new Set(ERROR_ROWS.map(({ name }) => name)),
  state: new Set(["open", "refused", "poisoned"]),
  kind: new Set([...read("docs/logs.md").matchAll(/^\| `([a-z.-]+)` \|/gm)].map(([, kind = ""]) => kind)),
  job: new Set(["millrace"]),
};

export function checkAlerts({ text }: Block): void {
  const rules = [...text.matchAll(/^ +- alert: (\w+)(?: +#.*)?\n +expr: (.+)\n/gm)];
  expect(rules.length).toBe(text.split("- alert:").length - 1);
  expect(new Set(rules.map(([, name]) => name)).size).toBe(rules.length);
  for (const [, rule, expression = ""] of rules) {
    const used = [...expression.matchAll(/\b((?:millrace|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)];
    if (!expression.startsWith("up{")) expect([rule, used.length > 0]).toEqual([rule, true]);
    for (const [, name = "", selector = ""] of used) checkMetric(`${rule}: ${name}`, name, selector);
  }
}

function checkMetric(where: string, name: string, selector: string): void {
  const family = name.replace(/_bucket$/, "");
  const metric = metrics.get(family);
  expect(metric, where).toBeDefined();
  expect(metric?.type === "histogram", where).toBe(family !== name);
  for (const [, label = "", value = ""] of selector.matchAll(/(\w+)="([^"]*)"/g)) {
    if (label !== "job") expect(metric?.labels, where).toContain(label);
    expect([...(VALUES[label] ?? [])], `${where} ${label}`).toContain(value);
  }
}
