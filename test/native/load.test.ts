// Finding the addon, from src/ and from dist/, and what is said when it is not there.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { expect, it, vi } from "vitest";
import { loadAddon, packageRoot } from "../../src/native/load.js";
import { lackOfElf } from "../../src/native/whole-elf.js";
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

/** What `loadAddon` says in a package of its own, in a process of its own, around the compiled file that is given. */
function loadIn(addon: Buffer | undefined): { code: string; message: string; dir: string } {
  const dir = tempDir("package");
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "millrace", type: "module" }));
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  if (addon !== undefined) {
    mkdirSync(join(dir, "build/Release"), { recursive: true });
    writeFileSync(join(dir, "build/Release/millrace.node"), addon);
  }
  const outfile = join(dir, "dist/load.js");
  const entry = join(root, "src/native/load.ts");
  buildSync({ entryPoints: [entry], outfile, bundle: true, format: "esm", platform: "node", packages: "external" });
  const script = `import { loadAddon } from ${JSON.stringify(outfile)};
    try { loadAddon(); console.log('{ "code": "loaded" }'); }
    catch (error) { console.log(JSON.stringify({ code: error.code, message: error.message })); }`;
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  return { ...JSON.parse(said), dir };
}

it("a missing addon is an error that says where it was looked for and how it is built", () => {
  const said = loadIn(undefined);
  expect(said.code).toBe("ADDON_UNAVAILABLE");
  expect(said.message).toContain(join(said.dir, "build/Release"));
  expect(said.message).toContain("npm run build");
});

it("an addon whose file is cut off, wherever, is an error with its path and the command, and not the death of the process", () => {
  const whole = readFileSync(join(root, "build/Release/millrace.node"));
  expect(loadIn(whole).code).toBe("loaded");
  for (const length of [
    0,
    1,
    63,
    64,
    700,
    4096,
    ...[0.25, 0.5, 0.75, 0.95].map((part) => Math.floor(whole.length * part)),
    whole.length - 1,
  ]) {
    const said = loadIn(whole.subarray(0, length));
    expect(said, `${length} bytes`).toMatchObject({ code: "ADDON_UNAVAILABLE" });
    expect(said.message).toContain(join(said.dir, "build/Release/millrace.node"));
    expect(said.message).toContain("npm run build");
  }
});

it("what a broken file says of its tables takes no more memory than the file has bytes", () => {
  const file = Buffer.alloc(200, 0xff);
  file.write("\x7fELF\x02\x01", "latin1");
  file.writeBigUInt64LE(64n, 32);
  file.writeBigUInt64LE(0n, 40);
  const path = join(tempDir("elf"), "broken.node");
  writeFileSync(path, file);
  const spy = vi.spyOn(Buffer, "alloc");
  try {
    expect(lackOfElf(path)).toMatch(/cut off: it has 200 bytes/);
    expect(Math.max(...spy.mock.calls.map(([bytes]) => bytes))).toBeLessThanOrEqual(200);
  } finally {
    spy.mockRestore();
  }
});

it("an addon whose file is something else is an error as well", () => {
  for (const content of [Buffer.from("404: not found\n".repeat(20)), Buffer.alloc(4096), Buffer.alloc(4096, 0xff)]) {
    expect(loadIn(content)).toMatchObject({
      code: "ADDON_UNAVAILABLE",
      message: expect.stringContaining("npm run build"),
    });
  }
});
