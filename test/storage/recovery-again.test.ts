// Recoveries that are cut off themselves, what they leave for readers (the epoch), and who may open a partition at all.

import { copyFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { native } from "../../src/native/binding.js";
import { repairPartition } from "../../src/storage/repair.js";
import { logName } from "../../src/storage/segment-name.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, crashCopy, files, flipBit, logPath, overwrite } from "./support/crash.js";
import { MovedClock } from "./support/deps.js";
import { killedWith12 } from "./support/killed12.js";
import { open } from "./support/opened.js";
import { payload, payloads } from "./support/records.js";

describe("a recovery that is cut off itself", () => {
  const segment = { mode: "MAPPED", format: "crc32c", segmentBytes: 450 } as const;
  /** The log ends at 9: a tear in the last segment, whose bytes from `record` on go to a `.torn` file. */
  const torn = async (): Promise<string> => {
    const dir = await killedWith12(segment);
    flipBit(logPath(dir, 8), 108 + 50);
    return dir;
  };

  it("after the copy: it is recognised, and not made twice", async () => {
    const dir = await torn();
    const copied = crashCopy(dir);
    await (await open(dir, segment)).close();
    const [name] = files(dir, ".torn");
    copyFileSync(join(dir, name), join(copied, name));
    const again = await open(copied, segment);
    expect(files(copied, ".torn")).toEqual([name]);
    expect([again.log.logEndOffset, again.log.epoch]).toEqual([9, 1]);
    await again.close();
  });

  it("in the middle of the copy: half a copy counts for nothing", async () => {
    const dir = await torn();
    writeFileSync(join(dir, `${logName(8)}.108.torn.tmp`), "half");
    const again = await open(dir, segment);
    expect(files(dir, ".torn")).toEqual([`${logName(8)}.108.torn`]);
    expect(files(dir, ".tmp")).toEqual([]);
    await again.close();
  });

  it("after the epoch went up and before the cut: it goes up once more, and the log is the same", async () => {
    const dir = await torn();
    const before = crashCopy(dir);
    await (await open(dir, segment)).close();
    // The killed process had come as far as the checkpoint: it is the one with the new epoch, of a log that is not cut.
    const started = await open(crashCopy(before), segment);
    const checkpoint = bytesOf(join(started.log.dir, "checkpoint"));
    await started.close();
    writeFileSync(join(before, "checkpoint"), checkpoint);
    const again = await open(before, segment);
    expect([again.log.logEndOffset, again.log.epoch, again.log.epochStart]).toEqual([9, 2, 9]);
    expect(again.log.truncatedAt(0, 10)).toBe(9);
    expect(await again.readAll()).toEqual(payloads(0, 9, 100));
    await again.close();
  });

  it("after the epoch went up and before the last block was cleared: the next start clears it", async () => {
    const channel = { ...segment, mode: "FILE_CHANNEL" } as const;
    const dir = await killedWith12(channel);
    const bootId = "00000000-0000-0000-0000-000000000002";
    const path = logPath(dir, 8);
    const { openFile } = native;
    let opened = 0;
    // Each start opens it to force what it scans, and then to clear what lies behind.
    const spy = vi.spyOn(native, "openFile").mockImplementation((file, options) => {
      if (options.writable && file === path && ++opened === 2) return Promise.reject(new Error("killed"));
      return openFile(file, options);
    });
    try {
      await expect(open(dir, { ...channel, deps: { bootId } })).rejects.toThrow();
      const again = await open(dir, { ...channel, deps: { bootId } });
      expect(opened).toBe(4);
      expect([again.log.epoch, again.log.recovery.epochRaised]).toEqual([1, false]);
      expect(await again.readAll()).toEqual(payloads(0, 12, 100));
      await again.close();
    } finally {
      spy.mockRestore();
    }
  });

  it.each([
    ["the log was cut", 111],
    ["a record with a wrong payload stays", 150],
    ["only the checkpoint was written anew", undefined],
  ])(
    "after a repair in which %s: what grows again has nothing behind its end that could come back",
    async (_, flipped) => {
      const channel = { ...segment, mode: "FILE_CHANNEL" } as const;
      const dir = await killedWith12({ ...channel, forced: 12 });
      if (flipped === undefined)
        writeFileSync(join(dir, "checkpoint"), Buffer.alloc(bytesOf(join(dir, "checkpoint")).length, 1));
      else flipBit(logPath(dir, 8), flipped);
      for await (const step of repairPartition(dir, new MovedClock())) expect(step.kind).not.toBe("unrepaired");
      // Either a file of its own, in which nothing ever was, or the start that scans it clears its last block.
      const path = join(dir, files(dir, ".log").at(-1) ?? "");
      const isNew = bytesOf(path).length === 0;
      const { openFile } = native;
      let opened = 0;
      const spy = vi.spyOn(native, "openFile").mockImplementation((file, options) => {
        if (options.writable && file === path) opened++;
        return openFile(file, options);
      });
      try {
        const again = await open(dir, channel);
        expect([path === logPath(dir, 8), opened >= 2]).toEqual([!isNew, !isNew]);
        expect(isNew).toBe(flipped === 150);
        await again.close();
      } finally {
        spy.mockRestore();
      }
    },
  );

  it("between moving segments away: the rest is found behind the gap", async () => {
    const dir = await killedWith12(segment);
    for (const name of [...files(dir, ".index"), "checkpoint"]) rmSync(join(dir, name));
    flipBit(logPath(dir, 0), 108 + 50);
    renameSync(logPath(dir, 8), join(dir, `${logName(8)}.0.torn`));
    const again = await open(dir, segment);
    expect(again.log.logEndOffset).toBe(1);
    expect(files(dir, ".torn")).toEqual([`${logName(0)}.108.torn`, `${logName(4)}.0.torn`, `${logName(8)}.0.torn`]);
    expect(await again.append(payload(1, 100))).toBe(1);
    await again.close();
  });

  it("a second tear at the same place does not overwrite what the first one left", async () => {
    const dir = await torn();
    const first = await open(dir, segment);
    await first.append(payload(9, 100));
    await first.log.settled();
    const killed = crashCopy(dir);
    await first.close();
    flipBit(logPath(killed, 8), 108 + 20);
    const again = await open(killed, segment);
    expect(files(killed, ".torn")).toEqual([`${logName(8)}.108.1.torn`, `${logName(8)}.108.torn`]);
    expect([again.log.logEndOffset, again.log.epoch]).toEqual([9, 2]);
    await again.close();
  });
});

describe("the epoch", () => {
  const segment = { mode: "MAPPED", format: "crc32c", segmentBytes: 450 } as const;
  const boot = (digit: string) => ({ deps: { bootId: digit.repeat(32) } });

  it("stays when a process was killed and nothing was cut", async () => {
    const dir = await killedWith12({ ...segment, ...boot("a") });
    const again = await open(dir, { ...segment, ...boot("a") });
    expect([again.log.epoch, again.log.recovery.epochRaised]).toEqual([0, false]);
    await again.close();
  });

  it("goes up after a power cut though no record is torn: pages that never reached the disk leave no trace", async () => {
    const dir = await killedWith12({ ...segment, ...boot("a") });
    overwrite(logPath(dir, 8), 2 * 108, new Uint8Array(450 - 2 * 108));
    const again = await open(dir, { ...segment, ...boot("b") });
    expect([again.log.logEndOffset, again.log.epoch, again.log.epochStart]).toEqual([10, 1, 10]);
    for (let number = 10; number < 20; number++) await again.append(payload(number, 100));
    // A reader that was at 12 hears of it, one that was at 10 saw nothing that is gone.
    expect([again.log.truncatedAt(0, 12), again.log.truncatedAt(0, 10), again.log.truncatedAt(1, 12)]).toEqual([
      10,
      undefined,
      undefined,
    ]);
    await again.close();
    const third = await open(dir, { ...segment, ...boot("c") });
    expect([third.log.epoch, third.log.epochStart, third.log.truncatedAt(0, 12)]).toEqual([1, 10, 10]);
    await third.close();
  });

  it("stays after a clean stop, whatever the machine does then", async () => {
    const dir = tempDir();
    const first = await open(dir, { ...segment, ...boot("a") });
    await first.append(payload(0, 10));
    await first.close();
    const again = await open(dir, { ...segment, ...boot("b") });
    expect(again.log.epoch).toBe(0);
    await again.close();
  });

  it("remembers every cut that a reader may have to hear of", async () => {
    const dir = tempDir();
    let there = dir;
    for (const [cut, end] of [
      [10, 8],
      [20, 15],
      [18, 15],
    ]) {
      const opened = await open(there, { ...segment, segmentBytes: 10_000 });
      while (opened.log.logEndOffset < cut) await opened.append(payload(opened.log.logEndOffset, 100));
      await opened.log.settled();
      there = crashCopy(there);
      await opened.close();
      flipBit(logPath(there, 0), end * 108 + 40);
    }
    const opened = await open(there, { ...segment, segmentBytes: 10_000 });
    expect(opened.log.logEndOffset).toBe(15);
    expect(opened.log.epochs).toEqual([
      { epoch: 1, start: 8 },
      { epoch: 3, start: 15 },
    ]);
    await opened.close();
  });
});

describe("who has the partition", () => {
  it("a second one is refused with the pid of the first", async () => {
    const dir = tempDir();
    const first = await open(dir);
    await expect(open(dir)).rejects.toMatchObject({ code: "PARTITION_IN_USE" });
    await expect(open(dir)).rejects.toThrow(`process ${process.pid}`);
    await first.close();
    await (await open(dir)).close();
  });

  it("a refusal lets go of the lock", async () => {
    const dir = await killedWith12({ format: "plain" });
    rmSync(join(dir, "partition.json"));
    await expect(open(dir)).rejects.toMatchObject({ code: "PARTITION_DAMAGED" });
    await expect(open(dir)).rejects.toMatchObject({ code: "PARTITION_DAMAGED" });
  });

  it("the directory is made, with its parents", async () => {
    const data = join(tempDir(), "made", "data");
    const all = await Promise.all([0, 1, 2].map((number) => open(join(data, `orders-${number}`))));
    for (const each of all) await each.close();
    expect(files(data)).toEqual(["orders-0", "orders-1", "orders-2"]);
  });

  it("sizes that cannot be are refused before anything is made", async () => {
    const dir = join(tempDir(), "never");
    for (const segmentBytes of [0, 63, 1.5, 2 ** 30 + 1, Number.NaN]) {
      await expect(open(dir, { segmentBytes })).rejects.toMatchObject({ code: "BAD_CONFIG" });
    }
    await expect(open(dir, { indexIntervalBytes: 0 })).rejects.toMatchObject({ code: "BAD_CONFIG" });
    expect(files(join(dir, ".."))).toEqual([]);
  });
});
