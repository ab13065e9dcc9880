// Retention on real files: what goes, what stays, and who may still read it.

import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ReadOutcome } from "../../src/storage/read-plan.js";
import { indexName, logName } from "../../src/storage/segment-name.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, crashCopy, files } from "./support/crash.js";
import { COMBINATIONS, type Opened, open, type TestOptions } from "./support/opened.js";
import { payload, payloads, recordsIn } from "./support/records.js";

const threeSegments = async (dir: string, options: TestOptions = {}): Promise<Opened> => {
  const opened = await open(dir, { segmentBytes: 450, ...options });
  for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
  await opened.log.force();
  await opened.log.settled();
  return opened;
};

it.each(COMBINATIONS)(
  "S13 %s %s: of three segments and retention to one byte the active one is left, and a reader in the middle finishes",
  async (mode, format) => {
    const dir = tempDir();
    const opened = await threeSegments(dir, { mode, format, retentionBytes: 1 });
    const plan = await opened.plan(1);
    expect(plan.outcome).toBe(ReadOutcome.DATA);
    const bytes = new Uint8Array(plan.bytes);
    const half = Math.floor(plan.bytes / 2);
    const { file, position } = plan;
    expect(await file!.readAsync(bytes.subarray(0, half), position)).toBe(half);
    const rest = file!.readAsync(bytes.subarray(half), position + half);
    expect(await opened.log.applyRetention()).toBe(2);
    expect(await rest).toBe(bytes.length - half);
    expect(recordsIn(bytes, format)).toEqual(payloads(1, 3, 100));
    expect(opened.log.segments()).toHaveLength(1);
    expect(opened.log.logStartOffset).toBe(8);
    expect(files(dir, ".log")).toEqual([logName(8)]);
    expect(files(dir, ".index")).toEqual([]);
    expect((await opened.plan(7)).outcome).toBe(ReadOutcome.OUT_OF_RANGE);
    expect(await opened.readAll()).toEqual(payloads(8, 4, 100));
    expect(opened.events.filter(({ kind }) => kind === "segment.removed")).toHaveLength(2);
    await opened.close();
    const again = await open(dir, { mode, format, segmentBytes: 450 });
    expect([again.log.logStartOffset, again.log.logEndOffset]).toEqual([8, 12]);
    await again.close();
  },
);

it("goes by the age of a segment's last append, and by the clock that was passed in", async () => {
  const opened = await open(tempDir(), { segmentBytes: 450, retentionMs: 1000 });
  for (let number = 0; number < 12; number++) {
    await opened.append(payload(number, 100));
    if (number % 4 === 3) opened.clock.ms += 300;
  }
  await opened.log.settled();
  expect(await opened.log.applyRetention()).toBe(0);
  opened.clock.ms += 101;
  expect(await opened.log.applyRetention()).toBe(1);
  expect(await opened.log.applyRetention()).toBe(0);
  opened.clock.ms += 300;
  expect(await opened.log.applyRetention()).toBe(1);
  opened.clock.ms += 1_000_000;
  expect(await opened.log.applyRetention()).toBe(0);
  expect(opened.log.logStartOffset).toBe(8);
  await opened.close();
});

it("keeps the time of a segment's last append over a restart", async () => {
  const dir = tempDir();
  const first = await threeSegments(dir);
  const { lastAppendMs } = first.log.segments()[0];
  await first.close();
  const again = await open(dir, { segmentBytes: 450, retentionMs: 1000 });
  expect(again.log.segments()[0].lastAppendMs).toBe(lastAppendMs);
  again.clock.ms = lastAppendMs + 1000;
  expect(await again.log.applyRetention()).toBe(0);
  again.clock.ms = lastAppendMs + 1001;
  expect(await again.log.applyRetention()).toBe(2);
  await again.close();
});

it("never removes the active segment, and nothing that is not forced yet", async () => {
  const opened = await open(tempDir(), { segmentBytes: 450, retentionBytes: 1 });
  for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
  // The seals of the first two are on their way.
  const removed = await opened.log.applyRetention();
  await opened.log.settled();
  expect(removed + (await opened.log.applyRetention())).toBe(2);
  expect(await opened.readAll()).toEqual(payloads(8, 4, 100));
  await opened.close();
});

it("rolling by age and removing in one go leaves a log that begins at its end", async () => {
  const opened = await open(tempDir(), { segmentRollMs: 1000, retentionMs: 1500 });
  await opened.append(payload(0, 100));
  opened.clock.ms += 2000;
  await opened.log.upkeep();
  await opened.log.settled();
  expect(await opened.log.applyRetention()).toBe(1);
  expect([opened.log.logStartOffset, opened.log.logEndOffset, opened.log.durableOffset]).toEqual([1, 1, 1]);
  expect((await opened.plan(0)).outcome).toBe(ReadOutcome.OUT_OF_RANGE);
  expect(await opened.append(payload(1, 10))).toBe(1);
  await opened.close();
});

it.each([
  ["nothing was unlinked yet", [] as string[]],
  ["an index was unlinked", [indexName(0)]],
  ["the second was unlinked before the first", [indexName(4), logName(4)]],
  ["only an index is left", [logName(0), indexName(0), logName(4)]],
])("a crash in the middle of removing, when %s: the log starts where it did, and the rest goes", async (_, gone) => {
  const dir = tempDir();
  const opened = await threeSegments(dir, { retentionBytes: 1 });
  const kept = [logName(0), indexName(0), logName(4), indexName(4)].filter((name) => !gone.includes(name));
  const contents = kept.map((name) => [name, bytesOf(join(dir, name))] as const);
  await opened.log.applyRetention();
  const killed = crashCopy(dir);
  await opened.close();
  for (const [name, bytes] of contents) writeFileSync(join(killed, name), bytes);
  const again = await open(killed, { segmentBytes: 450 });
  expect([again.log.logStartOffset, again.log.logEndOffset]).toEqual([8, 12]);
  expect(files(killed, ".log")).toEqual([logName(8)]);
  expect(files(killed).some((name) => kept.includes(name))).toBe(false);
  expect(await again.readAll()).toEqual(payloads(8, 4, 100));
  await again.close();
});

it("a checkpoint in a segment that retention removed since says where the log begins, and nothing against it", async () => {
  const dir = tempDir();
  // Forced in the first segment; everything after it was sealed by its roll.
  const opened = await open(dir, { segmentBytes: 450, retentionBytes: 1 });
  await opened.append(payload(0, 100));
  await opened.log.force();
  opened.clock.ms += 2000;
  await opened.log.upkeep();
  await opened.log.settled();
  for (let number = 1; number < 12; number++) await opened.append(payload(number, 100));
  await opened.log.settled();
  await opened.log.applyRetention();
  const killed = crashCopy(dir);
  await opened.close();
  const again = await open(killed, { segmentBytes: 450 });
  expect([again.log.logStartOffset, again.log.logEndOffset, again.log.recovery.tornBytes]).toEqual([8, 12, 0]);
  await again.close();
});

it.skipIf(process.platform !== "linux")(
  "descriptors and indexes of many segments stay within their bounds while all are read",
  async () => {
    const dir = tempDir();
    const opened = await open(dir, { segmentBytes: 450 });
    for (let number = 0; number < 200; number++) await opened.append(payload(number, 100));
    await opened.log.force();
    await opened.log.settled();
    expect(opened.log.segments()).toHaveLength(50);
    for (let round = 0; round < 3; round++) expect(await opened.readAll()).toEqual(payloads(0, 200, 100));
    // Beside the pool: the lock, the active segment and the prepared one.
    const descriptors = readdirSync("/proc/self/fd").filter((fd) => openPath(fd).startsWith(dir));
    expect(descriptors.length).toBeLessThanOrEqual(16 + 3);
    await opened.close();
  },
);

function openPath(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return ""; // closed since they were listed
  }
}
