// Records as a request carries them.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RegionBuilder, recordRegion } from "../../src/client/record-region.js";
import { CLIENT_REGION_BYTES_MAX } from "../../src/model/limits.js";
import { ascii, concat, hex, int32 } from "../support/bytes.js";

describe("a region of records", () => {
  it("is sizes and payloads, text as UTF-8", () => {
    const region = recordRegion(["ab", hex("00"), "ż"]);
    expect(region.records).toBe(3);
    expect(Uint8Array.from(region.bytes)).toEqual(hex("00000002 6162 00000001 00 00000002 c5bc"));
  });

  it("has no empty record and is not empty itself", () => {
    for (const records of [[], [""], ["a", new Uint8Array(0)]]) {
      expect(() => recordRegion(records)).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
    }
  });

  it("is no larger than what a broker may take", () => {
    const large = new Uint8Array(CLIENT_REGION_BYTES_MAX - 9);
    expect(() => recordRegion(["a", large, "b"])).toThrow(expect.objectContaining({ code: "RECORD_TOO_LARGE" }));
  });

  it("holds any records of any length, and is built anew after it was cleared", () => {
    const builder = new RegionBuilder(1);
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 200 }), { minLength: 1 }), (records) => {
        builder.clear();
        for (const record of records) {
          const within = concat(ascii("<"), record, ascii(">"));
          builder.append(within, 1, 1 + record.length);
        }
        expect(builder.records).toBe(records.length);
        const expected = concat(...records.flatMap((record) => [int32(record.length), record]));
        expect(Buffer.compare(builder.bytes, expected)).toBe(0);
        expect(builder.length).toBe(expected.length);
      }),
    );
  });

  it("takes text as the bytes that Buffer makes of it, whatever it consists of", () => {
    const builder = new RegionBuilder(1);
    const text = fc.oneof(fc.string({ minLength: 1, maxLength: 80 }), fc.string({ minLength: 1, unit: "binary" }));
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), (records) => {
        builder.clear();
        for (const record of records) builder.appendText(record, Buffer.byteLength(record));
        const expected = concat(
          ...records.flatMap((record) => [int32(Buffer.byteLength(record)), Buffer.from(record)]),
        );
        expect(Buffer.compare(builder.bytes, expected)).toBe(0);
        expect(builder.records).toBe(records.length);
      }),
    );
  });
});
