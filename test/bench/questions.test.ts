// The questions as a whole: each has a name of its own and a line in docs/benchmarks.md, and what CI compares is there to be asked.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PEERS, QUESTIONS, usage } from "../../bench/command-line.mjs";
import { checked, questions } from "../../bench/questions.js";
import { root } from "../rules/sources.js";

const names = questions.map(({ name }) => name);
const read = (path: string): string => readFileSync(join(root, path), "utf8");

it("have names of their own, which docs/benchmarks.md explains, and no others", () => {
  expect(new Set(names).size).toBe(names.length);
  const explained = [...read("docs/benchmarks.md").matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
  expect(explained.toSorted()).toEqual(names.toSorted());
});

it("stand in the help, which is shown before anything is bundled, in their order and with their titles", () => {
  expect(Object.entries(QUESTIONS)).toEqual(questions.map(({ name, title }) => [name, title]));
  for (const { name, title } of questions) expect(usage()).toContain(`  ${name.padEnd(20)} ${title}`);
  expect(usage()).toContain(`peers [${PEERS.join("] [")}]`);
});

it("that CI checks are asked, and their ratios are recorded", () => {
  const recorded = JSON.parse(read("bench/recorded-ratios.json")) as Record<string, unknown>;
  expect(Object.keys(recorded).toSorted()).toEqual(checked.toSorted());
  expect(checked.filter((name) => !names.includes(name))).toEqual([]);
});
