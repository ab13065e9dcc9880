// From bytes to records, fed at every split point.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Framing, type FramingOptions, recordsOf } from "../../src/cli/framing.js";
import { ascii, concat, hex, int32 } from "../support/bytes.js";

interface Got {
  records: Uint8Array[];
  numbers: number[];
  failure: string | undefined;
}

function read(framing: Framing, chunks: readonly Uint8Array[], options: Partial<FramingOptions> = {}): Got {
  const got: Got = { records: [], numbers: [], failure: undefined };
  const record = (bytes: Uint8Array, from: number, end: number, number: number) => {
    got.records.push(Uint8Array.from(bytes.subarray(from, end)));
    got.numbers.push(number);
  };
  try {
    const source = recordsOf(framing, { recordBytesMax: 1000, skipEmpty: false, ...options }, { record });
    for (const chunk of chunks) {
      // A reader may use its buffer again: what is kept must be a copy.
      const reused = Uint8Array.from(chunk);
      source.push(reused);
      reused.fill(0xee);
    }
    source.end();
  } catch (error) {
    got.failure = (error as Error).message;
  }
  return got;
}

const text = (input: string) => [Buffer.from(input)];

describe("lines", () => {
  const input = Buffer.from("one\ntwo, zażółć\r\n\x00\n4\nno line feed at the end");
  const lines = ["one", "two, zażółć\r", "\x00", "4", "no line feed at the end"].map((line) =>
    Uint8Array.from(Buffer.from(line)),
  );

  it("are records byte for byte, the last one without its line feed too", () => {
    expect(read("line", [input])).toEqual({ records: lines, numbers: [1, 2, 3, 4, 5], failure: undefined });
  });

  it("are the same split at any place, a byte at a time, and in any pieces", () => {
    for (let at = 0; at <= input.length; at++) {
      expect(read("line", [input.subarray(0, at), input.subarray(at)]).records).toEqual(lines);
    }
    expect(
      read(
        "line",
        Array.from(input, (byte) => Uint8Array.of(byte)),
      ).records,
    ).toEqual(lines);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: input.length })), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), input.length];
        expect(
          read(
            "line",
            places.slice(1).map((end, i) => input.subarray(places[i], end)),
          ).records,
        ).toEqual(lines);
      }),
    );
  });

  it("that are empty are refused by number, after those before them", () => {
    const got = read("line", text("a\nb\n\nc\n"));
    expect(got.records).toHaveLength(2);
    expect(got.failure).toMatch(/^input line 3 is empty.*--skip-empty/);
  });

  it("that are empty are dropped when that was asked for, and still counted", () => {
    expect(read("line", text("\na\n\n\nb\n\n"), { skipEmpty: true })).toEqual({
      records: [ascii("a"), ascii("b")],
      numbers: [2, 5],
      failure: undefined,
    });
  });

  it("may have as many bytes as a request can hold and no more, in one piece or in many", () => {
    for (const chunk of [1, 7, 100_000]) {
      const pieces = (length: number) => {
        const bytes = Buffer.from(`x\n${"y".repeat(length)}\n`);
        return Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, i) =>
          bytes.subarray(i * chunk, (i + 1) * chunk),
        );
      };
      expect(read("line", pieces(1000)).records.map((record) => record.length)).toEqual([1, 1000]);
      expect(read("line", pieces(1001)).failure).toMatch(/^input line 2 has more than 1000 bytes/);
    }
  });

  it("are none in no input", () => expect(read("line", [])).toEqual({ records: [], numbers: [], failure: undefined }));
});

describe("encoded lines", () => {
  it("hex: pairs of digits of either case", () => {
    expect(read("hex", text("00ff\nAb\r\n7f")).records).toEqual([hex("00ff"), hex("ab"), hex("7f")]);
    for (const bad of ["0", "0g", "00 01", "0x00", " 00"]) {
      expect(read("hex", text(`00\n${bad}\n`)).failure).toMatch(/^input line 2 is not hex/);
    }
  });

  it("base64: whole groups", () => {
    expect(read("base64", text("AP8=\r\nYWJj\n")).records).toEqual([hex("00ff"), ascii("abc")]);
    for (const bad of ["A", "AP8", "A===", "AP8=AP8=", "A_8=", " AP8"]) {
      expect(read("base64", text(`${bad}\n`)).failure).toMatch(/^input line 1 is not base64/);
    }
  });

  it("are bound by the record's bytes, not by the line's", () => {
    expect(read("hex", text("00".repeat(1000))).records).toHaveLength(1);
    expect(read("hex", text("00".repeat(1001))).failure).toMatch(/more than 1000 bytes/);
  });
});

describe("sizes and payloads", () => {
  const records = [ascii("a"), hex("0a0a"), new Uint8Array(100).fill(3), ascii("end")];
  const input = concat(...records.flatMap((record) => [int32(record.length), record]));

  it("are records, split at any place", () => {
    for (let at = 0; at <= input.length; at++) {
      expect(read("length", [input.subarray(0, at), input.subarray(at)]).records).toEqual(records);
    }
    expect(
      read(
        "length",
        Array.from(input, (byte) => Uint8Array.of(byte)),
      ).records,
    ).toEqual(records);
  });

  it("are refused with a size that cannot be, and when the input ends in the middle", () => {
    for (const size of [0, -1, 1001, 0x7fffffff]) {
      expect(read("length", [int32(1), ascii("a"), int32(size)]).failure).toMatch(
        new RegExp(`^input record 2 has a size of ${size}`),
      );
    }
    for (const length of [1, 4, 5]) {
      expect(read("length", [input.subarray(0, 5 + length)]).failure).toMatch(/^input record 2 is cut/);
    }
  });
});
