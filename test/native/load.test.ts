// Finding the addon, from src/ and from dist/, and what is said when it is not there.

import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { expect, it } from "vitest";
import { loadAddon, packageRoot } from "../../src/native/load.js";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";

it("the package's root is the first millrace above, from wherever a file lies", () => {
  const dir = tempDir("package");
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "millrace" }));
  mkdirSync(join(dir, "dist/chunks"), { recursive: true });
  writeFileSync(join(dir, "dist/package.json"), JSON.stringify({ name: "another" }));
  expect(packageRoot(join(dir, "dist/chunks/a.js"))).toBe(dir);
  expect(packageRoot(join(dir, "src/native/load.ts"))).toBe(dir);
  expect(`${packageRoot()}/`).toBe(root);
});

it("a file outside of any millrace is an error with its path", () => {
  const file = join(tempDir("package"), "a.js");
  expect(() => packageRoot(file)).toThrow(expect.objectContaining({ code: "ADDON_UNAVAILABLE" }));
  expect(() => packageRoot(file)).toThrow(file);
});

it("the addon that was built loads", () => {
  expect(typeof loadAddon()).toBe("object");
});

it("a missing addon is an error that says where it was looked for and how it is built", () => {
  const dir = tempDir("package");
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "millrace", type: "module" }));
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  const outfile = join(dir, "dist/load.js");
  const entry = join(root, "src/native/load.ts");
  buildSync({ entryPoints: [entry], outfile, bundle: true, format: "esm", platform: "node", packages: "external" });
  const script = `import { loadAddon } from ${JSON.stringify(outfile)};
    try { loadAddon(); } catch (error) { console.log(JSON.stringify({ code: error.code, message: error.message })); }`;
  const said = JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }));
  expect(said.code).toBe("ADDON_UNAVAILABLE");
  expect(said.message).toContain(join(dir, "build/Release"));
  expect(said.message).toContain("npm run build");
});
