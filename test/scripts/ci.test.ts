// .ci/run: its last line is the sum of what its stages said, a stage that says nothing or hangs is a failure, and it ends in time. npm is
// a script of the test's here.

import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";
import { importScript } from "./module.js";

const { limitWithin } = await importScript<{
  limitWithin(limitMs: number, until: string | undefined, now: number): number;
}>("lib/steps.mjs");

/** Runs it in a checkout of its own where every command that it wants is there. `npm`: what that does, in sh. */
function ci(npm: string, seconds = 60) {
  const dir = tempDir("ci");
  const bin = join(dir, "bin");
  mkdirSync(bin);
  cpSync(join(root, ".ci"), join(dir, ".ci"), { recursive: true });
  for (const name of ["npm", "g++", "make", "python3", "strace", "chromium"]) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${name === "npm" ? npm : "exit 1"}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, CI_SECONDS: String(seconds) };
  const { status, stdout } = spawnSync(join(dir, ".ci/run"), [], { cwd: "/", env, encoding: "utf8" });
  return { status, last: stdout.trim().split("\n").at(-1), stdout };
}

describe("the continuous integration", () => {
  it("adds up what its stages count, skipped tests as such", () => {
    const npm = 'case "$*" in test) echo "10 passed, 0 failed";; *) echo "2 passed, 0 failed, 1 skipped";; esac';
    expect(ci(npm)).toMatchObject({ status: 0, last: "20 passed, 0 failed, 5 skipped" });
  });

  it("takes a stage that fails, says nothing or contradicts itself for a failure", () => {
    expect(ci('echo "1 passed, 2 failed"; exit 1')).toMatchObject({ status: 1, last: "6 passed, 12 failed" });
    expect(ci("true")).toMatchObject({ status: 1, last: "0 passed, 6 failed" });
    expect(ci('echo "1 passed, 0 failed"; exit 1')).toMatchObject({ status: 1, last: "6 passed, 6 failed" });
  });

  it("ends what hangs, in time, and goes on to its last line", (context) => {
    if (spawnSync("timeout", ["--version"]).status !== 0) context.skip("there is no timeout, of GNU's coreutils");
    const since = performance.now();
    const npm = 'case "$*" in test) echo "10 passed, 0 failed";; *) exec sleep 600;; esac';
    expect(ci(npm, 3)).toMatchObject({ status: 1, last: "10 passed, 5 failed" });
    expect(performance.now() - since).toBeLessThan(30_000);
  });

  it("tells the checks when to be over, so that they can still say which test hangs", () => {
    const now = Date.now();
    const told = Number(/^until (\d+)$/m.exec(ci('echo "until $CHECK_UNTIL"', 1000).stdout)?.[1]);
    expect(told).toBeGreaterThanOrEqual(Math.floor(now / 1000) + 900);
    expect(told).toBeLessThan(now / 1000 + 960);
    expect(limitWithin(60_000, undefined, 0)).toBe(60_000);
    expect(limitWithin(60_000, "100", 50_000)).toBe(50_000);
    expect(limitWithin(60_000, "1000", 50_000)).toBe(60_000);
    expect(limitWithin(60_000, "10", 50_000)).toBe(1_000);
  });
});
