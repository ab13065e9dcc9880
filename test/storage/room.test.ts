// Room on the disk: what is kept free, what happens when there is none, and that writes go on when there is again.

import { closeSync, openSync, rmSync, statfsSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { native, RecordFormatId, SegmentModeId } from "../../src/native/binding.js";
import { FileSystemSpace } from "../../src/storage/disk-space.js";
import { append, created, optionsOf } from "../native/support/segments.js";
import { tempDir } from "../support/tmp.js";
import { files } from "./support/crash.js";
import { AnyAmountOfSpace, MovedClock } from "./support/deps.js";
import { MODES, open } from "./support/opened.js";
import { payload, payloads } from "./support/records.js";
import { cannotMount, smallDisk } from "./support/small-disk.js";

const MiB = 1024 * 1024;
/** Filling a disk takes as long as it takes. */
const FILLING_MS = 120_000;

describe("the account of the disk", () => {
  const account = async (keepFree: number, answers: number[]) => {
    const clock = new MovedClock(0);
    let asked = 0;
    const ask = (): Promise<number> => Promise.resolve(answers[Math.min(asked++, answers.length - 1)]);
    const space = await FileSystemSpace.open("/", keepFree, clock, ask);
    return { space, clock, asked: () => asked };
  };

  it("gives what is free above what is kept free, and counts what it gave without asking", async () => {
    const { space, asked } = await account(30, [100]);
    expect([space.reserve(50), space.reserve(30), space.reserve(20), space.reserve(1)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(asked()).toBe(1);
    expect(space.available).toBe(0);
  });

  it("has room again when the file system says so", async () => {
    const { space, clock } = await account(30, [30, 100]);
    expect(space.reserve(1)).toBe(false);
    clock.ms += 50;
    await space.refresh();
    expect(space.reserve(70)).toBe(true);
  });

  it("counts what is under way when it asks as not in the answer yet", async () => {
    const { space, clock } = await account(0, [100, 100, 60]);
    expect(space.reserve(40)).toBe(true);
    clock.ms += 50;
    await space.refresh();
    expect(space.available).toBe(60);
    space.settle(40);
    clock.ms += 50;
    await space.refresh();
    expect(space.available).toBe(60);
  });

  it("counts what was given while the question was on its way", async () => {
    const clock = new MovedClock(0);
    let answer: (free: number) => void = () => undefined;
    const space = await FileSystemSpace.open("/", 0, clock, () => Promise.resolve(100));
    const asking = new FileSystemSpace("/", 0, clock, () => new Promise((resolve) => (answer = resolve)));
    const first = asking.refresh();
    answer(100);
    await first;
    clock.ms += 50;
    const second = asking.refresh();
    expect(asking.reserve(30)).toBe(true);
    asking.settle(30);
    answer(100);
    await second;
    expect(asking.available).toBe(70);
    expect(space.available).toBe(100);
  });

  it("asks once for a burst of calls, and not again at once", async () => {
    const { space, clock, asked } = await account(0, [100]);
    clock.ms += 50;
    await Promise.all([space.refresh(), space.refresh()]);
    await space.refresh();
    expect(asked()).toBe(2);
    clock.ms -= 1000;
    await space.refresh();
    expect(asked()).toBe(3);
  });
});

describe.each(MODES)("%s", (mode) => {
  it("no room is said with how much was asked for, of a batch that spans segments the whole", async () => {
    const space = new AnyAmountOfSpace();
    const opened = await open(tempDir(), { mode, format: "plain", segmentBytes: 1000, deps: { space } });
    await opened.append(payload(0, 600));
    space.left = 500;
    await expect(opened.append(payload(1, 600))).rejects.toMatchObject({ code: "LOG_FULL", neededBytes: 604 });
    space.left = 1900;
    const refused = await opened.append(...payloads(1, 9, 300)).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "LOG_FULL" });
    // The first of three segments stays prepared.
    expect((refused as { neededBytes: number }).neededBytes).toBe(2 * 912 - 304);
    await opened.close();
  });

  it("no room is LOG_FULL, nothing of the batch is kept, and writes go on when there is room again", async () => {
    const space = new AnyAmountOfSpace();
    space.left = 0;
    const opened = await open(tempDir(), { mode, segmentBytes: 4 * MiB, deps: { space } });
    await expect(opened.append(payload(0, 100))).rejects.toMatchObject({ code: "LOG_FULL" });
    expect(space.refreshed).toBeGreaterThan(0);
    expect([opened.log.logEndOffset, space.underWay]).toEqual([0, 0]);
    space.left = 2000;
    expect(await opened.append(payload(0, 1000))).toBe(0);
    await expect(opened.append(payload(1, 1000))).rejects.toMatchObject({ code: "LOG_FULL", neededBytes: 1008 });
    expect(await opened.readAll()).toEqual([payload(0, 1000)]);
    space.left = 10 * MiB;
    expect(await opened.append(payload(1, 1000))).toBe(1);
    expect(await opened.readAll()).toEqual(payloads(0, 2, 1000));
    await opened.close();
  });

  it("no room for a roll is LOG_FULL, and what still fits the active segment is taken", async () => {
    const space = new AnyAmountOfSpace();
    const opened = await open(tempDir(), { mode, format: "plain", segmentBytes: 1000, deps: { space } });
    await opened.append(payload(0, 600));
    space.left = 0;
    await expect(opened.append(payload(1, 600))).rejects.toMatchObject({ code: "LOG_FULL" });
    expect(await opened.append(payload(1, 300))).toBe(1);
    space.left = 10_000;
    expect(await opened.append(payload(2, 600))).toBe(2);
    await opened.close();
  });

  it("a batch that spans segments is reserved as a whole: room for a part of it is no room", async () => {
    const dir = tempDir();
    const space = new AnyAmountOfSpace();
    const opened = await open(dir, { mode, format: "plain", segmentBytes: 1000, deps: { space } });
    await opened.append(payload(0, 900));
    for (const left of [0, 900, 1800, 1800]) {
      space.left = left;
      await expect(opened.append(...payloads(1, 9, 300))).rejects.toMatchObject({ code: "LOG_FULL" });
      expect(opened.log.logEndOffset).toBe(1);
      expect(files(dir, ".log")).toHaveLength(1);
      expect(files(dir).filter((name) => name.startsWith("next-"))).toEqual([]);
      expect(await opened.readAll()).toEqual([payload(0, 900)]);
    }
    space.left = 4000;
    expect(await opened.append(...payloads(1, 9, 300))).toBe(1);
    expect(opened.log.logEndOffset).toBe(10);
    await opened.close();
  });

  it("takes little of the disk at first, and more ahead the more there is", async () => {
    const opened = await open(tempDir(), { mode, segmentBytes: 64 * MiB });
    await opened.append(payload(0, 100));
    expect(opened.log.segments()[0].allocatedBytes).toBeLessThan(1.5 * MiB);
    for (let number = 0; number < 10; number++) await opened.append(payload(number, MiB));
    expect(opened.log.room()).toBeGreaterThan(2 * MiB);
    expect(opened.log.segments()[0].allocatedBytes).toBeLessThan(24 * MiB);
    await opened.close();
    expect(opened.log.segments()[0].allocatedBytes).toBeLessThan(11 * MiB);
  });
});

const reason = cannotMount();
describe.skipIf(reason !== undefined)(
  `O06 a full disk${reason === undefined ? "" : ` (skipped: ${reason})`}`,
  { timeout: FILLING_MS },
  () => {
    const freeBytes = (dir: string): number => {
      const { bavail, bsize } = statfsSync(dir);
      return bavail * bsize;
    };

    /** To the last block. */
    const fillUp = (dir: string): void => {
      const filler = openSync(join(dir, "filler"), "w");
      for (const bytes of [MiB, 1024]) {
        expect(() => {
          for (;;) writeSync(filler, new Uint8Array(bytes));
        }).toThrow(/ENOSPC/);
      }
      closeSync(filler);
    };

    it.each(MODES)(
      "O06 %s: LOG_FULL before the file system fails, what was acknowledged stays, and it goes on",
      async (mode) => {
        const disk = smallDisk(48);
        const reserve = 8 * MiB;
        const clock = new MovedClock();
        writeFileSync(join(disk, "filler"), new Uint8Array(16 * MiB));
        const space = await FileSystemSpace.open(disk, reserve, clock);
        const opened = await open(join(disk, "orders-0"), { mode, segmentBytes: 4 * MiB, clock, deps: { space } });
        const record = payload(7, 100_000);
        const fill = async (): Promise<number> => {
          for (let count = 0; ; count++) {
            clock.ms += 100;
            const full = await opened.append(record).then(
              () => false,
              (error) => {
                expect(error).toMatchObject({ code: "LOG_FULL" });
                return true;
              },
            );
            if (full) return count;
          }
        };
        const before = await fill();
        expect(before).toBeGreaterThan(50);
        await opened.log.force();
        // Nearly all of what may be used is used, and what is kept free is free.
        expect(freeBytes(disk)).toBeGreaterThan(reserve - MiB);
        expect(freeBytes(disk)).toBeLessThan(reserve + 4 * MiB);
        for (let offset = 0; offset < before; offset += 10) expect(await opened.read(offset)).toEqual(record);
        rmSync(join(disk, "filler"));
        expect(await fill()).toBeGreaterThan(100);
        expect(await opened.readAll()).toHaveLength(opened.log.logEndOffset);
        await opened.close();
        const again = await open(join(disk, "orders-0"), { mode, segmentBytes: 4 * MiB });
        expect(again.log.recovery.clean).toBe(true);
        expect(await again.readAll()).toHaveLength(again.log.logEndOffset);
        await again.close();
      },
    );

    it("O06 MAPPED: whole pages are reserved, also where a block is smaller, for the first store into one needs all of its blocks", async () => {
      const disk = smallDisk(8);
      expect(statfsSync(disk).bsize).toBe(1024);
      const page = 4096;
      for (const reserve of [1, page + 1, 5 * page]) {
        const writer = await native.createSegmentWriter({
          path: join(disk, `${reserve}.log`),
          mode: SegmentModeId.MAPPED,
          format: RecordFormatId.plain,
          capacity: 16 * page + 1,
          indexIntervalBytes: page,
          reserve,
        });
        expect(writer.file.allocatedBytes()).toBeGreaterThanOrEqual(Math.ceil(reserve / page) * page);
        await writer.close();
        writer.file.close();
      }
    });

    it("O06 MAPPED: what is reserved takes every store, also where the cache has large pages that reach behind it", async () => {
      // The sizes at which reading around the faults before made one (ext4 of Linux 6.18).
      for (const reserve of [5_902_336, 4_726_784]) {
        const disk = smallDisk(24);
        const capacity = 8 * MiB;
        const options = optionsOf({ path: "MAPPED", format: "plain" }, { path: join(disk, "log"), capacity, reserve });
        const writer = await created(options);
        fillUp(disk);
        const records = [payload(7, 1000)];
        while (writer.end + 1004 <= reserve) append(writer, records);
        expect(reserve - writer.end).toBeLessThan(1004);
        await writer.close();
        writer.file.close();
      }
    });

    it.each(MODES)(
      "O06 %s: retention goes on when there is no room for anything else, and makes some",
      async (mode) => {
        const disk = smallDisk(24);
        const opened = await open(join(disk, "orders-0"), { mode, segmentBytes: 2 * MiB, retentionBytes: 8 * MiB });
        const record = payload(7, 100_000);
        const fill = async (): Promise<number> => {
          for (let count = 0; ; count++) {
            try {
              await opened.append(record);
            } catch (cause) {
              expect(cause).toMatchObject({ code: "LOG_FULL" });
              return count;
            }
          }
        };
        expect(await fill()).toBeGreaterThan(100);
        // The last block is taken by something else, so not even an index can be written.
        fillUp(disk);
        expect(await opened.log.applyRetention()).toBeGreaterThan(3);
        expect(await fill()).toBeGreaterThan(30);
        expect(await opened.readAll()).toHaveLength(opened.log.logEndOffset - opened.log.logStartOffset);
        await opened.close();
      },
    );

    it.each(MODES)(
      "O06 %s: also when the account knows nothing of it, the file system's own no is LOG_FULL and never a signal",
      async (mode) => {
        const disk = smallDisk(24);
        const opened = await open(join(disk, "orders-0"), { mode, segmentBytes: 8 * MiB });
        const record = payload(7, 100_000);
        let count = 0;
        const full = async (): Promise<void> => {
          for (;;) {
            await opened.append(record);
            count++;
          }
        };
        await expect(full()).rejects.toMatchObject({ code: "LOG_FULL" });
        expect(count).toBeGreaterThan(100);
        await expect(opened.append(record)).rejects.toMatchObject({ code: "LOG_FULL" });
        expect(await opened.log.force()).toBe(count);
        expect(await opened.readAll()).toHaveLength(count);
        await opened.close();
      },
    );
  },
);
