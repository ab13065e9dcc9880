// A call that is interrupted is made again: nobody hears of it.

import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import { connectTo, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { produce } from "../support/wire.js";

const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;

describe.skipIf(!hasCompiler)("every second ftruncate that is interrupted", () => {
  it.each(["MAPPED", "FILE_CHANNEL"])("keeps no broker from starting, writing and stopping (%s)", async (mode) => {
    const dir = tempDir("interrupted");
    const library = join(dir, "interrupted.so");
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, join(packageRoot(), "test/support/interrupted.c"), "-ldl"]);
    const settings = { ...testSettings(join(dir, "log")), "segment.mode": mode };
    for (let start = 0; start < 2; start++) {
      const broker = await spawnReady(settings, { environment: { LD_PRELOAD: library } });
      const wire = await connectTo(broker);
      expect((await wire.ask(produce([ascii("record")], { ack: 2 }))).error).toBe(0);
      expect(await broker.stop()).toBe(0);
      expect(broker.lines.filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
    }
  });
});
