// What is in the package, and what must not be.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, inject, it } from "vitest";
import { filesBelow } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";

let dir = "";
let files: string[] = [];
const notThere = (...paths: string[]): string[] => paths.filter((path) => !files.includes(path));
const read = (path: string): string => readFileSync(join(dir, path), "utf8");

beforeAll(() => {
  const parent = tempDir("unpacked");
  execFileSync("tar", ["xzf", inject("tarball"), "-C", parent]);
  dir = join(parent, "package");
  const listed = execFileSync("tar", ["tzf", inject("tarball")], { encoding: "utf8" });
  files = listed
    .trim()
    .split("\n")
    .map((path) => path.replace(/^package\//, ""));
});

it("is below 2 MiB", () => {
  expect(statSync(inject("tarball")).size).toBeLessThan(2 * 1024 * 1024);
});

it("gives npm nothing to run and nothing to fetch: no binding.gyp at the root, no scripts, no dependencies", () => {
  expect(files).not.toContain("binding.gyp");
  const manifest = JSON.parse(read("package.json"));
  expect(Object.keys(manifest).filter((key) => /^scripts$|dependencies|gypfile|^bundle/i.test(key))).toEqual([]);
});

it("has what package.json names, a license, a readme and the changes", () => {
  const { exports, bin } = JSON.parse(read("package.json"));
  const named = [...Object.values(exports), ...Object.values(bin)].flatMap((each) =>
    typeof each === "string" ? each : Object.values(each as object),
  );
  expect(notThere(...named.map((path) => join(path)))).toEqual([]);
  expect(notThere("LICENSE", "README.md", "CHANGELOG.md", "docs/installing.md")).toEqual([]);
  expect(notThere("dist/console/index.html", "docs/img/overview.png")).toEqual([]);
  expect(notThere("packaging/grafana/millrace.json", "packaging/prometheus/alerts.yml")).toEqual([]);
});

it("has every native source, its binding and the command that builds them", () => {
  const sources = filesBelow("native", [".cc", ".h", ".inc"]).map(({ path }) => path);
  const wanted = sources.filter((path) => !path.startsWith("native/test/"));
  expect(notThere(...wanted)).toEqual([]);
  expect(notThere("native/binding.gyp", "native/node-addon-api/napi.h", "build.mjs")).toEqual([]);
});

it("has a binary for this system, stripped", () => {
  const libc = process.platform === "linux" ? /\.(glibc|musl)\.node$/ : /\.node$/;
  const mine = files.filter((path) => path.startsWith(`prebuilds/${process.platform}-${process.arch}/`));
  expect(mine.some((path) => libc.test(path))).toBe(true);
  if (process.platform !== "linux") return;
  for (const path of mine) expect(readFileSync(join(dir, path)).includes(".symtab")).toBe(false);
});

it("has declarations that need nothing but Node's own, and none that is missing", () => {
  const types = files.filter((path) => path.endsWith(".d.ts"));
  const named = types.flatMap((path) =>
    [...read(path).matchAll(/(?:^|\s)(?:import|export)\s[^;]*?from\s+"([^"]+)"|import\("([^"]+)"\)/g)].map(
      ([, from, call]) => ({ path, specifier: from ?? call ?? "" }),
    ),
  );
  const outside = named.filter(({ specifier }) => !/^(\.|node:|millrace)/.test(specifier));
  expect(outside).toEqual([]);
  const missing = named
    .filter(({ specifier }) => specifier.startsWith("."))
    .filter(({ path, specifier }) => !files.includes(join(path, "..", specifier).replace(/\.js$/, ".d.ts")));
  expect(missing).toEqual([]);
});

it("has no text with a link that leads nowhere", () => {
  const texts = files.filter((path) => path.endsWith(".md"));
  const links = texts.flatMap((path) =>
    [...read(path).matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)|^\[[^\]]+\]:\s*(\S+)/gm)].map(([, inline, reference]) => ({
      path,
      to: inline ?? reference ?? "",
    })),
  );
  const local = links.filter(({ to }) => !/^[a-z]+:/.test(to));
  expect(local.length).toBeGreaterThan(100);
  expect(local.filter(({ path, to }) => !existsSync(join(dir, path, "..", to)))).toEqual([]);
  // Those that are there in the checkout stay links.
  expect(read("README.md")).toContain("](examples/README.md)");
  expect(read("docs/protocol.md")).toContain("](../test/vectors/crc32c.tsv)");
});

it("shows nothing that is a SyntaxError in JavaScript on the oldest Node", () => {
  const shown = files.filter((path) => /\.(md|d\.ts)$/.test(path));
  expect(shown.filter((path) => /await using \w+(: \w+)? =/.test(read(path)))).toEqual([]);
});

it("names the license of every package whose code is in its bundles", () => {
  const notices = read("THIRD-PARTY-NOTICES.md");
  const code = files.filter((path) => path.endsWith(".js")).map(read);
  // esbuild writes where each module came from.
  const modules = code.flatMap((text) => [...text.matchAll(/^ *\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)]);
  const names = [...new Set(modules.map(([, name = ""]) => name))];
  expect(names).toContain("pino");
  expect(names.filter((name) => !notices.includes(`## ${name} `))).toEqual([]);
});

it("has no source map, no test and nothing of another package", () => {
  const vectors = files.filter((path) => path.startsWith("test/vectors/"));
  expect(vectors.length).toBeGreaterThan(1);
  const others = files.filter((path) => !vectors.includes(path));
  expect(others.filter((path) => /\.map$|(^|\/)(test|node_modules)\/|\.test\./.test(path))).toEqual([]);
  expect(
    files.filter((path) => path.endsWith(".js")).filter((path) => read(path).includes("sourceMappingURL")),
  ).toEqual([]);
});
