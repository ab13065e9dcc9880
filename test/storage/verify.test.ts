// What verify finds in a partition, how it says it, and what it leaves alone.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { indexName } from "../../src/storage/segment-name.js";
import { findPartitionDirs } from "../../src/storage/verify.js";
import { tempDir } from "../support/tmp.js";
import { closed, damage, verify } from "./support/checked.js";
import { bytesOf, crashCopy, files, flipBit, logPath } from "./support/crash.js";
import { COMBINATIONS, FORMATS, open } from "./support/opened.js";
import { headerBytes, payload, payloads } from "./support/records.js";

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
