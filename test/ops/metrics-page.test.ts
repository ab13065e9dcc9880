// docs/metrics.md has its table from the metrics themselves. `npx vitest run test/ops/metrics-page.test.ts -u` writes it anew.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import { alwaysFamilies, servingFamilies } from "../../src/ops/metrics/families.js";

const families = [...alwaysFamilies, ...servingFamilies];

it("the page of the metrics says what /metrics says", async () => {
  const path = join(packageRoot(), "docs/metrics.md");
  const parts = /^([\s\S]*<!-- table[^\n]*-->\n)[\s\S]*(<!-- end -->\n[\s\S]*)$/.exec(readFileSync(path, "utf8"));
  if (parts === null) throw new Error(`${path} has no place for the table`);
  const rows = families.map(({ name, type, labels, help }) => {
    const with_ = labels.length === 0 ? "" : ` {${labels.join(", ")}}`;
    return `| \`${name}\`${with_} | ${type} | ${help} |`;
  });
  const table = ["| metric | type | |", "|---|---|---|", ...rows].join("\n");
  await expect(`${parts[1]}\n${table}\n\n${parts[2]}`).toMatchFileSnapshot(path);
});

it("names have their unit last, and counters end in total", () => {
  const units = /_(seconds|bytes|total|info)$/;
  const plain = families.filter(({ name, type }) => type === "counter" && !name.endsWith("_total"));
  expect(plain.map(({ name }) => name)).toEqual([]);
  // Counts of things have no unit.
  const unitless = families.filter(({ name }) => !units.test(name)).map(({ name }) => name);
  expect(unitless.filter((name) => /(bytes|seconds|ms|duration|delay|size)/.test(name))).toEqual([
    "millrace_barrier_group_size",
    "millrace_queued_bytes_limit",
  ]);
});
