// Starts after every kind of end: clean, killed, torn, damaged. The torn shapes are made by hand, byte by byte; processes that
// are really killed are in killed.test.ts.

import { rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { logName } from "../../src/storage/segment-name.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, crashCopy, files, flipBit, logPath, overwrite, sizeOf } from "./support/crash.js";
import { killedWith12 } from "./support/killed12.js";
import { COMBINATIONS, FORMATS, MODES, open } from "./support/opened.js";
import { headerBytes, payload, payloads, stored } from "./support/records.js";

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
