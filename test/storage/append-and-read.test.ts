// Appending to a partition and reading it by offset, on both paths and in both formats, on real files.

import { describe, expect, it } from "vitest";
import { ReadOutcome } from "../../src/storage/read-plan.js";
import { tempDir } from "../support/tmp.js";
import { files, logPath, sizeOf } from "./support/crash.js";
import { COMBINATIONS, MODES, open } from "./support/opened.js";
import { headerBytes, payload, payloads, region, stored } from "./support/records.js";

describe.each(MODES)("%s", (mode) => {
  it("S01 a hundred appends to an empty segment get the offsets 0 … 99", async () => {
    const opened = await open(tempDir(), { mode });
    for (let number = 0; number < 100; number++) expect(await opened.append(payload(number, 50))).toBe(number);
    expect(opened.log.logEndOffset).toBe(100);
    expect(opened.log.logStartOffset).toBe(0);
    await opened.close();
  });

  it("S04 with one record there is nothing at 1 and at 7, though the file may be pre-sized and full of zeros", async () => {
    const dir = tempDir();
    const opened = await open(dir, { mode, segmentBytes: 64 * 1024 });
    await opened.append(payload(0, 50));
    if (mode === "MAPPED") expect(sizeOf(logPath(dir, 0))).toBe(64 * 1024);
    for (const offset of [1, 7]) {
      expect(await opened.read(offset)).toBeNull();
      expect(await opened.positionOf(offset)).toBeNull();
    }
    expect(await opened.read(0)).toEqual(payload(0, 50));
    await opened.close();
  });
});

describe.each(COMBINATIONS)("%s %s", (mode, format) => {
  it("S02 500 records of different lengths are read back by their offsets as they were written", async () => {
    const opened = await open(tempDir(), { mode, format });
    for (let number = 0; number < 500; number++) await opened.append(payload(number, 1 + ((number * 37) % 900)));
    for (let number = 0; number < 500; number++) {
      expect(await opened.read(number)).toEqual(payload(number, 1 + ((number * 37) % 900)));
    }
    await opened.close();
  });

  it("S03 among 5000 records of 64 bytes the search walks on from an index entry and not from zero", async () => {
    const opened = await open(tempDir(), { mode, format });
    for (let from = 0; from < 5000; from += 50) await opened.append(...payloads(from, 50, 64));
    expect(await opened.positionOf(4321)).toBe(4321 * (headerBytes(format) + 64));
    expect(await opened.read(4999)).toEqual(payload(4999, 64));
    await opened.close();
  });

  it("S05 a full segment refuses the append instead of overwriting", async () => {
    const opened = await open(tempDir(), { mode, format, segmentBytes: 1024 });
    const accepted = Math.floor(1024 / (headerBytes(format) + 200));
    const bytes = opened.log.storedBytes(204, 1);
    await opened.log.makeRoom(bytes);
    for (let number = 0; number < accepted; number++) {
      expect(opened.log.room()).toBeGreaterThanOrEqual(bytes);
      await opened.append(payload(number, 200));
    }
    if (format === "plain") expect(accepted).toBe(5);
    expect(opened.log.room()).toBeLessThan(bytes);
    expect(opened.log.segments()).toHaveLength(1);
    // Written by force it is refused by the addon itself, and the five are intact.
    opened.turn.reset();
    const source = region([payload(99, 200)]);
    opened.log.addTo(opened.turn, source, 0, source.length, 1);
    opened.turn.run();
    expect(() => opened.log.accept(opened.turn, 0)).toThrow(/room/);
    expect(await opened.readAll()).toEqual(payloads(0, accepted, 200));
    await opened.close();
  });

  it("C1 accepted records get adjacent offsets, whatever is refused between them", async () => {
    const opened = await open(tempDir(), { mode, format, segmentBytes: 4096 });
    let expected = 0;
    for (let round = 0; round < 60; round++) {
      const count = 1 + (round % 5);
      expect(await opened.append(...payloads(expected, count, 40 + round))).toBe(expected);
      expected += count;
      expect(opened.log.logEndOffset).toBe(expected);
      const corrupt = region([payload(0, 40)]);
      corrupt[3] = 41;
      await expect(opened.appendRegion(corrupt, 1)).rejects.toThrow(/status 1/);
      expect(opened.log.logEndOffset).toBe(expected);
    }
    expect(opened.log.segments().length).toBeGreaterThan(2);
    expect(await opened.readAll()).toHaveLength(expected);
    await opened.close();
  });

  it("C2 what has an offset never changes and never moves, also through a roll, a seal and a restart", async () => {
    const dir = tempDir();
    let opened = await open(dir, { mode, format, segmentBytes: 2048 });
    const places = new Map<number, { position: number; bytes: Uint8Array }>();
    const check = async (): Promise<void> => {
      for (const [offset, { position, bytes }] of places) {
        expect(await opened.positionOf(offset)).toBe(position);
        expect(await opened.readBytes(offset, bytes.length)).toEqual(bytes);
      }
    };
    for (let number = 0; number < 40; number++) {
      const offset = await opened.append(payload(number, 100 + number));
      const position = await opened.positionOf(offset);
      places.set(offset, { position: position!, bytes: stored(payload(number, 100 + number), format) });
    }
    await check();
    await opened.log.force();
    await opened.log.settled();
    await check();
    await opened.close();
    opened = await open(dir, { mode, format, segmentBytes: 2048 });
    await check();
    await opened.append(payload(40, 10));
    await check();
    await opened.close();
  });

  it("C4 a record that does not fit an empty segment is refused, never cut; the largest one that fits is taken", async () => {
    const opened = await open(tempDir(), { mode, format, segmentBytes: 1024 });
    const largest = 1024 - headerBytes(format);
    expect(opened.log.maxRecordBytes).toBe(largest);
    await opened.append(payload(0, 10));
    await expect(opened.append(payload(1, largest + 1))).rejects.toMatchObject({ code: "RECORD_TOO_LARGE" });
    await expect(opened.append(payload(1, 10), payload(2, largest + 1))).rejects.toMatchObject({
      code: "RECORD_TOO_LARGE",
    });
    expect(opened.log.logEndOffset).toBe(1);
    expect(await opened.append(payload(1, largest))).toBe(1);
    expect(await opened.append(payload(2, largest))).toBe(2);
    expect(await opened.readAll()).toEqual([payload(0, 10), payload(1, largest), payload(2, largest)]);
    await opened.close();
  });

  it("C6 a read past what was written has no data, never bytes from the tail of a pre-sized file", async () => {
    const dir = tempDir();
    const opened = await open(dir, { mode, format, segmentBytes: 16 * 1024 });
    await opened.append(...payloads(0, 3, 100));
    const whole = 3 * (headerBytes(format) + 100);
    expect(await opened.readBytes(0)).toHaveLength(whole);
    expect(await opened.readBytes(3)).toHaveLength(0);
    expect((await opened.plan(4)).outcome).toBe(ReadOutcome.OUT_OF_RANGE);
    expect((await opened.plan(-1)).outcome).toBe(ReadOutcome.OUT_OF_RANGE);
    expect((await opened.plan(Number.NaN)).outcome).toBe(ReadOutcome.OUT_OF_RANGE);
    await opened.close();
  });

  it("S14 a segment written on one path is read and appended to on the other", async () => {
    const dir = tempDir();
    const other = mode === "MAPPED" ? "FILE_CHANNEL" : "MAPPED";
    for (const [round, path] of ([mode, other, mode] as const).entries()) {
      const opened = await open(dir, { mode: path, format, segmentBytes: 8192 });
      expect(opened.log.logEndOffset).toBe(round * 30);
      expect(await opened.readAll()).toEqual(payloads(0, round * 30, 100));
      for (let number = 0; number < 30; number++) await opened.append(payload(round * 30 + number, 100));
      await opened.close();
      expect(files(dir, ".log").reduce((sum, name) => sum + sizeOf(`${dir}/${name}`), 0)).toBe(
        (round + 1) * 30 * (headerBytes(format) + 100),
      );
    }
  });

  it("a batch spans as many segments as it needs, is whole, and is published at once", async () => {
    const dir = tempDir();
    const opened = await open(dir, { mode, format, segmentBytes: 1024 });
    await opened.append(payload(0, 900));
    const batch = payloads(1, 20, 300);
    const appending = opened.append(...batch);
    while (opened.log.logEndOffset === 1) {
      // Whatever has been written by now, nobody sees it.
      expect((await opened.plan(1)).outcome).toBe(ReadOutcome.EMPTY);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await appending).toBe(1);
    expect(opened.log.logEndOffset).toBe(21);
    expect(opened.log.segments().map(({ baseOffset }) => baseOffset)).toEqual([0, 1, 4, 7, 10, 13, 16, 19]);
    expect(await opened.readAll()).toEqual([payload(0, 900), ...batch]);
    expect(await opened.append(payload(21, 50))).toBe(21);
    await opened.log.force();
    await opened.close();
    const again = await open(dir, { mode, format, segmentBytes: 1024 });
    expect(await again.readAll()).toEqual([payload(0, 900), ...batch, payload(21, 50)]);
    await again.close();
  });

  it("a batch that spans fills what is left of the active segment first", async () => {
    const opened = await open(tempDir(), { mode, format, segmentBytes: 1024 });
    await opened.append(payload(0, 100));
    await opened.append(...payloads(1, 10, 300));
    expect(opened.log.segments().map(({ baseOffset }) => baseOffset)).toEqual(
      format === "plain" ? [0, 4, 7, 10] : [0, 3, 6, 9],
    );
    await opened.close();
  });

  it("a batch that spans and is corrupt leaves nothing behind", async () => {
    const dir = tempDir();
    const opened = await open(dir, { mode, format, segmentBytes: 1024 });
    await opened.append(payload(0, 700));
    const source = region(payloads(1, 20, 300));
    await expect(opened.appendRegion(source, 19)).rejects.toMatchObject({ code: "CORRUPT_REQUEST" });
    expect(opened.log.logEndOffset).toBe(1);
    expect(opened.log.segments()).toHaveLength(1);
    expect(await opened.append(payload(1, 10))).toBe(1);
    await opened.close();
    expect(files(dir, ".tmp")).toEqual([]);
  });
});

describe("room", () => {
  it("counts rows that wait in a turn, and gives back what was refused once the turn has run", async () => {
    const opened = await open(tempDir(), { format: "crc32c", segmentBytes: 10_000 });
    const { log, turn } = opened;
    const good = region(payloads(0, 2, 100));
    const corrupt = good.slice();
    corrupt[3] = 99;
    const stored = log.storedBytes(good.length, 2);
    expect(stored).toBe(2 * 108);
    await log.makeRoom(stored);
    const before = log.room();
    turn.reset();
    for (const source of [good, corrupt, good]) {
      const left = log.room();
      log.addTo(turn, source, 0, source.length, 2);
      expect(log.room()).toBe(left - stored);
    }
    turn.run();
    expect([0, 1, 2].map((row) => log.accept(turn, row) as number)).toEqual([0, -1, 2]);
    expect(log.room()).toBe(before - 2 * stored);
    // A turn of corrupt rows alone gives all of it back, also when nobody takes in its outcome.
    turn.reset();
    log.addTo(turn, corrupt, 0, corrupt.length, 2);
    turn.run();
    expect(log.room()).toBe(before - 2 * stored);
    await opened.close();
  });
});
