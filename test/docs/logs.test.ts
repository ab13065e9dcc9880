// docs/logs.md has every kind of line that the broker writes, and no other, with the level that stands in the source.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { filesBelow, root } from "../rules/sources.js";

const LAYERS = /^src\/(ops|server|broker|log|storage)\//;
const sources = filesBelow("src", [".ts"]).filter(({ path }) => LAYERS.test(path));

/** Kinds have a dot; what verify and dump print of a file has none. */
const KIND = /\b(?:kind|paused|resumed): "([a-z]+\.[a-z-]+)"/g;

function written(): Map<string, Set<string>> {
  const levels = new Map<string, Set<string>>();
  for (const { text } of sources) {
    for (const match of text.matchAll(KIND)) {
      const [all, kind = ""] = match;
      const found = levels.get(kind) ?? new Set();
      levels.set(kind, found);
      const before = /\.(trace|debug|info|warn|error|fatal)\(\s*\{\s*$/.exec(text.slice(0, match.index));
      if (before?.[1] !== undefined) found.add(before[1]);
      const after = /^,\s*level: ([^,\n]+),/.exec(text.slice(match.index + all.length));
      for (const [, level = ""] of after?.[1]?.matchAll(/"(\w+)"/g) ?? []) found.add(level);
    }
  }
  return levels;
}

const page = readFileSync(join(root, "docs/logs.md"), "utf8");
const documented = new Map(
  [...page.matchAll(/^\| `([a-z]+\.[a-z-]+)` \| ([a-z, ]+) \|/gm)].map(([, kind = "", levels = ""]) => [
    kind,
    levels.split(", "),
  ]),
);

it("every kind of line is documented, and nothing else is", () => {
  expect([...documented.keys()].sort()).toEqual([...written().keys()].sort());
});

it("with the level that it has", () => {
  for (const [kind, levels] of written()) {
    const told = documented.get(kind) ?? [];
    expect([kind, [...levels].filter((level) => !told.includes(level))]).toEqual([kind, []]);
  }
  // Most stand beside their level, so the check sees them.
  expect([...written().values()].filter(({ size }) => size > 0).length).toBeGreaterThan(30);
});
