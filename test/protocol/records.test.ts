// The walk over stored records, cut at every byte and wrong in every bit.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RECORD_FORMATS, type RecordFormat } from "../../src/model/record-format.js";
import { Found, RecordCursor } from "../../src/protocol/records.js";
import { ascii, concat, embed, hex, int32 } from "../support/bytes.js";
import { storedRecords } from "../support/stored-records.js";

interface Walk {
  payloads: Uint8Array[];
  ended: Found;
  /** Bytes of whole records. */
  bytes: number;
  cutRecordBytes: number;
}

function walk(format: RecordFormat, stored: Uint8Array, filler = 0): Walk {
  const { view, from, end } = embed(stored, filler);
  const cursor = new RecordCursor(format);
  cursor.reset(view, from, end);
  const payloads: Uint8Array[] = [];
  for (;;) {
    const found = cursor.next();
    if (found !== Found.RECORD) {
      return { payloads, ended: found, bytes: cursor.position - from, cutRecordBytes: cursor.cutRecordBytes };
    }
    payloads.push(
      new Uint8Array(view.buffer, view.byteOffset + cursor.payloadFrom, cursor.payloadEnd - cursor.payloadFrom),
    );
  }
}

const PAYLOADS = [ascii("a"), ascii("bcd"), new Uint8Array(40).fill(7), ascii("123456789")];

describe("stored records", () => {
  it("lie as the bytes say", () => {
    const plain = hex("00000009 313233343536373839");
    const summed = hex("00000009 e3069283 313233343536373839");
    expect(walk("plain", plain)).toMatchObject({ payloads: [ascii("123456789")], ended: Found.END });
    expect(walk("crc32c", summed)).toMatchObject({ payloads: [ascii("123456789")], ended: Found.END });
    expect(storedRecords("crc32c", [ascii("123456789")])).toEqual(summed);
  });

  it.each(RECORD_FORMATS)(
    "%s: cut at every byte, they give the whole records before the cut and the size of the cut one",
    (format) => {
      const stored = storedRecords(format, PAYLOADS);
      const ends = PAYLOADS.map((_, i) => storedRecords(format, PAYLOADS.slice(0, i + 1)).length);
      for (let length = 0; length <= stored.length; length++) {
        const whole = ends.filter((end) => end <= length).length;
        const boundary = whole === 0 ? 0 : ends[whole - 1];
        for (const filler of [0, 0xff]) {
          const result = walk(format, stored.subarray(0, length), filler);
          expect(result.payloads).toEqual(PAYLOADS.slice(0, whole));
          expect(result.bytes).toBe(boundary);
          expect(result.ended).toBe(length === boundary ? Found.END : Found.CUT);
          if (result.ended === Found.CUT) {
            const lengthIsThere = length - boundary >= 4;
            expect(result.cutRecordBytes).toBe(lengthIsThere ? ends[whole] - boundary : 0);
          }
        }
      }
    },
  );

  it("P10 one wrong bit in a sum or a payload is found at its record, and the records before it are given", () => {
    const stored = storedRecords("crc32c", PAYLOADS);
    const second = storedRecords("crc32c", PAYLOADS.slice(0, 1)).length;
    for (let bit = (second + 4) * 8; bit < (second + 8 + 3) * 8; bit++) {
      const wrong = stored.slice();
      wrong[bit >> 3] ^= 1 << (bit & 7);
      expect(walk("crc32c", wrong)).toMatchObject({
        payloads: PAYLOADS.slice(0, 1),
        ended: Found.BAD_SUM,
        bytes: second,
      });
    }
  });

  it.each(RECORD_FORMATS)("%s: a length that cannot be is not taken for a cut", (format) => {
    const before = storedRecords(format, [ascii("x")]);
    for (const length of [0, -1, -0x80000000, 0x40000001, 0x7fffffff]) {
      const stored = concat(before, int32(length), new Uint8Array(20));
      expect(walk(format, stored)).toMatchObject({ ended: Found.BAD_LENGTH, bytes: before.length });
    }
  });

  it.each(RECORD_FORMATS)("%s: any records come back", (format) => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { maxLength: 20 }), (payloads) => {
        expect(walk(format, storedRecords(format, payloads))).toMatchObject({ payloads, ended: Found.END });
      }),
    );
  });

  it("any bytes end the walk, inside of them", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(...RECORD_FORMATS), (bytes, format) => {
        const result = walk(format, bytes);
        expect(result.bytes).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 2000 },
    );
  });
});
