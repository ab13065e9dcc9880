// The counting at the end of `npm test` is true: planted failures of each kind are counted, and no run without results passes.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";
import { importScript } from "./module.js";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const { countsLine, lastCounts } = await importScript<{
  countsLine(counts: Counts): string;
  lastCounts(text: string): Counts | undefined;
}>("lib/counts.mjs");

/** A checkout with the scripts of this one and nothing to check but the given files. */
function checkout(files: Record<string, string>): string {
  const dir = tempDir("checkout");
  for (const path of ["scripts", "vitest.config.ts"]) cpSync(join(root, path), join(dir, path), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(dir, path, ".."), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

function check(dir: string, step: string): { status: number | null; stdout: string } {
  const { CHECK_COUNTS, VITEST, VITEST_POOL_ID, VITEST_WORKER_ID, TEST, NODE_ENV, ...env } = process.env;
  return spawnSync(process.execPath, ["scripts/check.mjs", "--only", step], { cwd: dir, env, encoding: "utf8" });
}

const head = 'import { expect, it } from "vitest";\n';

describe("a counts line", () => {
  it("is read from the end of a text, and written the same", () => {
    expect(lastCounts("1 passed, 2 failed\n3 passed, 0 failed, 4 skipped\n")).toEqual({
      passed: 3,
      failed: 0,
      skipped: 4,
    });
    expect(lastCounts("x 1 passed, 2 failed\n")).toBeUndefined();
    expect(countsLine({ passed: 3, failed: 0, skipped: 4 })).toBe("3 passed, 0 failed, 4 skipped");
    expect(countsLine({ passed: 3, failed: 1, skipped: 0 })).toBe("3 passed, 1 failed");
  });
});

describe("TypeScript tests", () => {
  it("passed, failed and skipped ones are counted, and a skip says why", () => {
    const text = `${head}it("a", () => {}); it("b", () => { expect(1).toBe(2); }); it("c", (test) => { test.skip("no disk"); });`;
    const { status, stdout } = check(checkout({ "test/a.test.ts": text }), "tests");
    expect(stdout).toMatch(/\n1 passed, 1 failed, 1 skipped\n$/);
    expect(stdout).toContain("skipped: c: no disk");
    expect(status).toBe(1);
  });

  it("a file that does not load and an error after the test are failures", () => {
    const late = `${head}it("a", async () => { setTimeout(() => { throw new Error("late"); }, 1); await new Promise((r) => setTimeout(r, 20)); });`;
    const { status, stdout } = check(
      checkout({ "test/a.test.ts": 'import "./none.js";', "test/b.test.ts": late }),
      "tests",
    );
    expect(stdout).toMatch(/\n1 passed, 2 failed\n$/);
    expect(status).toBe(1);
  });

  it("no test at all is a failure", () => {
    expect(check(checkout({}), "tests").stdout).toMatch(/\n0 passed, 1 failed\n$/);
  });
});

describe("native tests", () => {
  const harness = join(root, "native/test/harness");
  const native = (text: string): string => {
    const dir = checkout({ "native/test/planted_test.cc": `#include "test/harness.h"\n${text}` });
    for (const ending of [".h", ".cc"]) cpSync(harness + ending, join(dir, `native/test/harness${ending}`));
    return dir;
  };

  it("failures are counted, and what the sanitizers find is one", (test) => {
    const text = `
      TEST("holds") { EXPECT_EQ(1, 1); }
      TEST("does not hold") { EXPECT_EQ(1, 2); EXPECT_EQ(2, 3); }`;
    const { status, stdout } = check(native(text), "native");
    if (stdout.includes("skipped: native tests")) test.skip(stdout);
    expect(stdout).toMatch(/\n1 passed, 1 failed\n$/);
    expect(status).toBe(1);

    const leak = 'char* sink; TEST("leaks") { sink = new char[8]; EXPECT_TRUE(sink != nullptr); sink = nullptr; }';
    expect(check(native(leak), "native").stdout).toMatch(/\n1 passed, 1 failed\n$/);
    const overflow = 'volatile int x = 2147483647; TEST("overflows") { x = x + 1; }';
    expect(check(native(overflow), "native").stdout).toMatch(/\n0 passed, 1 failed\n$/);
  });

  it("a race is found", (test) => {
    const race = `#include <thread>
      int shared; TEST("races") { std::thread a([] { shared = 1; }); std::thread b([] { shared = 2; }); a.join(); b.join(); }`;
    const { stdout } = check(native(race), "native-tsan");
    if (stdout.includes("skipped: native tests")) test.skip(stdout);
    expect(stdout).toMatch(/\n0 passed, 1 failed\n$/);
  });

  it("a file that does not compile is a failure", (test) => {
    const { stdout } = check(native("TEST("), "native");
    if (stdout.includes("skipped: native tests")) test.skip(stdout);
    expect(stdout).toMatch(/\n0 passed, 1 failed\n$/);
    expect(stdout).toContain("planted_test.cc does not build");
  });
});
