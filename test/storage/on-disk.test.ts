// What lies on the disk as appending goes on: the bytes, the next segment, and when the active one is rolled for its age.

import { describe, expect, it } from "vitest";
import { tempDir } from "../support/tmp.js";
import { bytesOf, files, logPath } from "./support/crash.js";
import { COMBINATIONS, open } from "./support/opened.js";
import { payload, payloads, stored } from "./support/records.js";

describe("on disk", () => {
  it("bytes that a producer sent are the bytes stored, in both formats", async () => {
    for (const [mode, format] of COMBINATIONS) {
      const dir = tempDir();
      const opened = await open(dir, { mode, format });
      await opened.append(...payloads(0, 3, 50));
      await opened.close();
      const expected = Buffer.concat(payloads(0, 3, 50).map((each) => stored(each, format)));
      expect(bytesOf(logPath(dir, 0)).equals(expected)).toBe(true);
    }
  });

  it("the next segment is prepared when the active one is three quarters full, and is gone after a close", async () => {
    const dir = tempDir();
    const opened = await open(dir, { format: "plain", segmentBytes: 4000 });
    for (let number = 0; number < 29; number++) await opened.append(payload(number, 96));
    expect(files(dir, ".tmp")).toEqual([]);
    for (let number = 29; number < 31; number++) await opened.append(payload(number, 96));
    expect(files(dir, ".tmp")).toEqual(["next.tmp"]);
    for (let number = 31; number < 41; number++) await opened.append(payload(number, 96));
    expect(files(dir, ".tmp")).toEqual([]);
    expect(files(dir, ".log")).toHaveLength(2);
    for (let number = 41; number < 75; number++) await opened.append(payload(number, 96));
    await opened.log.settled();
    expect(files(dir, ".tmp")).toEqual(["next.tmp"]);
    await opened.close();
    expect(files(dir, ".tmp")).toEqual([]);
  });

  it("a segment that is old and not empty is rolled, an empty one is not", async () => {
    const opened = await open(tempDir(), { segmentRollMs: 1000 });
    opened.clock.ms += 5000;
    await opened.log.upkeep();
    expect(opened.log.segments()).toHaveLength(1);
    await opened.append(payload(0, 10));
    opened.clock.ms += 999;
    await opened.log.upkeep();
    expect(opened.log.segments()).toHaveLength(1);
    opened.clock.ms += 1;
    await opened.log.upkeep();
    expect(opened.log.segments().map(({ baseOffset }) => baseOffset)).toEqual([0, 1]);
    expect(opened.log.isActive(0)).toBe(false);
    expect(await opened.append(payload(1, 10))).toBe(1);
    expect(await opened.readAll()).toEqual(payloads(0, 2, 10));
    await opened.close();
  });

  it("a segment that was old when the partition was opened is rolled without an append", async () => {
    const dir = tempDir();
    const first = await open(dir);
    await first.append(payload(0, 10));
    await first.close();
    const again = await open(dir, { segmentRollMs: 1000 });
    again.clock.ms += 2000;
    await again.log.upkeep();
    await again.log.settled();
    expect(again.log.segments().map(({ sealed }) => sealed)).toEqual([true, false]);
    await again.close();
  });
});
