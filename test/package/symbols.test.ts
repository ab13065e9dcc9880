// What the binary asks of the system: a C++ library that is there already, and no symbol newer than glibc 2.28 and GCC 8 have, as on
// Debian 10 and RHEL 8. See native/old_glibc.cc.

import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { tempDir } from "../support/tmp.js";

const newest = { GLIBC: "2.28", GLIBCXX: "3.4.25", CXXABI: "1.3.11", GCC: "8.0.0" };

/** Undefined symbols with a version beyond those. */
function tooNew(table: string): string[] {
  const versions = [...table.matchAll(/^.*\*UND\*.*\(?\b(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)\)?\s+(\S+)$/gm)];
  if (versions.length === 0) throw new Error(`no versions in what objdump printed:\n${table}`);
  return versions
    .filter(([, family = "", version = ""]) => isNewer(version, newest[family as keyof typeof newest]))
    .map(([, family, version, symbol]) => `${symbol} ${family}_${version}`);
}

function isNewer(a: string, b: string): boolean {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  for (let at = 0; at < 3; at++) {
    const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** The binaries of the package for glibc, of any processor: objdump reads them all. */
function binaries(): string[] {
  const dir = tempDir("symbols");
  execFileSync("tar", ["xzf", inject("tarball"), "-C", dir]);
  const prebuilds = join(dir, "package/prebuilds");
  const found = readdirSync(prebuilds, { recursive: true, encoding: "utf8" });
  return found.filter((path) => path.endsWith(".glibc.node")).map((path) => join(prebuilds, path));
}

const objdump = (...args: string[]): string => execFileSync("objdump", args, { encoding: "utf8" });

it("every binary for glibc loads with glibc 2.28 and GCC 8's library, which it shares", (context) => {
  if (process.platform !== "linux") context.skip("only Linux has glibc");
  if (spawnSync("objdump", ["--version"]).status !== 0) context.skip("there is no objdump");
  const files = binaries();
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) {
    expect(tooNew(objdump("-T", file))).toEqual([]);
    expect(objdump("-p", file)).toMatch(/NEEDED\s+libstdc\+\+\.so\.6/);
  }
});

it("a symbol that is newer is found", () => {
  const line = (version: string) => `0000000000000000      DF *UND*\t0000000000000000 (${version}) some_symbol`;
  expect(tooNew(`${line("GLIBC_2.2.5")}\n${line("GLIBC_2.34")}`)).toEqual(["some_symbol GLIBC_2.34"]);
  expect(tooNew(`${line("GLIBCXX_3.4.9")}\n${line("GLIBCXX_3.4.29")}`)).toEqual(["some_symbol GLIBCXX_3.4.29"]);
  expect(tooNew(line("GLIBC_2.28"))).toEqual([]);
  expect(() => tooNew("")).toThrow("no versions");
});
