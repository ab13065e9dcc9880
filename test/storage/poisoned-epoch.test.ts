// A restart after a failed barrier. The kernel lets go of the pages that it could not write, so what readers saw in them may
// be gone without a torn record, also when the machine itself did not stop.

import { expect, it } from "vitest";
import { tempDir } from "../support/tmp.js";
import { crashCopy, logPath, overwrite } from "./support/crash.js";
import { open } from "./support/opened.js";
import { payload } from "./support/records.js";

const options = { mode: "MAPPED", format: "crc32c", segmentBytes: 4500, deps: { bootId: "a".repeat(32) } } as const;

it.each(["is killed then", "is stopped then"])(
  "F20 O07 the epoch goes up when a process whose barrier failed %s",
  async (how) => {
    const dir = tempDir();
    const opened = await open(dir, options);
    for (let number = 0; number < 10; number++) await opened.append(payload(number, 100));
    await opened.log.force();
    for (let number = 10; number < 20; number++) await opened.append(payload(number, 100));
    opened.log.poison(new Error("a barrier failed"));
    await opened.log.settled();
    if (how === "is stopped then") await opened.close();
    const left = how === "is stopped then" ? dir : crashCopy(dir);
    // What the disk says: zeros.
    overwrite(logPath(left, 0), 15 * 108, new Uint8Array(5 * 108));
    const again = await open(left, options);
    expect([again.log.logEndOffset, again.log.epoch, again.log.epochStart]).toEqual([15, 1, 15]);
    expect(again.log.truncatedAt(0, 20)).toBe(15);
    await again.close();
    if (how === "is killed then") await opened.close();
  },
);
