// Files of a few lines are read whole, also where the kernel brings half of them at a time.

import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import { spawnReady, testSettings } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;

describe.skipIf(!hasCompiler)("reads that bring half of what is there", () => {
  it.each(["partition.json", "millrace.json"])("do not keep a broker from starting on its %s", async (name) => {
    const dir = tempDir("short-read");
    const library = join(dir, "short-read.so");
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, join(packageRoot(), "test/support/short-read.c"), "-ldl"]);
    const settings = testSettings(join(dir, "log"));
    expect(await (await spawnReady(settings)).stop()).toBe(0);
    const broker = await spawnReady(settings, { environment: { LD_PRELOAD: library, SHORT_READ: name } });
    expect(broker.lines.filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
    expect(await broker.stop()).toBe(0);
  });
});
