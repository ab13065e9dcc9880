// Packing: the binding that stands beside its sources, the licenses, and a checkout that refuses to be packed as it is. What comes out is
// tried in test/package.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";
import { importScript } from "./module.js";

const sources = await importScript<{
  stageNativeSources(dir: string): void;
  bindingBesideItsSources(text: string): string;
}>("pack-sources.mjs");
const { bundledPackages, notices, packageManifest } = await importScript<{
  bundledPackages(dist?: string): string[];
  notices(names: readonly string[]): string;
  packageManifest(): Record<string, unknown>;
}>("pack-stage.mjs");

const binding = readFileSync(join(root, "binding.gyp"), "utf8");

it("the binding of the package names what lies beside it, and lets a compiler warn", () => {
  const dir = tempDir("native");
  sources.stageNativeSources(dir);
  const { targets } = JSON.parse(readFileSync(join(dir, "binding.gyp"), "utf8"));
  const [target] = targets;
  for (const path of [...target.sources, ...target.include_dirs].filter((each) => !each.startsWith("<"))) {
    expect(existsSync(join(dir, path)), path).toBe(true);
  }
  expect(JSON.stringify(target)).not.toContain("-Werror");
  expect(existsSync(join(dir, "core/selector.cc"))).toBe(true);
  expect(existsSync(join(dir, "test"))).toBe(false);
});

it("a path in binding.gyp that packing does not know is an error, not a package that does not build", () => {
  const more = binding.replace('"include_dirs": ["native",', '"include_dirs": ["native", "other/native",');
  expect(more).not.toBe(binding);
  expect(() => sources.bindingBesideItsSources(more)).toThrow("does not know");
});

it("a bundled package's license is in the notices, or that of another with the same, and never left out", () => {
  expect(notices(["pino", "valibot"])).toMatch(
    /^## pino [\d.]+ \(MIT\)\n\n.*Permission is hereby granted.*^## valibot/ms,
  );
  expect(() => notices(["no-such-package"])).toThrow();
});

it("whose code is in the bundles is read from their source maps, and one without a map is an error", () => {
  const dist = tempDir("dist");
  const sources = ["../src/a.ts", "../node_modules/pino/pino.js", "../../node_modules/@scope/b/c.js"];
  writeFileSync(join(dist, "a.js"), "");
  expect(() => bundledPackages(dist)).toThrow("a.js was built without a source map");
  writeFileSync(join(dist, "a.js.map"), JSON.stringify({ sources }));
  expect(bundledPackages(dist)).toEqual(["@scope/b", "node-addon-api", "pino"]);
});

it("the package's package.json names nothing that would be run or fetched", () => {
  expect(Object.keys(packageManifest()).sort()).toEqual(
    ["bin", "description", "engines", "exports", "license", "name", "os", "type", "version"].sort(),
  );
});

it("npm pack in the checkout refuses and says what packs it", () => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [join(root, "scripts/pack.mjs"), "--refuse"], {
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain("npm run package");
  expect(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).scripts.prepack).toContain("pack.mjs --refuse");
});

it("a binary that was made for another machine is made anew", async () => {
  const { prebuildStamp } = await importScript<{ prebuildStamp(arch?: string): string }>("pack.mjs");
  expect(prebuildStamp("x64")).toBe(prebuildStamp("x64"));
  expect(prebuildStamp("arm64")).not.toBe(prebuildStamp("x64"));
});
