// What the set-up says when it cannot build.

import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { tempDir } from "../support/tmp.js";
import { importScript, scriptPath } from "./module.js";

const { headersOfThisNode } = await importScript<{ headersOfThisNode(prefix?: string, chosen?: string): string }>(
  "lib/addon.mjs",
);

function prefixWithHeaders(major: string): string {
  const prefix = tempDir("headers");
  mkdirSync(join(prefix, "include/node"), { recursive: true });
  writeFileSync(join(prefix, "include/node/node_version.h"), `#define NODE_MAJOR_VERSION ${major}\n`);
  return prefix;
}

const [major = ""] = process.versions.node.split(".");

it("the headers beside the running Node are taken, or the chosen ones", () => {
  const prefix = prefixWithHeaders(major);
  expect(headersOfThisNode(prefix, "")).toBe(prefix);
  expect(headersOfThisNode(tempDir("empty"), prefix)).toBe(prefix);
});

it("missing headers are an error that says where they should be and where they come from", () => {
  const prefix = tempDir("empty");
  expect(() => headersOfThisNode(prefix, "")).toThrow(`there is no ${prefix}/include/node/node_version.h`);
  expect(() => headersOfThisNode(prefix, "")).toThrow("Nothing is downloaded");
});

it("headers of another Node are an error", () => {
  expect(() => headersOfThisNode(prefixWithHeaders("6"), "")).toThrow("belongs to Node 6");
});

it("all missing tools are named at once, with the command that installs them", () => {
  const bin = tempDir("bin"); // a PATH with nothing in it
  const script = `import { buildAddon } from ${JSON.stringify(pathToFileURL(scriptPath("lib/addon.mjs")).href)};
    await buildAddon().catch((error) => console.error(error.message));`;
  const { PATH, CXX, MAKE, PYTHON, npm_config_python, ...rest } = process.env;
  const env = { ...rest, PATH: bin, npm_config_nodedir: prefixWithHeaders(major) };
  symlinkSync(process.execPath, join(bin, "node"));
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { env, encoding: "utf8" });
  expect(stderr).toContain("needs a C++ compiler and make and Python 3");
  if (process.platform === "linux") expect(stderr).toContain("apt-get install g++ make python3");
});
