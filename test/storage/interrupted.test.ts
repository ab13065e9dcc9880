// A call that is interrupted is made again: nobody hears of it.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connectTo, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { cannotPreload, preloadable } from "../support/preload.js";
import { tempDir } from "../support/tmp.js";
import { produce } from "../support/wire.js";

describe.skipIf(cannotPreload !== undefined)("every second ftruncate that is interrupted", () => {
  it.each(["MAPPED", "FILE_CHANNEL"])("keeps no broker from starting, writing and stopping (%s)", async (mode) => {
    const dir = tempDir("interrupted");
    const library = preloadable("interrupted");
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
