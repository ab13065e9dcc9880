// Starts after every kind of end: clean, killed, torn, damaged. The torn shapes are made by hand, byte by byte; processes that
// are really killed are in killed.test.ts.

import { copyFileSync, mkdirSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { indexName, logName } from "../../src/storage/segment-name.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, crashCopy, files, flipBit, logPath, overwrite, sizeOf } from "./support/crash.js";
import { COMBINATIONS, FORMATS, MODES, type Opened, open, type TestOptions } from "./support/opened.js";
import { headerBytes, payload, payloads, stored } from "./support/records.js";

/** Three segments with 4 records of 100 bytes each, forced or not, and the directory as a kill would leave it. */
async function killedWith12(options: TestOptions & { readonly forced?: number }): Promise<string> {
  const { forced = 0, ...rest } = options;
  const dir = tempDir();
  const opened = await open(dir, { segmentBytes: 450, ...rest });
  for (let number = 0; number < 12; number++) {
    await opened.append(payload(number, 100));
    if (number + 1 === forced) {
      await opened.log.force();
      await opened.log.settled();
      opened.clock.ms += 5000;
      await opened.log.upkeep();
    }
  }
  await opened.log.settled();
  const copy = crashCopy(dir);
  await opened.close();
  return copy;
}

const recordBytes = (format: "plain" | "crc32c"): number => headerBytes(format) + 100;

describe.each(COMBINATIONS)("%s %s", (mode, format) => {
  const segment = { mode, format, segmentBytes: 450 } as const;

  it("S10 three segments and 12 records are there again after a close, and the next record gets 12", async () => {
    const dir = tempDir();
    const first = await open(dir, segment);
    for (let number = 0; number < 12; number++) await first.append(payload(number, 100));
    expect(first.log.segments()).toHaveLength(3);
    await first.close();
    const again = await open(dir, segment);
    expect(again.log.recovery).toMatchObject({
      clean: true,
      segments: 3,
      scannedBytes: 0,
      tornBytes: 0,
      epochRaised: false,
    });
    expect(again.log.segments()).toHaveLength(3);
    expect([again.log.logStartOffset, again.log.logEndOffset, again.log.durableOffset]).toEqual([0, 12, 12]);
    expect(await again.append(payload(12, 100))).toBe(12);
    expect(await again.readAll()).toEqual(payloads(0, 13, 100));
    await again.close();
  });

  it("S10 and after a kill, too", async () => {
    const dir = await killedWith12({ mode, format });
    const again = await open(dir, segment);
    expect(again.log.recovery).toMatchObject({ clean: false, segments: 3, tornBytes: 0 });
    expect(again.log.epoch).toBe(0);
    expect(await again.append(payload(12, 100))).toBe(12);
    expect(await again.readAll()).toEqual(payloads(0, 13, 100));
    await again.close();
  });

  it("S12 a record that is half written is gone, and no byte of it comes back under a shorter one", async () => {
    const dir = await killedWith12({ mode, format });
    const path = logPath(dir, 8);
    const end = 4 * recordBytes(format);
    // Body and sum there, length still zero: what a kill in the middle of a copy into the mapping leaves. The body is full of
    // what looks like records, so that a stale byte would not go unnoticed.
    const disguised = Buffer.concat(Array.from({ length: 5 }, (_, at) => stored(payload(900 + at, 1), format)));
    const torn = Buffer.from(stored(disguised, format));
    torn.writeInt32BE(0, 0);
    truncateSync(path, Math.max(sizeOf(path), end + torn.length));
    overwrite(path, end, torn);
    const again = await open(dir, { ...segment, segmentBytes: 1000 });
    expect(again.log.logEndOffset).toBe(12);
    expect(again.log.recovery).toMatchObject({ tornBytes: torn.length, epochRaised: true });
    expect([again.log.epoch, again.log.epochStart]).toEqual([1, 12]);
    expect(again.log.recovery.tornFiles.map((file) => bytesOf(file))).toEqual([torn]);
    expect(again.events).toContainEqual(expect.objectContaining({ kind: "recovery.torn", offset: 12, position: end }));
    expect(await again.append(payload(12, 3))).toBe(12);
    await again.log.settled();
    const killedAgain = crashCopy(dir);
    await again.close();
    for (const there of [killedAgain, dir]) {
      const last = await open(there, { ...segment, segmentBytes: 1000 });
      expect(last.log.logEndOffset).toBe(13);
      expect(last.log.recovery.tornBytes).toBe(0);
      expect(last.log.epoch).toBe(1);
      expect(await last.readAll()).toEqual([...payloads(0, 12, 100), payload(12, 3)]);
      await last.close();
    }
  });

  it("what follows a zero length is moved away even when it is a whole record: later pages came before earlier ones", async () => {
    const dir = await killedWith12({ mode, format });
    const record = recordBytes(format);
    const path = logPath(dir, 8);
    const third = bytesOf(path).subarray(2 * record, 4 * record);
    overwrite(path, record, new Uint8Array(record));
    const again = await open(dir, segment);
    expect(again.log.logEndOffset).toBe(9);
    expect(again.log.epoch).toBe(1);
    const [torn] = again.log.recovery.tornFiles;
    expect(bytesOf(torn).subarray(record).equals(third)).toBe(true);
    expect(await again.append(payload(9, 100))).toBe(9);
    expect(await again.readAll()).toEqual(payloads(0, 10, 100));
    await again.close();
  });

  it("a tear in an older unsealed segment ends the log there, and later segments are moved away whole", async () => {
    const dir = await killedWith12({ mode, format });
    // Nothing was forced: no index but those of sealed segments. They are taken away, with the checkpoint.
    for (const name of [...files(dir, ".index"), "checkpoint"]) rmSync(join(dir, name));
    const record = recordBytes(format);
    const wholeLast = bytesOf(logPath(dir, 8));
    truncateSync(logPath(dir, 4), record + 10);
    const again = await open(dir, segment);
    expect(again.log.logEndOffset).toBe(5);
    expect(again.log.segments()).toHaveLength(2);
    expect(again.log.epochStart).toBe(5);
    expect(files(dir, ".torn")).toEqual([`${logName(4)}.${record}.torn`, `${logName(8)}.0.torn`]);
    expect(bytesOf(join(dir, `${logName(8)}.0.torn`)).equals(wholeLast)).toBe(true);
    expect(again.log.recovery.tornBytes).toBe(10 + wholeLast.length);
    expect(await again.append(payload(5, 100))).toBe(5);
    expect(await again.readAll()).toEqual(payloads(0, 6, 100));
    await again.close();
  });

  it("S14 killed on one path, it is recovered and written on the other", async () => {
    const dir = await killedWith12({ mode, format });
    const other = mode === "MAPPED" ? "FILE_CHANNEL" : "MAPPED";
    const again = await open(dir, { ...segment, mode: other });
    expect(await again.readAll()).toEqual(payloads(0, 12, 100));
    for (let number = 12; number < 20; number++) await again.append(payload(number, 100));
    await again.log.settled();
    const killed = crashCopy(dir);
    await again.close();
    const third = await open(killed, segment);
    expect(await third.readAll()).toEqual(payloads(0, 20, 100));
    await third.close();
  });

  it("records below the checkpoint that are missing are a refusal with file, position and offset, and nothing is touched", async () => {
    const dir = await killedWith12({ mode, format, forced: 11 });
    const record = recordBytes(format);
    truncateSync(logPath(dir, 8), record);
    const before = files(dir).map((name) => [name, bytesOf(join(dir, name))] as const);
    await expect(open(dir, segment)).rejects.toMatchObject({
      code: "PARTITION_DAMAGED",
      path: logPath(dir, 8),
      position: record,
      offset: 9,
    });
    await expect(open(dir, segment)).rejects.toThrow(`${logPath(dir, 8)}, position ${record}, offset 9`);
    expect(files(dir).map((name) => [name, bytesOf(join(dir, name))] as const)).toEqual(before);
  });

  it("an overwritten length below the checkpoint is a refusal", async () => {
    for (const length of [0, -5, 1_000_000]) {
      const dir = await killedWith12({ mode, format, forced: 11 });
      const record = recordBytes(format);
      const bytes = Buffer.alloc(4);
      bytes.writeInt32BE(length);
      overwrite(logPath(dir, 8), record, bytes);
      await expect(open(dir, segment)).rejects.toMatchObject({
        code: "PARTITION_DAMAGED",
        position: record,
        offset: 9,
      });
    }
  });

  it("what lies above the checkpoint is cut where the same below it is a refusal", async () => {
    const dir = await killedWith12({ mode, format, forced: 11 });
    const record = recordBytes(format);
    overwrite(logPath(dir, 8), 3 * record, Buffer.from([0x80, 0, 0, 0]));
    const again = await open(dir, segment);
    expect([again.log.logEndOffset, again.log.epoch]).toEqual([11, 1]);
    await again.close();
  });
});

it("S11 FILE_CHANNEL: a header that promises more than the file has is gone, and the next record takes its offset", async () => {
  for (const format of FORMATS) {
    const record = recordBytes(format);
    for (let kept = 1; kept < record; kept += 13) {
      const dir = await killedWith12({ mode: "FILE_CHANNEL", format });
      truncateSync(logPath(dir, 8), 3 * record + kept);
      const again = await open(dir, { mode: "FILE_CHANNEL", format, segmentBytes: 450 });
      expect(again.log.logEndOffset).toBe(11);
      expect(again.log.recovery.tornBytes).toBe(tornPart(format, kept).length);
      expect(sizeOf(logPath(dir, 8))).toBe(3 * record);
      expect(await again.append(payload(11, 40))).toBe(11);
      expect(await again.readAll()).toEqual([...payloads(0, 11, 100), payload(11, 40)]);
      await again.close();
    }
  }
});

/** The first bytes of record 11, without the zeros at their end: those are not worth keeping. */
function tornPart(format: "plain" | "crc32c", kept: number): Uint8Array {
  const bytes = stored(payload(11, 100), format).subarray(0, kept);
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
}

describe.each(MODES)("S15 %s", (mode) => {
  const segment = { mode, format: "crc32c", segmentBytes: 450 } as const;
  const position = recordBytes("crc32c");

  it("a flipped bit below the checkpoint is found by recovery, which names the offset", async () => {
    const dir = await killedWith12({ ...segment, forced: 11 });
    flipBit(logPath(dir, 8), position + 60, 3);
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", position, offset: 9 });
  });

  it("a flipped bit in the active segment is found also after a clean stop", async () => {
    const dir = tempDir();
    const opened = await open(dir, segment);
    for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
    await opened.close();
    flipBit(logPath(dir, 8), position + 60, 3);
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", position, offset: 9 });
  });

  it("a flipped bit above the checkpoint is a torn tail", async () => {
    const dir = await killedWith12({ ...segment, forced: 10 });
    flipBit(logPath(dir, 8), 3 * position + 60, 3);
    const again = await open(dir, segment);
    expect([again.log.logEndOffset, again.log.epoch, again.log.epochStart]).toEqual([11, 1, 11]);
    await again.close();
  });
});

describe("sealed segments", () => {
  const segment = { mode: "MAPPED", format: "crc32c", segmentBytes: 450 } as const;
  const closed = async (): Promise<string> => {
    const dir = tempDir();
    const opened = await open(dir, segment);
    for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
    await opened.close();
    return dir;
  };
  const check = async (again: Opened): Promise<void> => {
    expect(again.log.logEndOffset).toBe(12);
    expect(await again.readAll()).toEqual(payloads(0, 12, 100));
    await again.close();
  };

  it("are trusted and not read by a start: what is wrong in them shows when it is read", async () => {
    const dir = await closed();
    flipBit(logPath(dir, 4), 50);
    const again = await open(dir, segment);
    expect(again.log.recovery).toMatchObject({ clean: true, scannedBytes: 0 });
    await expect(again.readAll()).rejects.toThrow(/sum/);
    await again.close();
  });

  it.each([
    ["is missing", (path: string) => rmSync(path)],
    ["has another version", (path: string) => overwrite(path, 4, Buffer.from([9]))],
    ["has a damaged header", (path: string) => flipBit(path, 30)],
    ["is cut", (path: string) => truncateSync(path, sizeOf(path) - 1)],
    ["is empty", (path: string) => truncateSync(path, 0)],
  ])("whose index %s are scanned and get it again", async (_, damage) => {
    const dir = await closed();
    const before = bytesOf(join(dir, indexName(4)));
    damage(join(dir, indexName(4)));
    const again = await open(dir, segment);
    expect(again.log.recovery).toMatchObject({ clean: false, indexesRebuilt: 1, tornBytes: 0 });
    expect(again.events).toContainEqual(expect.objectContaining({ kind: "index.rebuilt" }));
    expect(sizeOf(join(dir, indexName(4)))).toBe(before.length);
    expect(again.log.segments().map(({ sealed }) => sealed)).toEqual([true, true, true]);
    await check(again);
  });

  it("whose index is damaged behind its header get it again when it is needed", async () => {
    const dir = await closed();
    flipBit(join(dir, indexName(4)), 75);
    const again = await open(dir, segment);
    expect(again.log.recovery.clean).toBe(true);
    expect(await again.read(6)).toEqual(payload(6, 100));
    expect(again.events).toContainEqual(expect.objectContaining({ kind: "index.rebuilt" }));
    await again.close();
    const third = await open(dir, segment);
    expect(third.events).toEqual([]);
    await check(third);
  });

  it("with damage and without index are a refusal, also when no checkpoint says how far all was durable", async () => {
    const dir = await closed();
    rmSync(join(dir, "checkpoint"));
    rmSync(join(dir, indexName(4)));
    flipBit(logPath(dir, 4), 150);
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", position: 108, offset: 5 });
  });

  it.each([0, 4, 8])("a missing segment at %i is a refusal", async (base) => {
    const dir = await closed();
    rmSync(logPath(dir, base));
    rmSync(join(dir, indexName(base)));
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED" });
  });

  it("a segment file that was cut short does not match its index, and is a refusal", async () => {
    const dir = await closed();
    truncateSync(logPath(dir, 0), 300);
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", offset: 2 });
  });

  it("two segments that claim one offset are a refusal", async () => {
    const dir = await closed();
    copyFileSync(logPath(dir, 4), logPath(dir, 3));
    await expect(open(dir, segment)).rejects.toThrow(/begins before this one ends/);
  });

  it("a log restored from a copy, whose files have other times, is read once in its last segment", async () => {
    const dir = await closed();
    utimesSync(logPath(dir, 8), 1, 1);
    const again = await open(dir, segment);
    expect(again.log.recovery).toMatchObject({ clean: false, scannedBytes: 432, epochRaised: false });
    await check(again);
    expect((await open(dir, segment)).log.recovery.clean).toBe(true);
  });
});

describe("the checkpoint", () => {
  const segment = { mode: "MAPPED", format: "plain", segmentBytes: 450 } as const;
  const slot = (dir: string, at: number, position: number): void =>
    flipBit(join(dir, "checkpoint"), at * 4096 + position);

  it("with one torn slot still has the other", async () => {
    for (const torn of [0, 1]) {
      const dir = await killedWith12({ ...segment, forced: 11 });
      slot(dir, torn, 30);
      const again = await open(dir, segment);
      expect(again.log.logEndOffset).toBe(12);
      await again.close();
    }
  });

  it("with both slots damaged is a refusal: nobody can say what was durable", async () => {
    const dir = await killedWith12({ ...segment, forced: 11 });
    for (const torn of [0, 1]) slot(dir, torn, 30);
    await expect(open(dir, segment)).rejects.toThrow(/both of its slots/);
  });

  it("that is missing claims nothing, and it is said", async () => {
    const dir = await killedWith12({ ...segment, forced: 11 });
    rmSync(join(dir, "checkpoint"));
    const again = await open(dir, segment);
    expect(again.log.logEndOffset).toBe(12);
    expect(again.events).toContainEqual(expect.objectContaining({ kind: "checkpoint.missing" }));
    await again.close();
  });

  it("is written after barriers at most once a second, and covers what was forced", async () => {
    const dir = tempDir();
    const opened = await open(dir, { ...segment, segmentBytes: 100_000 });
    const written = async (): Promise<number> => {
      await opened.log.upkeep();
      await opened.log.settled();
      // Everything that the checkpoint covers is a refusal when it is missing; that is how one sees what it covers.
      for (let records = 2; records > 0; records--) {
        const copy = crashCopy(dir);
        truncateSync(logPath(copy, 0), (records - 1) * 104);
        const outcome = await open(copy, segment).then(
          (again) => again.close().then(() => "opened"),
          () => "refused",
        );
        if (outcome === "refused") return records;
      }
      return 0;
    };
    await opened.append(payload(0, 100));
    expect(await written()).toBe(0);
    await opened.log.force();
    opened.clock.ms += 1000;
    expect(await written()).toBe(1);
    await opened.append(payload(1, 100));
    await opened.log.force();
    opened.clock.ms += 999;
    expect(await written()).toBe(1);
    opened.clock.ms += 1;
    expect(await written()).toBe(2);
    await opened.close();
  });

  it("that disagrees with the records is a refusal", async () => {
    const dir = await killedWith12({ ...segment, forced: 11 });
    // Two records of 48 bytes in the place of one of 100: more offsets than the checkpoint has at its position.
    overwrite(logPath(dir, 8), 0, Buffer.concat([stored(payload(1, 48), "plain"), stored(payload(2, 48), "plain")]));
    await expect(open(dir, segment)).rejects.toMatchObject({ code: "PARTITION_DAMAGED" });
  });
});

describe("what a crash leaves beside the log", () => {
  const segment = { mode: "MAPPED", format: "crc32c", segmentBytes: 450 } as const;

  it("prepared segments, half-written files and indexes without a segment are removed", async () => {
    const dir = await killedWith12(segment);
    const left = ["next.tmp", "next-1.tmp", `${indexName(4)}.tmp`, "checkpoint.tmp", indexName(77)];
    for (const name of left) writeFileSync(join(dir, name), "left");
    const again = await open(dir, segment);
    expect(files(dir).filter((name) => left.includes(name))).toEqual([]);
    expect(again.events.filter(({ kind }) => kind === "recovery.leftover-removed").length).toBeGreaterThanOrEqual(
      left.length,
    );
    expect(await again.readAll()).toEqual(payloads(0, 12, 100));
    await again.close();
  });

  it("files that are not ours are left alone, and said", async () => {
    const dir = await killedWith12(segment);
    writeFileSync(join(dir, "notes.txt"), "mine");
    const again = await open(dir, segment);
    expect(again.events).toContainEqual(
      expect.objectContaining({ kind: "file.foreign", path: join(dir, "notes.txt") }),
    );
    await again.close();
    expect(bytesOf(join(dir, "notes.txt")).toString()).toBe("mine");
  });

  it("an empty segment after a full one is the active one", async () => {
    const dir = await killedWith12(segment);
    writeFileSync(logPath(dir, 12), "");
    const again = await open(dir, segment);
    expect(again.log.segments()).toHaveLength(4);
    expect(await again.append(payload(12, 100))).toBe(12);
    expect(await again.readAll()).toEqual(payloads(0, 13, 100));
    await again.close();
  });

  it("an empty segment behind a gap goes away, and the epoch says that something is missing", async () => {
    const dir = await killedWith12(segment);
    writeFileSync(logPath(dir, 20), "");
    const again = await open(dir, segment);
    expect(files(dir, ".log")).toHaveLength(3);
    expect([again.log.logEndOffset, again.log.epoch, again.log.recovery.tornFiles]).toEqual([12, 1, []]);
    await again.close();
  });

  it("a partition that was made and never written is found as it was, at no cost", async () => {
    const dir = tempDir();
    await (await open(dir, segment)).close();
    const killed = crashCopy(dir);
    for (const there of [dir, killed]) {
      const again = await open(there, segment);
      expect(again.log.recovery.clean).toBe(true);
      expect([again.log.epoch, again.log.logEndOffset]).toEqual([0, 0]);
      expect(await again.append(payload(0, 10))).toBe(0);
      await again.close();
    }
  });

  it("a partition whose making was cut off is made", async () => {
    const dir = tempDir();
    writeFileSync(join(dir, "partition.json"), '{"version":1,"recordFormat":"plain"}\n');
    const opened = await open(dir);
    expect(opened.log.recordFormat).toBe("plain");
    expect(await opened.append(payload(0, 10))).toBe(0);
    await opened.close();
  });
});

describe("partition.json", () => {
  it("that is missing beside segments is a refusal", async () => {
    const dir = await killedWith12({ format: "plain" });
    rmSync(join(dir, "partition.json"));
    await expect(open(dir)).rejects.toMatchObject({ code: "PARTITION_DAMAGED", path: join(dir, "partition.json") });
  });

  it.each(["", "{}", '{"version":1,"recordFormat":"avro"}', '{"version":2,"recordFormat":"plain"}', "[]", "null"])(
    "that says %s is a refusal",
    async (text) => {
      const dir = await killedWith12({ format: "plain" });
      writeFileSync(join(dir, "partition.json"), text);
      await expect(open(dir)).rejects.toMatchObject({ code: "PARTITION_DAMAGED" });
    },
  );

  it("decides the format for good: none asked for keeps it, another one is a refusal", async () => {
    const dir = tempDir();
    await (await open(dir, { format: "plain" })).close();
    const again = await open(dir);
    expect(again.log.recordFormat).toBe("plain");
    await again.close();
    await expect(open(dir, { format: "crc32c" })).rejects.toMatchObject({ code: "BAD_CONFIG" });
    await (await open(dir, { format: "plain" })).close();
  });

  it("of a new partition says crc32c when nobody asked for anything", async () => {
    const opened = await open(tempDir());
    expect(opened.log.recordFormat).toBe("crc32c");
    await opened.close();
  });
});

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
    const dir = join(tempDir(), "data", "orders-0");
    await (await open(dir)).close();
    mkdirSync(dir, { recursive: true });
    expect(files(dir)).toContain("partition.json");
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
