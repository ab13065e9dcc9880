// Barriers: what is durable when, what a barrier covers, and what holds after one has failed. The barriers are counted by the
// addon where they are issued.

import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { native } from "../../src/native/binding.js";
import { ReadOutcome } from "../../src/storage/read-plan.js";
import { tempDir } from "../support/tmp.js";
import { files } from "./support/crash.js";
import { MODES, type Opened, open } from "./support/opened.js";
import { payload, payloads } from "./support/records.js";
import { cannotMount, failingDisk } from "./support/small-disk.js";

describe.each(MODES)("%s", (mode) => {
  it("C5 a record is not durable until force() has run", async () => {
    const opened = await open(tempDir(), { mode });
    await opened.append(payload(0, 100));
    expect([opened.log.logEndOffset, opened.log.durableOffset]).toEqual([1, 0]);
    const before = native.barrierCount();
    expect(await opened.log.force()).toBe(1);
    expect(opened.log.durableOffset).toBe(1);
    expect(native.barrierCount()).toBeGreaterThan(before);
    await opened.close();
  });

  it("C5 once a partition is warm a barrier is one barrier, and none when there is nothing to force", async () => {
    const opened = await open(tempDir(), { mode });
    await opened.append(payload(0, 100));
    await opened.log.force();
    await opened.log.settled();
    for (let number = 1; number < 5; number++) {
      await opened.append(payload(number, 100));
      const before = native.barrierCount();
      await opened.log.force();
      expect(native.barrierCount() - before).toBe(1);
      await opened.log.force();
      expect(native.barrierCount() - before).toBe(1);
    }
    await opened.close();
  });

  it("a barrier covers what was written when it started, in segments that were sealed since, too; the offset moves once", async () => {
    const opened = await open(tempDir(), { mode, segmentBytes: 1000 });
    for (let number = 0; number < 30; number++) await opened.append(payload(number, 100));
    expect(opened.log.segments().length).toBeGreaterThan(3);
    const forcing = opened.log.force();
    const seen = new Set<number>();
    let settled = false;
    void forcing.then(() => {
      settled = true;
    });
    while (!settled) {
      seen.add(opened.log.durableOffset);
      await turn();
    }
    expect(await forcing).toBe(30);
    seen.delete(0);
    seen.delete(30);
    // What lies between are segments that were sealed by themselves when they were rolled.
    const ends = opened.log.segments().map(({ endOffset }) => endOffset as number);
    for (const offset of seen) expect(ends).toContain(offset);
    await opened.close();
  });

  it("a roll in the middle of a barrier is covered as far as it was written when the barrier began", async () => {
    const opened = await open(tempDir(), { mode, segmentBytes: 1000 });
    let next = 0;
    const some = async (count: number): Promise<void> => {
      for (const end = next + count; next < end; ) await opened.append(payload(next++, 100));
    };
    for (let round = 0; round < 20; round++) {
      await some(3);
      const written = opened.log.logEndOffset;
      const forcing = opened.log.force();
      await some(10);
      expect(await forcing).toBeGreaterThanOrEqual(written);
      expect(opened.log.durableOffset).toBeLessThanOrEqual(opened.log.logEndOffset);
    }
    expect(await opened.log.force()).toBe(next);
    expect(await opened.readAll()).toEqual(payloads(0, next, 100));
    await opened.close();
  });

  it("after a roll a barrier is three: the old segment, the new one, and the directory that has its name", async () => {
    const opened = await open(tempDir(), { mode, segmentBytes: 1000 });
    for (let number = 0; number < 7; number++) await opened.append(payload(number, 100));
    await opened.log.force();
    await opened.log.settled();
    for (let number = 7; number < 12; number++) await opened.append(payload(number, 100));
    expect(opened.log.segments()).toHaveLength(2);
    const before = native.barrierCount();
    await opened.log.force();
    await opened.log.settled();
    // Behind it: the index is replaced (file and directory), and the checkpoint is written.
    expect(native.barrierCount() - before).toBe(3 + 2 + 1);
    await opened.close();
  });

  it("what is written while a barrier runs waits for the next one", async () => {
    const opened = await open(tempDir(), { mode });
    await opened.append(payload(0, 100));
    const forcing = opened.log.force();
    await turn();
    await opened.append(payload(1, 100));
    expect(await forcing).toBe(1);
    expect(opened.log.durableOffset).toBe(1);
    expect(await opened.log.force()).toBe(2);
    await opened.close();
  });

  it("segments that nobody forces are sealed all the same after two seconds, in their order", async () => {
    const dir = tempDir();
    const opened = await open(dir, { mode, segmentBytes: 1000 });
    for (let number = 0; number < 30; number++) await opened.append(payload(number, 100));
    await opened.log.upkeep();
    await opened.log.settled();
    expect(files(dir, ".index")).toEqual([]);
    opened.clock.ms += 2000;
    await opened.log.upkeep();
    await opened.log.settled();
    expect(opened.log.segments().map(({ sealed }) => sealed)).toEqual([true, true, true, false]);
    expect(files(dir, ".index")).toHaveLength(3);
    expect(opened.log.durableOffset).toBe(27);
    await opened.close();
  });

  it("with ceiling at the durable offset nobody sees what a power cut can take back", async () => {
    const opened = await open(tempDir(), { mode, format: "plain" });
    await opened.append(...payloads(0, 3, 100));
    await opened.log.force();
    await opened.append(...payloads(3, 3, 100));
    expect(await opened.readBytes(0, 10_000, opened.log.durableOffset)).toHaveLength(3 * 104);
    expect(await opened.readBytes(0, 10_000)).toHaveLength(6 * 104);
    await opened.close();
  });
});

/** Refused are writes and barriers; read is what was durable. */
async function expectPoisoned(opened: Opened, durable: number): Promise<void> {
  const { log } = opened;
  expect(log.poisoned?.code).toBe("STORAGE_FAILURE");
  expect(log.durableOffset).toBe(durable);
  await expect(log.force()).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
  await expect(log.makeRoom(100)).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
  await expect(log.appendSpanning(new Uint8Array(10), 0, 10, 1)).rejects.toMatchObject({ code: "STORAGE_FAILURE" });
  for (let offset = log.logStartOffset as number; offset < durable; offset += 7) {
    expect(await opened.read(offset)).toEqual(payload(offset, 100));
  }
  for (let offset = durable; offset < log.logEndOffset; offset += 7) {
    expect((await opened.plan(offset)).outcome).toBe(ReadOutcome.STORAGE_FAILURE);
  }
  // Exactly the end is no error, and beyond it nothing has changed.
  expect((await opened.plan(log.logEndOffset)).outcome).toBe(ReadOutcome.EMPTY);
  expect((await opened.plan(log.logEndOffset + 1)).outcome).toBe(ReadOutcome.OUT_OF_RANGE);
  await log.upkeep();
  expect(await log.applyRetention()).toBe(0);
}

describe("O07 a poisoned partition", { timeout: 120_000 }, () => {
  it.each(MODES)(
    "%s is read up to the durable offset and written by nobody until a restart has recovered it",
    async (mode) => {
      const dir = tempDir();
      const opened = await open(dir, { mode, segmentBytes: 1000 });
      for (let number = 0; number < 20; number++) await opened.append(payload(number, 100));
      await opened.log.force();
      await opened.append(payload(20, 100));
      opened.log.poison(new Error("from outside"));
      opened.log.poison(new Error("a second one changes nothing"));
      expect(opened.events.filter(({ kind }) => kind === "partition.poisoned")).toHaveLength(1);
      await expectPoisoned(opened, 20);
      await opened.close();
      const again = await open(dir, { mode, segmentBytes: 1000 });
      // The disk said nothing against it, so all of it is there.
      expect(await again.readAll()).toEqual(payloads(0, 21, 100));
      expect(await again.append(payload(21, 100))).toBe(21);
      await again.close();
    },
  );

  const reason = cannotMount();
  it.skipIf(reason !== undefined).each(MODES)(
    `%s by a barrier that really fails: everybody in it is told, and it is never tried again${reason === undefined ? "" : ` (skipped: ${reason})`}`,
    async (mode) => {
      const dir = failingDisk(64, 16);
      const opened = await open(`${dir}/orders-0`, { mode, segmentBytes: 32 * 1024 * 1024 });
      await opened.append(payload(0, 100));
      await opened.log.force();
      // The file system gives blocks that the device below it does not have.
      const large = payload(1, 1024 * 1024);
      for (let number = 0; number < 24; number++) await opened.append(large);
      const before = native.barrierCount();
      const outcomes = await Promise.allSettled([opened.log.force(), opened.log.force()]);
      expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
      await opened.log.settled();
      // The one that failed, and the one of the checkpoint that tells the next start of it: another file.
      const after = native.barrierCount();
      expect(after - before).toBeLessThanOrEqual(2);
      await expectPoisoned(opened, 1);
      expect(native.barrierCount()).toBe(after);
      await opened.close();
      expect(native.barrierCount()).toBe(after);
    },
  );
});
