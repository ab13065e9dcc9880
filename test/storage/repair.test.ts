// What repair makes of a damaged partition: what is kept, what is moved away, what it cannot decide.

import { rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { indexName, logName } from "../../src/storage/segment-name.js";
import { copyTorn } from "../../src/storage/torn-files.js";
import { tempDir } from "../support/tmp.js";
import { closed, damage, repair } from "./support/checked.js";
import { bytesOf, crashCopy, files, flipBit, logPath, overwrite, sizeOf } from "./support/crash.js";
import { COMBINATIONS, FORMATS, open } from "./support/opened.js";
import { headerBytes, payload, payloads } from "./support/records.js";

const reopened = async (dir: string) => open(dir, { segmentBytes: 450 });

describe("repair", () => {
  it("of a sound partition changes nothing", async () => {
    const dir = await closed();
    const before = files(dir).map((name) => bytesOf(join(dir, name)));
    expect((await repair(dir)).filter(({ kind }) => kind === "repaired")).toEqual([]);
    expect(files(dir).map((name) => bytesOf(join(dir, name)))).toEqual(before);
  });

  it("wants the partition for itself", async () => {
    const opened = await open(tempDir());
    await expect(repair(opened.log.dir)).rejects.toMatchObject({ code: "PARTITION_IN_USE" });
    await opened.close();
  });

  it("keeps a record with a wrong payload in its place, and everything behind it", async () => {
    for (const base of [0, 4, 8]) {
      const dir = await closed({ format: "crc32c" });
      rmSync(join(dir, indexName(base)));
      flipBit(logPath(dir, base), 108 + 50);
      await expect(reopened(dir)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", offset: base + 1 });
      expect((await repair(dir)).some(({ kind }) => kind === "repaired")).toBe(true);
      const again = await reopened(dir);
      expect([again.log.logEndOffset, again.log.epoch]).toEqual([12, 0]);
      for (let number = 0; number < 12; number++) {
        if (number !== base + 1) expect(await again.read(number)).toEqual(payload(number, 100));
      }
      await expect(again.read(base + 1)).rejects.toThrow(/sum/);
      expect(await again.append(payload(12, 100))).toBe(12);
      const killed = crashCopy(dir);
      await again.close();
      const third = await reopened(killed);
      expect(third.log.logEndOffset).toBe(13);
      await third.close();
    }
  });

  it.each(FORMATS)(
    "where the chain of records is broken in %s moves the rest away, raises the epoch, and the log goes on",
    async (format) => {
      const dir = await closed({ format });
      const record = headerBytes(format) + 100;
      overwrite(logPath(dir, 4), record, new Uint8Array([0xff, 0xff, 0xff, 0xff]));
      rmSync(join(dir, indexName(4)));
      await expect(reopened(dir)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", position: record, offset: 5 });
      const steps = await repair(dir);
      expect(steps.some(({ kind }) => kind === "unrepaired")).toBe(false);
      expect(files(dir, ".torn")).toEqual([`${logName(4)}.${record}.torn`, `${logName(8)}.0.torn`]);
      const again = await reopened(dir);
      expect([again.log.logEndOffset, again.log.epoch, again.log.truncatedAt(0, 12)]).toEqual([5, 1, 5]);
      expect(await again.append(payload(5, 100))).toBe(5);
      expect(await again.readAll()).toEqual(payloads(0, 6, 100));
      await again.close();
      expect(await damage(dir)).toEqual([]);
    },
  );

  it.each(COMBINATIONS)(
    "%s %s: behind a broken length below the checkpoint every byte of the file is moved, and the reason is true",
    async (mode, format) => {
      const dir = tempDir();
      const opened = await open(dir, { mode, format, segmentBytes: 4 * 1024 * 1024 });
      const number = (count: number) => Array.from({ length: count }, (_, at) => payload(at, 40));
      await opened.append(...number(100));
      await opened.log.force();
      opened.clock.ms += 5000;
      await opened.log.upkeep();
      await opened.log.settled();
      await opened.append(...number(500));
      const killed = crashCopy(dir);
      await opened.close();
      overwrite(logPath(killed, 0), 0, new Uint8Array([0x40]));
      const before = bytesOf(logPath(killed, 0));
      const record = headerBytes(format) + 40;
      const found = await damage(killed);
      expect(found).toMatchObject([{ path: logPath(killed, 0), position: 0, offset: 0 }]);
      expect(found[0]).toMatchObject({ what: expect.stringContaining("promises more than the file has") });
      const steps = await repair(killed);
      const torn = join(killed, `${logName(0)}.0.torn`);
      // Without the room that is reserved behind the last record, which ends with a byte that is not zero.
      expect(sizeOf(torn)).toBe(600 * record);
      expect(bytesOf(torn).equals(before.subarray(0, 600 * record))).toBe(true);
      expect(steps).toContainEqual(
        expect.objectContaining({ what: expect.stringContaining(`${600 * record} bytes from position 0`) }),
      );
      expect(sizeOf(logPath(killed, 0))).toBe(0);
    },
  );

  it("also of a record with a wrong sum moves what follows it without the zeros", async () => {
    const dir = tempDir();
    const opened = await open(dir, { mode: "MAPPED", format: "crc32c", segmentBytes: 4 * 1024 * 1024 });
    await opened.append(...payloads(0, 100, 40));
    await opened.log.force();
    opened.clock.ms += 5000;
    await opened.log.upkeep();
    await opened.log.settled();
    const killed = crashCopy(dir);
    await opened.close();
    // A length that leads into the middle of a record: no sum matches, and nothing behind it can be found.
    overwrite(logPath(killed, 0), 10 * 48, new Uint8Array([0, 0, 0, 60]));
    await repair(killed);
    expect(sizeOf(join(killed, `${logName(0)}.480.torn`))).toBe(90 * 48);
    expect(sizeOf(logPath(killed, 0))).toBe(480);
  });

  it("moves what follows a segment that it seals because of a record with a wrong sum, and opens", async () => {
    const dir = tempDir();
    const opened = await open(dir, { mode: "MAPPED", format: "crc32c", segmentBytes: 100_000 });
    await opened.append(...payloads(0, 20, 40));
    await opened.log.force();
    opened.clock.ms += 5000;
    await opened.log.upkeep();
    await opened.log.settled();
    const killed = crashCopy(dir);
    await opened.close();
    flipBit(logPath(killed, 0), 3 * 48 + 20);
    overwrite(logPath(killed, 0), 20 * 48, new Uint8Array([0, 0, 0, 9, 1, 2, 3]));
    await repair(killed);
    expect([...bytesOf(join(killed, `${logName(0)}.960.torn`))]).toEqual([0, 0, 0, 9, 1, 2, 3]);
    const again = await open(killed, { segmentBytes: 100_000 });
    expect([again.log.logEndOffset, again.log.epoch]).toEqual([20, 1]);
    await again.close();
  });

  it("keeps holes in what it moves", async () => {
    const dir = tempDir();
    const from = join(dir, logName(0));
    writeFileSync(from, "");
    truncateSync(from, 64 * 1024 * 1024);
    overwrite(from, 64 * 1024 * 1024 - 1, new Uint8Array([1]));
    const path = await copyTorn(dir, { baseOffset: 0, path: from }, 0, 64 * 1024 * 1024);
    expect(bytesOf(path).equals(bytesOf(from))).toBe(true);
    expect(statSync(path).blocks * 512).toBeLessThan(4 * 1024 * 1024);
  });

  it("gives up what follows a missing segment, and begins where the first one is when that is missing", async () => {
    const gap = await closed();
    rmSync(logPath(gap, 4));
    await repair(gap);
    const one = await reopened(gap);
    expect([one.log.logStartOffset, one.log.logEndOffset, one.log.epoch]).toEqual([0, 4, 1]);
    await one.close();
    const start = await closed();
    rmSync(logPath(start, 0));
    await repair(start);
    const two = await reopened(start);
    expect([two.log.logStartOffset, two.log.logEndOffset]).toEqual([4, 12]);
    await two.close();
  });

  it("writes a damaged index anew", async () => {
    const dir = await closed();
    flipBit(join(dir, indexName(4)), 80);
    expect(await repair(dir)).toContainEqual(
      expect.objectContaining({ kind: "repaired", path: join(dir, indexName(4)) }),
    );
    expect(await damage(dir)).toEqual([]);
    const again = await reopened(dir);
    expect(await again.readAll()).toEqual(payloads(0, 12, 100));
    await again.close();
  });

  it("makes a new checkpoint, in an epoch above any that there may have been", async () => {
    const dir = await closed();
    truncateSync(join(dir, "checkpoint"), 100);
    await expect(reopened(dir)).rejects.toThrow(/both of its slots/);
    await repair(dir);
    const again = await reopened(dir);
    expect(again.log.epoch).toBeGreaterThan(20_000_000);
    expect(again.log.epochStart).toBe(12);
    expect(await again.readAll()).toEqual(payloads(0, 12, 100));
    await again.close();
  });

  it("says what it cannot decide", async () => {
    const meta = await closed();
    rmSync(join(meta, "partition.json"));
    expect(await repair(meta)).toContainEqual(expect.objectContaining({ kind: "unrepaired" }));
    const empty = await closed();
    for (const name of [...files(empty, ".log"), ...files(empty, ".index")]) rmSync(join(empty, name));
    expect(await repair(empty)).toContainEqual(expect.objectContaining({ kind: "unrepaired" }));
  });
});
