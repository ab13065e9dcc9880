// What the set-up takes for "installed".

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tempDir } from "../support/tmp.js";
import { importScript } from "./module.js";

interface Entry {
  version: string;
  integrity?: string;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}

const { installNeeded } = await importScript<{ installNeeded(root: string): string | undefined }>("lib/install.mjs");

/** A checkout with these packages in its lock file, and those in node_modules. */
function checkout(wanted: Record<string, Entry>, installed?: Record<string, Entry>): string {
  const root = tempDir("install");
  writeFileSync(join(root, "package-lock.json"), JSON.stringify({ packages: { "": {}, ...wanted } }));
  if (installed === undefined) return root;
  mkdirSync(join(root, "node_modules"));
  writeFileSync(join(root, "node_modules/.package-lock.json"), JSON.stringify({ packages: installed }));
  return root;
}

const a = { version: "1.0.0", integrity: "sha512-a" };
const here = { os: [process.platform], cpu: [process.arch] };

it("nothing is needed when npm installed what the lock file says", () => {
  expect(installNeeded(checkout({ "node_modules/a": a }, { "node_modules/a": a }))).toBeUndefined();
});

it("an optional package of another system, or another libc, is not missed", () => {
  const others = {
    "node_modules/w": { version: "1.0.0", optional: true, os: ["win32"], cpu: [process.arch] },
    "node_modules/m": { version: "1.0.0", optional: true, ...here, libc: ["musl"] },
    "node_modules/x": { version: "1.0.0", optional: true },
  };
  expect(installNeeded(checkout({ "node_modules/a": a, ...others }, { "node_modules/a": a }))).toBeUndefined();
});

it.each([
  ["nothing is installed", undefined, "no packages are installed"],
  ["a package is missing", {}, "a is not installed"],
  ["a package has another version", { "node_modules/a": { version: "0.9.0" } }, "a is at 0.9.0, not 1.0.0"],
  ["a package is too many", { "node_modules/a": a, "node_modules/b": a }, "b is not in package-lock.json"],
])("an install is needed when %s", (_, installed, why) => {
  expect(installNeeded(checkout({ "node_modules/a": a }, installed))).toBe(why);
});

it("a missing optional package of this system is missed: node_modules came from elsewhere", () => {
  const root = checkout({ "node_modules/a": { ...a, optional: true, ...here } }, {});
  expect(installNeeded(root)).toBe("a is not installed");
});
