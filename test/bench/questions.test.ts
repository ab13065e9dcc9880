// The questions as a whole: each has a name of its own and a line in docs/benchmarks.md, and what CI compares is there to be asked.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { checked, questions } from "../../bench/questions.js";
import { root } from "../rules/sources.js";

const names = questions.map(({ name }) => name);
const read = (path: string): string => readFileSync(join(root, path), "utf8");

it("have names of their own, which docs/benchmarks.md explains, and no others", () => {
  expect(new Set(names).size).toBe(names.length);
  const explained = [...read("docs/benchmarks.md").matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
  expect(explained.toSorted()).toEqual(names.toSorted());
});

it("that CI checks are asked, and their ratios are recorded", () => {
  const recorded = JSON.parse(read("bench/recorded-ratios.json")) as Record<string, unknown>;
  expect(Object.keys(recorded).toSorted()).toEqual(checked.toSorted());
  expect(checked.filter((name) => !names.includes(name))).toEqual([]);
});
