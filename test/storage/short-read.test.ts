// Files of a few lines are read whole, also where the kernel brings half of them at a time.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { spawnReady, testSettings } from "../support/broker.js";
import { cannotPreload, preloadable } from "../support/preload.js";
import { tempDir } from "../support/tmp.js";

describe.skipIf(cannotPreload !== undefined)("reads that bring half of what is there", () => {
  it.each(["partition.json", "millrace.json"])("do not keep a broker from starting on its %s", async (name) => {
    const dir = tempDir("short-read");
    const library = preloadable("short-read");
    const settings = testSettings(join(dir, "log"));
    expect(await (await spawnReady(settings)).stop()).toBe(0);
    const broker = await spawnReady(settings, { environment: { LD_PRELOAD: library, SHORT_READ: name } });
    expect(broker.lines.filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
    expect(await broker.stop()).toBe(0);
  });
});
