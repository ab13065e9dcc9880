// What a person asks of a partition's files: verify, repair, dump.

import { rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type DumpItem, type DumpOptions, dump } from "../../src/storage/dump.js";
import { type RepairStep, repairPartition } from "../../src/storage/repair.js";
import { indexName, logName } from "../../src/storage/segment-name.js";
import { copyTorn } from "../../src/storage/torn-files.js";
import { type Finding, findPartitionDirs, verifyPartition } from "../../src/storage/verify.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, crashCopy, files, flipBit, logPath, overwrite, sizeOf } from "./support/crash.js";
import { MovedClock } from "./support/deps.js";
import { COMBINATIONS, FORMATS, open, type TestOptions } from "./support/opened.js";
import { headerBytes, payload, payloads } from "./support/records.js";

const verify = async (dir: string): Promise<Finding[]> => collect(verifyPartition(dir));
const repair = async (dir: string): Promise<RepairStep[]> => collect(repairPartition(dir, new MovedClock()));
const damage = async (dir: string): Promise<Finding[]> => (await verify(dir)).filter(({ kind }) => kind === "damage");

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Three segments of 4 records each, closed cleanly. */
async function closed(options: TestOptions = {}): Promise<string> {
  const dir = tempDir();
  const opened = await open(dir, { segmentBytes: 450, indexIntervalBytes: 100, ...options });
  for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
  await opened.close();
  return dir;
}

const reopened = async (dir: string) => open(dir, { segmentBytes: 450 });

describe.each(COMBINATIONS)("%s %s", (mode, format) => {
  it("verify finds nothing in a sound partition, closed, killed or in the middle of being written, and changes nothing", async () => {
    const dir = tempDir();
    const opened = await open(dir, { mode, format, segmentBytes: 450, indexIntervalBytes: 100 });
    for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
    expect(await damage(dir)).toEqual([]);
    const killed = crashCopy(dir);
    await opened.close();
    for (const there of [dir, killed]) {
      const before = files(there).map((name) => bytesOf(join(there, name)));
      const found = await verify(there);
      expect(found.filter(({ kind }) => kind === "damage")).toEqual([]);
      const segments = found.filter(({ kind }) => kind === "segment");
      expect(segments.map((each) => "records" in each && each.records)).toEqual([4, 4, 4]);
      expect(files(there).map((name) => bytesOf(join(there, name)))).toEqual(before);
    }
  });
});

describe("verify", () => {
  it("S15 finds one flipped bit anywhere in crc32c, and names file, position and offset", async () => {
    const dir = await closed({ format: "crc32c" });
    for (const [base, record] of [
      [0, 0],
      [0, 3],
      [4, 1],
      [8, 2],
      [8, 3],
    ]) {
      const copy = crashCopy(dir);
      flipBit(logPath(copy, base), record * 108 + 8 + 57, 6);
      expect(await damage(copy)).toEqual([
        {
          kind: "damage",
          path: logPath(copy, base),
          position: record * 108,
          offset: base + record,
          what: "the payload does not match its sum",
        },
      ]);
    }
  });

  it("S15 names each of several wrong records", async () => {
    const dir = await closed({ format: "crc32c" });
    for (const base of [0, 4, 8]) for (const record of [1, 3]) flipBit(logPath(dir, base), record * 108 + 50);
    const found = await damage(dir);
    expect(found.map((each) => "offset" in each && each.offset)).toEqual([1, 3, 5, 7, 9, 11]);
  });

  it.each(FORMATS)("names where the chain of records breaks in %s, and guesses nothing behind it", async (format) => {
    const dir = await closed({ format });
    const record = headerBytes(format) + 100;
    flipBit(logPath(dir, 4), record + 3, 4);
    const found = await damage(dir);
    expect(found).toHaveLength(format === "crc32c" ? 2 : found.length);
    expect(found[0]).toMatchObject({ kind: "damage" });
    expect(found).toContainEqual(expect.objectContaining({ path: logPath(dir, 4) }));
    if (format === "crc32c") {
      expect(found).toContainEqual(expect.objectContaining({ path: logPath(dir, 4), position: record, offset: 5 }));
    }
  });

  it("looks at every entry of an index", async () => {
    const dir = await closed({ format: "plain" });
    flipBit(join(dir, indexName(4)), 80);
    expect(await damage(dir)).toMatchObject([
      { path: join(dir, indexName(4)), what: "its entries do not match their sum" },
    ]);
  });

  it("notes an index that is missing, and what a crash left, without calling it damage", async () => {
    const dir = await closed();
    rmSync(join(dir, indexName(4)));
    writeFileSync(join(dir, "next.tmp"), "");
    writeFileSync(join(dir, "notes.txt"), "");
    const found = await verify(dir);
    expect(found.filter(({ kind }) => kind === "damage")).toEqual([]);
    expect(
      found
        .filter(({ kind }) => kind === "note")
        .map((each) => "path" in each && each.path)
        .sort(),
    ).toEqual([join(dir, indexName(4)), join(dir, "next.tmp"), join(dir, "notes.txt")].sort());
  });

  it("says what the next start does with what a crash left, and that of nothing when it will refuse", async () => {
    const sound = await closed();
    writeFileSync(join(sound, indexName(100)), "");
    expect(await verify(sound)).toContainEqual({
      kind: "note",
      path: join(sound, indexName(100)),
      what: "its segment is not there; the next start removes it",
    });
    for (const base of [0, 4, 8]) {
      const dir = await closed();
      rmSync(logPath(dir, base));
      const found = await verify(dir);
      expect(found.filter(({ kind }) => kind === "damage")).not.toEqual([]);
      expect(found).toContainEqual({
        kind: "note",
        path: join(dir, indexName(base)),
        what: "its segment is not there",
      });
      await expect(reopened(dir)).rejects.toMatchObject({ code: "PARTITION_DAMAGED" });
    }
  });

  it("says what is wrong, and not to read what it says itself", async () => {
    for (const spoil of [
      (dir: string) => writeFileSync(join(dir, "checkpoint"), new Uint8Array(8192)),
      (dir: string) => writeFileSync(join(dir, "partition.json"), "{\n}\n"),
      (dir: string) => rmSync(logPath(dir, 0)),
    ]) {
      const dir = await closed();
      spoil(dir);
      const whats = (await damage(dir)).map((each) => "what" in each && each.what);
      expect(whats).not.toEqual([]);
      for (const what of whats) expect(what).not.toMatch(/millrace verify|No record was touched|\n/);
    }
  });

  it("says how an entry of an index is wrong in words, not with a position of -1", async () => {
    const dir = await closed({ format: "plain" });
    // A length that leads beyond the segment's end.
    flipBit(logPath(dir, 4), 104 + 1);
    const whats = (await verify(dir)).map((each) => ("what" in each ? each.what : ""));
    expect(whats).toContainEqual(
      "its entry for offset 6 says position 208, and the records of the segment do not go that far",
    );
  });

  it("names a missing segment, a missing first segment, a missing partition.json and a checkpoint without a whole slot", async () => {
    const gap = await closed();
    rmSync(logPath(gap, 4));
    expect(await damage(gap)).toMatchObject([{ path: logPath(gap, 0), offset: 4 }]);
    const start = await closed();
    rmSync(logPath(start, 0));
    expect(await damage(start)).toMatchObject([{ path: start, offset: 4 }]);
    const meta = await closed();
    rmSync(join(meta, "partition.json"));
    expect(await damage(meta)).toMatchObject([{ path: join(meta, "partition.json") }]);
    const checkpoint = await closed();
    writeFileSync(join(checkpoint, "checkpoint"), new Uint8Array(8192));
    expect(await damage(checkpoint)).toMatchObject([{ path: join(checkpoint, "checkpoint") }]);
    const all = await closed();
    for (const name of [...files(all, ".log"), ...files(all, ".index")]) rmSync(join(all, name));
    expect(await damage(all)).toMatchObject([{ path: all }]);
  });

  it("says of a torn tail that the next start cuts it", async () => {
    const dir = tempDir();
    const opened = await open(dir, { format: "crc32c" });
    await opened.append(...payloads(0, 3, 100));
    const killed = crashCopy(dir);
    await opened.close();
    flipBit(logPath(killed, 0), 2 * 108 + 50);
    const found = await verify(killed);
    expect(found.filter(({ kind }) => kind === "damage")).toEqual([]);
    expect(found).toContainEqual(expect.objectContaining({ kind: "note", path: logPath(killed, 0) }));
  });

  it("finds the partitions of a data directory", async () => {
    const data = tempDir();
    for (const name of ["orders-1", "orders-0", "clicks-0"]) await (await open(join(data, name))).close();
    writeFileSync(join(data, "millrace.json"), "{}");
    rmSync(join(data, "clicks-0", "partition.json"));
    expect(await findPartitionDirs(data)).toEqual(["clicks-0", "orders-0", "orders-1"].map((name) => join(data, name)));
    expect(await findPartitionDirs(join(data, "orders-0"))).toEqual([join(data, "orders-0")]);
  });
});

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

describe("dump", () => {
  const dumped = (path: string, options: DumpOptions = {}): Promise<DumpItem[]> => collect(dump(path, options));

  it.each(COMBINATIONS)("%s %s shows every record of a partition, also while it is written", async (mode, format) => {
    const dir = tempDir();
    const opened = await open(dir, { mode, format, segmentBytes: 3_000_000 });
    const sizes = [1, 100, 70_000, 2_000_000, 50, 2_500_000];
    for (const [number, size] of sizes.entries()) await opened.append(payload(number, size));
    const items = await dumped(dir, { headBytes: 10 });
    await opened.close();
    const records = items.filter(({ kind }) => kind === "record");
    expect(records).toHaveLength(sizes.length);
    for (const [number, each] of records.entries()) {
      expect(each).toMatchObject({
        offset: number,
        length: sizes[number],
        sumMatches: format === "crc32c" ? true : undefined,
      });
      expect("head" in each && each.head).toEqual(payload(number, sizes[number]).subarray(0, 10));
    }
    expect(items.filter(({ kind }) => kind === "segment")).toHaveLength(2);
    const ends = items.filter(({ kind }) => kind === "end");
    expect(ends.at(-1)).toMatchObject({ offset: 6, tail: mode === "MAPPED" ? "zeros" : "whole", tailBytes: 0 });
  });

  it("shows a record whose sum does not match, goes on behind it, and says how a segment ends", async () => {
    const dir = await closed({ format: "crc32c" });
    flipBit(logPath(dir, 4), 108 + 50);
    truncateSync(logPath(dir, 4), 4 * 108 - 5);
    const items = await dumped(logPath(dir, 4));
    expect(items.map((each) => each.kind)).toEqual(["segment", "record", "record", "record", "end"]);
    expect(items[2]).toMatchObject({ offset: 5, position: 108, sumMatches: false });
    expect(items[4]).toMatchObject({ kind: "end", offset: 7, position: 324, tail: "short" });
  });

  it("of a file away from its partition wants to be told the format", async () => {
    const dir = tempDir();
    writeFileSync(join(dir, "some.log"), "");
    await expect(dumped(join(dir, "some.log"))).rejects.toMatchObject({ code: "BAD_ARGUMENT" });
    expect(await dumped(join(dir, "some.log"), { format: "plain" })).toMatchObject([
      { kind: "segment", bytes: 0 },
      { kind: "end", tail: "whole" },
    ]);
  });
});
