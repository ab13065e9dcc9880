// When a segment was written last, after a kill has left it without an index: never taken to be earlier than it was, because
// a reader that starts at a time would then miss its records.

import { rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { repairPartition } from "../../src/storage/repair.js";
import { indexName } from "../../src/storage/segment-name.js";
import { tempDir } from "../support/tmp.js";
import { crashCopyWithTimes, flipBit, logPath } from "./support/crash.js";
import { MODES, open } from "./support/opened.js";
import { payload } from "./support/records.js";

it.each(MODES)(
  "%s: a next segment that was prepared long before says nothing about the one before it",
  async (mode) => {
    const options = { mode, segmentBytes: 1000, segmentRollMs: 60_000 };
    const opened = await open(tempDir(), options);
    // Beyond three quarters: the next one is prepared.
    for (let number = 0; number < 8; number++) await opened.append(payload(number, 100));
    await pause(50);
    opened.clock.ms = Date.now();
    await opened.append(payload(8, 50));
    const lastMs = opened.clock.ms;
    opened.clock.ms += 61_000;
    await opened.log.upkeep();
    expect(opened.log.segments()).toHaveLength(2);
    const killed = await open(crashCopyWithTimes(opened.log.dir), options);
    expect(await killed.log.offsetAtTime(lastMs)).toMatchObject({ offset: 0 });
    expect(killed.log.segments()[0].lastAppendMs).toBeGreaterThanOrEqual(lastMs);
    await killed.close();
    await opened.close();
  },
);

it("is not later than the first append behind it, where that is known", async () => {
  const dir = tempDir();
  const opened = await open(dir, { segmentBytes: 450 });
  const startedMs = opened.clock.ms;
  for (let number = 0; number < 12; number++) {
    await opened.append(payload(number, 100));
    opened.clock.ms += 1000;
  }
  await opened.close();
  rmSync(join(dir, indexName(0)));
  opened.clock.ms += 1_000_000;
  const again = await open(dir, { segmentBytes: 450, clock: opened.clock });
  // Four records in each: the fifth came four seconds after the first.
  expect(again.log.segments()[0].lastAppendMs).toBe(startedMs + 4000);
  await again.close();
});

it("is taken from what is known also by a repair, and not from the file", async () => {
  const dir = tempDir();
  const opened = await open(dir, { segmentBytes: 450, format: "crc32c" });
  const startedMs = opened.clock.ms;
  for (let number = 0; number < 12; number++) {
    await opened.append(payload(number, 100));
    opened.clock.ms += 1000;
  }
  await opened.close();
  for (const base of [0, 4, 8]) {
    rmSync(join(dir, indexName(base)));
    if (base > 0) flipBit(logPath(dir, base), 50);
    utimesSync(logPath(dir, base), 1, 1);
  }
  opened.clock.ms += 1_000_000;
  for await (const _ of repairPartition(dir, opened.clock)) void _;
  const again = await open(dir, { segmentBytes: 450, clock: opened.clock });
  const segments = again.log.segments();
  expect(segments.map(({ baseOffset }) => baseOffset)).toEqual([0, 4, 8, 12]);
  for (const { lastAppendMs } of segments.slice(0, 3)) expect(lastAppendMs).toBe(opened.clock.ms);
  expect(await again.log.offsetAtTime(startedMs + 5000)).toMatchObject({ offset: 0 });
  await again.close();
});
