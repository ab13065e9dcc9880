// Scans and walks through the boundary: each way a scan ends, the index it brings, and the answers of a walk.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type NativeFile, native, RecordFormatId, ScanStop } from "../../src/native/binding.js";
import { concat, int32 } from "../support/bytes.js";
import { storedRecords } from "../support/stored-records.js";
import { tempDir } from "../support/tmp.js";
import { formats, payloads } from "./support/segments.js";

async function fileOf(bytes: Uint8Array): Promise<NativeFile> {
  const path = join(tempDir("scan"), "s.log");
  writeFileSync(path, bytes);
  const file = await native.openFile(path, { writable: true });
  onTestFinished(() => file.close());
  return file;
}

describe.each(formats)("%s", (format) => {
  const id = RecordFormatId[format];
  const header = format === "plain" ? 4 : 8;
  const sound = storedRecords(format, payloads([10, 20]));
  const scanOf = async (...parts: Uint8Array[]) => (await fileOf(concat(...parts))).scan(id, 0, 1 << 30, 4096);

  it("ends at the limit", async () => {
    expect(await scanOf(sound)).toEqual({
      stop: ScanStop.END,
      records: 2,
      end: sound.length,
      tailBytes: 0,
      index: Uint32Array.of(0, 0),
    });
  });

  it("ends at a zero length, and a body behind it is a tail", async () => {
    expect(await scanOf(sound, new Uint8Array(10_000))).toMatchObject({ stop: ScanStop.ZERO_PREFIX, tailBytes: 0 });
    const body = storedRecords(format, payloads([300])).fill(0, 0, 4);
    const scan = await scanOf(sound, body, new Uint8Array(10_000));
    expect(scan).toMatchObject({ stop: ScanStop.ZERO_PREFIX, end: sound.length, tailBytes: body.length });
  });

  it("ends where a record is torn, or its length cannot be", async () => {
    const third = storedRecords(format, payloads([300]));
    const cases: [Uint8Array, number][] = [
      [third.subarray(0, third.length - 1), ScanStop.TORN],
      [third.subarray(0, header + 1), ScanStop.TORN],
      [third.subarray(0, 4), ScanStop.TORN],
      [concat(int32(0x7fffffff), third.subarray(4)), ScanStop.TORN],
      [concat(int32(-1), third.subarray(4)), ScanStop.BAD_LENGTH],
      [concat(int32(-0x80000000), third.subarray(4)), ScanStop.BAD_LENGTH],
    ];
    for (const [tail, stop] of cases) {
      const scan = await scanOf(sound, tail);
      expect(scan).toMatchObject({ stop, records: 2, end: sound.length, tailBytes: tail.length });
    }
  });

  it("brings an index entry for each interval", async () => {
    const records = payloads(Array.from({ length: 3000 }, (_, index) => 1 + ((index * 37) % 300)));
    const bytes = storedRecords(format, records);
    const file = await fileOf(bytes);
    const { index } = await file.scan(id, 0, bytes.length, 1000);
    let position = 0;
    let due = 0;
    const expected: number[] = [];
    for (const [number, record] of records.entries()) {
      if (position >= due) {
        expected.push(number, position);
        due = position + 1000;
      }
      position += header + record.length;
    }
    expect([...index]).toEqual(expected);
  });

  it("walks to any record, answers −1 at the limit and −2 when it would have to wait", async () => {
    const records = payloads(Array.from({ length: 2000 }, (_, index) => 1 + ((index * 37) % 90)));
    const bytes = storedRecords(format, records);
    const file = await fileOf(bytes);
    const positionOf = (count: number) => storedRecords(format, records.slice(0, count)).length;
    expect(file.walk(id, 0, 0, bytes.length, 0)).toBe(0);
    expect(file.walk(id, 0, 1234, bytes.length, 0)).toBe(positionOf(1234));
    expect(file.walk(id, positionOf(700), 300, bytes.length, 0)).toBe(positionOf(1000));
    expect(file.walk(id, 0, 2000, bytes.length, 0)).toBe(bytes.length);
    // Right whatever is guessed of its length.
    for (const likely of [1, 500, 4_000, 1_000_000]) {
      expect(file.walk(id, positionOf(700), 300, bytes.length, likely)).toBe(positionOf(1000));
    }
    expect(file.walk(id, 0, 2001, bytes.length, 0)).toBe(-1);
    expect(file.walk(id, 0, 2000, bytes.length - 1, 0)).toBe(-1);
    expect(await file.walkAsync(id, 0, 2001, bytes.length)).toBe(-1);
    await file.sync();
    await file.dropCache(0);
    expect(file.walk(id, 0, 2000, bytes.length, 0)).toBe(-2);
    expect(await file.walkAsync(id, 0, 2000, bytes.length)).toBe(bytes.length);
  });
});

it("S15 finds one flipped bit in a payload or its sum", async () => {
  const bytes = storedRecords("crc32c", payloads([10, 40, 10]));
  for (const at of [18 + 4, 18 + 7, 18 + 8, 18 + 47]) {
    const flipped = bytes.slice();
    flipped[at] = (flipped[at] as number) ^ 1;
    const scan = await (await fileOf(flipped)).scan(RecordFormatId.crc32c, 0, bytes.length, 4096);
    expect(scan).toMatchObject({ stop: ScanStop.BAD_SUM, records: 1, end: 18, tailBytes: bytes.length - 18 });
  }
});
