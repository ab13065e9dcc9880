// What the build leaves in dist/: runs as it is, and knows no more than it should.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { importsOf, root } from "../rules/sources.js";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Modules that a bundle loads, its chunks' included. */
function loads(path: string, seen = new Set<string>()): Set<string> {
  for (const { specifier } of importsOf({ path, text: read(path) })) {
    const inDist = specifier.startsWith(".") ? join(path, "..", specifier) : specifier;
    if (seen.has(inDist)) continue;
    seen.add(inDist);
    if (specifier.startsWith(".")) loads(inDist, seen);
  }
  return seen;
}

it("the command is a program of its own", () => {
  const version = execFileSync(join(root, manifest.bin.millrace), ["--version"], { encoding: "utf8" });
  expect(version.trim()).toBe(manifest.version);
});

it("what package.json exports exists, types included", () => {
  for (const entry of Object.values<string | { types: string; import: string }>(manifest.exports)) {
    for (const path of typeof entry === "string" ? [entry] : Object.values(entry)) expect(read(path)).not.toBe("");
  }
});

it("the client loads no package and no addon", () => {
  const outside = [...loads("dist/client.js")].filter((name) => !name.startsWith("dist/") && !name.startsWith("node:"));
  expect(outside).toEqual([]);
});

it("the bundles load nothing but Node's modules and each other", () => {
  const loaded = ["broker", "cli", "index", "client"].flatMap((name) => [...loads(`dist/${name}.js`)]);
  expect(loaded.filter((name) => !name.startsWith("dist/") && !name.startsWith("node:"))).toEqual([]);
});

it("the exports that a program uses are there", async () => {
  const client = await import(join(root, "dist/client.js"));
  const index = await import(join(root, "dist/index.js"));
  expect(Object.keys(client).length).toBeGreaterThan(0);
  expect(index.openLog).toBeTypeOf("function");
  // One class, whichever entry it came from.
  expect(index.MillraceError).toBe(client.MillraceError);
});
