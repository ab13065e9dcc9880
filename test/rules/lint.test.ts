// The linter is set up to find what it should: each rule that we lean on, on a planted violation.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { tempDir } from "../support/tmp.js";
import { root } from "./sources.js";

const planted: Record<string, string> = {
  none: "\nexport const one = 1;",
  noFloatingPromises: "async function f(): Promise<void> {}\nf();",
  noMisusedPromises: "[1].forEach(async () => {});",
  useExhaustiveSwitchCases:
    'export function f(x: "a" | "b") {\n  switch (x) {\n    case "a":\n      return 1;\n  }\n  return 2;\n}',
  noExplicitAny: "export let x: any;",
  noDefaultExport: "export default 1;",
  noUnusedImports: 'import { a } from "./none.js";',
  noUnusedVariables: "const a = 1;",
  useImportType: 'import { A } from "./none.js";\nexport let a: A;',
  organizeImports: 'import { c } from "./c.js";\nimport { a } from "./a.js";\nexport { a, c };',
  noFocusedTests: 'it.only("a", () => {});',
  noEnum: "export enum A { B }",
};

let complaints: { file: string; rule: string }[];

beforeAll(() => {
  const dir = tempDir("lint");
  cpSync(join(root, "biome.json"), join(dir, "biome.json"));
  mkdirSync(join(dir, "src"));
  for (const [rule, text] of Object.entries(planted))
    writeFileSync(join(dir, `src/${rule}.ts`), `// Planted.\n${text}\n`);
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const args = [biome, "check", "--reporter=github", "--max-diagnostics=none", "."];
  const { stdout } = spawnSync(process.execPath, args, { cwd: dir, encoding: "utf8" });
  const lines = stdout.matchAll(/title=(?:lint|assist)\/\w+\/(\w+).*file=[^,]*?(\w+)\.ts/g);
  complaints = [...lines].map(([, rule = "", file = ""]) => ({ file, rule }));
});

it("lets a file without a fault through", () => {
  expect(complaints.filter(({ file }) => file === "none")).toEqual([]);
});

it.each(Object.keys(planted).filter((rule) => rule !== "none"))("finds what %s is about", (rule) => {
  expect(complaints.filter(({ file }) => file === rule).map((each) => each.rule)).toContain(rule);
});
