// The two walks over received records, in JavaScript and in the addon: each against what the records are, and both against each other, answer
// by answer.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { javascriptWalker, type RecordWalker } from "../../src/client/record-walker.js";
import { SEGMENT_BYTES_MAX } from "../../src/model/limits.js";
import { RECORD_FORMATS, type RecordFormat } from "../../src/model/record-format.js";
import { WALK_COLUMNS, WalkColumn, WalkStop } from "../../src/model/record-walk.js";
import { native } from "../../src/native/binding.js";
import { nativeWalker } from "../../src/native-walker.js";
import { ascii, concat, embed, int32 } from "../support/bytes.js";
import { printedSeed } from "../support/seed.js";
import { storedRecords } from "../support/stored-records.js";

const addonWalker = nativeWalker(native, 0);
const walkers = [javascriptWalker, addonWalker].map((walker) => [walker.verification, walker] as const);

const UNTOUCHED = 0xdeadbeef;

interface Walked {
  readonly ranges: number[];
  readonly records: number;
  readonly stop: number;
  readonly position: number;
  readonly cutRecordBytes: number;
}

/** In the middle of other bytes; what lies behind the room for ranges must stay as it is. */
function walk(
  walker: RecordWalker,
  format: RecordFormat,
  stored: Uint8Array,
  room = 100,
  { from = 0, filler = 0 } = {},
): Walked {
  const { view, from: at } = embed(stored, filler);
  const bytes = new Uint8Array(view.buffer, view.byteOffset + at, stored.length);
  const ranges = new Uint32Array(2 * room + 2).fill(UNTOUCHED);
  const walked = new Uint32Array(WALK_COLUMNS + 1).fill(UNTOUCHED);
  walker.walk(bytes, from, format, ranges, room, walked);
  const records = walked[WalkColumn.RECORDS];
  expect(records).toBeLessThanOrEqual(room);
  expect([...ranges.subarray(2 * records)].every((word) => word === UNTOUCHED)).toBe(true);
  expect(walked[WALK_COLUMNS]).toBe(UNTOUCHED);
  return {
    ranges: [...ranges.subarray(0, 2 * records)],
    records,
    stop: walked[WalkColumn.STOP],
    position: walked[WalkColumn.POSITION],
    cutRecordBytes: walked[WalkColumn.CUT_RECORD_BYTES],
  };
}

const PAYLOADS = [ascii("a"), ascii("bcd"), new Uint8Array(40).fill(7), ascii("123456789")];
const headerBytes = { plain: 4, crc32c: 8 } as const;

function rangesOf(format: RecordFormat, payloads: readonly Uint8Array[]): number[] {
  let at = 0;
  return payloads.flatMap(({ length }) => {
    const from = at + headerBytes[format];
    at = from + length;
    return [from, at];
  });
}

describe.each(walkers)("the walk in %s code", (_, walker) => {
  it.each(RECORD_FORMATS)("%s: cut at every byte, gives the whole records and the size of the cut one", (format) => {
    const stored = storedRecords(format, PAYLOADS);
    const ends = rangesOf(format, PAYLOADS).filter((_, i) => i % 2 === 1);
    for (let length = 0; length <= stored.length; length++) {
      const whole = ends.filter((end) => end <= length).length;
      const position = whole === 0 ? 0 : ends[whole - 1];
      const isCut = length > position;
      for (const filler of [0, 0xff]) {
        expect(walk(walker, format, stored.subarray(0, length), 100, { filler })).toEqual({
          ranges: rangesOf(format, PAYLOADS.slice(0, whole)),
          records: whole,
          stop: isCut ? WalkStop.CUT : WalkStop.END,
          position,
          cutRecordBytes: isCut && length - position >= 4 ? ends[whole] - position : 0,
        });
      }
    }
  });

  it.each(RECORD_FORMATS)(
    "%s: goes on where the ranges had no more room, and says so only when something follows",
    (format) => {
      const stored = storedRecords(format, PAYLOADS);
      const all = rangesOf(format, PAYLOADS);
      for (let room = 0; room <= PAYLOADS.length + 1; room++) {
        const first = walk(walker, format, stored, room);
        const isAll = room >= PAYLOADS.length;
        expect(first).toMatchObject({ records: Math.min(room, 4), stop: isAll ? WalkStop.END : WalkStop.FULL });
        expect(first.position).toBe(first.records === 0 ? 0 : all[2 * first.records - 1]);
        const second = walk(walker, format, stored, 100, { from: first.position });
        expect([...first.ranges, ...second.ranges]).toEqual(all);
        expect(second.stop).toBe(WalkStop.END);
      }
    },
  );

  it("P10 one wrong bit in a sum or a payload is found at its record, and the records before it are given", () => {
    const stored = storedRecords("crc32c", PAYLOADS);
    const ranges = rangesOf("crc32c", PAYLOADS);
    for (let record = 0; record < PAYLOADS.length; record++) {
      const from = ranges[2 * record] - 8;
      for (let bit = (from + 4) * 8; bit < ranges[2 * record + 1] * 8; bit++) {
        const wrong = stored.slice();
        wrong[bit >> 3] ^= 1 << (bit & 7);
        expect(walk(walker, "crc32c", wrong)).toEqual({
          ranges: ranges.slice(0, 2 * record),
          records: record,
          stop: WalkStop.BAD_SUM,
          position: from,
          cutRecordBytes: 0,
        });
      }
    }
  });

  it.each(RECORD_FORMATS)("%s: a length that cannot be is one, and one that may be is a cut", (format) => {
    const before = storedRecords(format, [ascii("x")]);
    for (const length of [0, -1, -4, -8, -0x80000000, SEGMENT_BYTES_MAX + 1, 0x7fffffff]) {
      const stored = concat(before, int32(length), new Uint8Array(20));
      const position = before.length;
      expect(walk(walker, format, stored)).toMatchObject({ records: 1, stop: WalkStop.BAD_LENGTH, position });
    }
    for (const length of [21, 0x7fff, SEGMENT_BYTES_MAX]) {
      const stored = concat(before, int32(length), new Uint8Array(20));
      const cutRecordBytes = length + headerBytes[format];
      expect(walk(walker, format, stored)).toMatchObject({ records: 1, stop: WalkStop.CUT, cutRecordBytes });
    }
  });
});

describe("both walks", () => {
  const same = (format: RecordFormat, bytes: Uint8Array, room?: number, from?: number): Walked => {
    const [first, second] = [javascriptWalker, addonWalker].map((each) => walk(each, format, bytes, room, { from }));
    expect(second).toEqual(first);
    return first as Walked;
  };

  it.each(RECORD_FORMATS)("%s: say the same of every single wrong bit, also in a length", (format) => {
    const stored = storedRecords(format, PAYLOADS);
    for (let bit = 0; bit < stored.length * 8; bit++) {
      const wrong = stored.slice();
      wrong[bit >> 3] ^= 1 << (bit & 7);
      const { stop } = same(format, wrong);
      if (format === "crc32c") expect(stop).not.toBe(WalkStop.END);
    }
  });

  it("say the same of any records, damaged, cut and with any room", () => {
    const seed = printedSeed("walks");
    const payload = fc.uint8Array({ minLength: 1, maxLength: 300 });
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 });
    const format = fc.constantFrom(...RECORD_FORMATS);
    const property = fc.property(
      format,
      fc.array(payload, { maxLength: 12 }),
      damage,
      fc.nat(20),
      fc.nat(14),
      (format, payloads, damage, cut, room) => {
        const stored = storedRecords(format, payloads);
        for (const [at, value] of damage) if (stored.length > 0) stored[at % stored.length] = value;
        const bytes = stored.subarray(0, Math.max(0, stored.length - (cut > 10 ? cut : 0)));
        const { position } = same(format, bytes, room);
        same(format, bytes, 100, position);
      },
    );
    fc.assert(property, { seed, numRuns: 1000 });
  });

  it("say the same of any bytes", () => {
    const seed = printedSeed("walks of any bytes");
    const small = fc.oneof(fc.constantFrom(0, 1, 2, 3, 0xff), fc.nat(255));
    const property = fc.property(
      fc.constantFrom(...RECORD_FORMATS),
      fc.array(small, { maxLength: 60 }),
      (format, bytes) => {
        same(format, Uint8Array.from(bytes));
      },
    );
    fc.assert(property, { seed, numRuns: 2000 });
  });
});

describe("the addon's walk", () => {
  const call = (bytes: unknown, from: unknown, format: unknown, ranges: unknown, room: unknown, walked: unknown) =>
    native.walkRecords(
      bytes as Uint8Array,
      from as number,
      format as 0 | 1,
      SEGMENT_BYTES_MAX,
      ranges as Uint32Array,
      room as number,
      walked as Uint32Array,
    );

  it("refuses what would lead it out of its tables, and touches nothing", () => {
    const bytes = storedRecords("plain", PAYLOADS);
    const [ranges, walked] = [new Uint32Array(4), new Uint32Array(WALK_COLUMNS)];
    expect(() => call(bytes, 0, 0, ranges, 3, walked)).toThrow(RangeError);
    expect(() => call(bytes, bytes.length + 1, 0, ranges, 2, walked)).toThrow(RangeError);
    expect(() => call(bytes, -1, 0, ranges, 2, walked)).toThrow(RangeError);
    expect(() => call(bytes, 0.5, 0, ranges, 2, walked)).toThrow();
    expect(() => call(bytes, 0, 2, ranges, 2, walked)).toThrow(RangeError);
    expect(() => call(bytes, 0, 0, ranges, 2, new Uint32Array(3))).toThrow(RangeError);
    expect(() => call(bytes, 0, 0, new Int32Array(4), 2, walked)).toThrow(TypeError);
    expect(() => call(bytes.buffer, 0, 0, ranges, 2, walked)).toThrow(TypeError);
    expect([...ranges, ...walked].every((word) => word === 0)).toBe(true);
  });

  it("is left out for a few bytes, for which the call would cost more than the sums", () => {
    const walker = nativeWalker({
      walkRecords: () => {
        throw new Error("called");
      },
    });
    expect(walk(walker, "crc32c", storedRecords("crc32c", PAYLOADS)).records).toBe(4);
    expect(() => walk(walker, "crc32c", storedRecords("crc32c", [new Uint8Array(2000)]))).toThrow("called");
  });
});
