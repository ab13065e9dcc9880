// LIST_OFFSETS v1: bytes written by hand, every truncation, each field at its extremes.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ErrorCodes } from "../../src/model/error-codes.js";
import {
  decodeListOffsets,
  decodeListOffsetsResponse,
  encodeListOffsetsRequest,
  LIST_OFFSETS_RESPONSE_BYTES,
  ListedTime,
  ListOffsetsHeader,
  writeListOffsetsResponse,
} from "../../src/protocol/list-offsets.js";
import { ascii, concat, embed, hex, prefixes, withExtremes } from "../support/bytes.js";

const header = new ListOffsetsHeader();
const { NONE, CORRUPT_REQUEST } = ErrorCodes;

function decode(body: Uint8Array, filler = 0): number {
  const { view, from, end } = embed(body, filler);
  return decodeListOffsets(view, from, end, header);
}

// topic "a.b" | partition 1 | 2025-01-01T00:00:00Z
const BODY = hex("0003 612e62  00000001  00000194 1f297c00");

describe("LIST_OFFSETS v1 request", () => {
  it("says what is asked", () => {
    const { view, from, end } = embed(BODY, 0xff);
    expect(decodeListOffsets(view, from, end, header)).toBe(NONE);
    expect(header).toMatchObject({ topicFrom: from + 2, topicBytes: 3, partition: 1 });
    expect(header.timestampMs).toBe(Date.UTC(2025, 0, 1));
  });

  it("is written as the bytes say", () => {
    expect(encodeListOffsetsRequest(-1, "a.b", 1, Date.UTC(2025, 0, 1))).toEqual(
      concat(hex("00000019  0005 0001 ffffffff"), BODY),
    );
  });

  it("takes −2 for the start and −1 for the end, and nothing below", () => {
    const at = (time: string): number => decode(concat(BODY.subarray(0, 9), hex(time)));
    expect(at("fffffffffffffffe")).toBe(NONE);
    expect(header.timestampMs).toBe(ListedTime.EARLIEST);
    expect(at("ffffffffffffffff")).toBe(NONE);
    expect(header.timestampMs).toBe(ListedTime.LATEST);
    expect(at("0000000000000000")).toBe(NONE);
    expect(header.timestampMs).toBe(0);
    for (const bad of ["fffffffffffffffd", "ffffffff00000000", "8000000000000000", "ffdfffffffffffff"]) {
      expect(at(bad)).toBe(CORRUPT_REQUEST);
    }
    for (const late of ["0020000000000000", "7fffffffffffffff"]) {
      expect(at(late)).toBe(NONE);
      expect(header.timestampMs).toBe(Number.MAX_SAFE_INTEGER);
    }
  });

  it("does not parse when cut anywhere, with a byte left over, with another topic length or a negative partition", () => {
    for (const bad of [...prefixes(BODY), concat(BODY, hex("00"))]) {
      for (const filler of [0, 1, 0xff]) expect(decode(bad, filler)).toBe(CORRUPT_REQUEST);
    }
    for (let length = 0; length <= 0xffff; length += length < 300 ? 1 : 251) {
      if (length === 3) continue;
      const changed = BODY.slice();
      new DataView(changed.buffer).setUint16(0, length);
      expect(decode(changed)).toBe(CORRUPT_REQUEST);
    }
    for (const changed of withExtremes(BODY, 5)) {
      expect(decode(changed)).toBe(new DataView(changed.buffer).getInt32(5) < 0 ? CORRUPT_REQUEST : NONE);
    }
  });

  it("gives the same answer for any bytes, whatever surrounds them, and never throws", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 48 }), (body) => {
        expect(decode(body, 0)).toBe(decode(body, 0xff));
      }),
      { numRuns: 2000 },
    );
  });

  it("round-trips", () => {
    const names = fc.stringMatching(/^[A-Za-z0-9._-]{1,249}$/);
    const times = fc.oneof(fc.constantFrom(-2, -1), fc.maxSafeNat());
    fc.assert(
      fc.property(names, fc.nat(), times, (topic, partition, timestampMs) => {
        const frame = encodeListOffsetsRequest(5, topic, partition, timestampMs);
        const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
        expect(view.getInt32(0)).toBe(frame.length - 4);
        expect(decodeListOffsets(view, 12, frame.length, header)).toBe(NONE);
        expect(header).toMatchObject({ partition, timestampMs });
        expect(frame.subarray(header.topicFrom, header.topicFrom + header.topicBytes)).toEqual(ascii(topic));
      }),
    );
  });
});

// correlation id 7 | no error | offset 2^32 + 5 | no time
const RESPONSE = hex("00000016  00000007 0000  0000000100000005 ffffffffffffffff");

describe("LIST_OFFSETS v1 response", () => {
  it("is written as the bytes say, and read back", () => {
    const frame = new Uint8Array(LIST_OFFSETS_RESPONSE_BYTES);
    expect(writeListOffsetsResponse(new DataView(frame.buffer), 0, 7, 2 ** 32 + 5, -1)).toBe(frame.length);
    expect(frame).toEqual(RESPONSE);
    const { view, from, end } = embed(RESPONSE.subarray(10));
    expect(decodeListOffsetsResponse(view, from, end)).toEqual({ offset: 2 ** 32 + 5, timestampMs: -1 });
  });

  it("does not parse when cut, longer, or with numbers that cannot be", () => {
    const body = RESPONSE.subarray(10);
    const bad = [...prefixes(body), concat(body, hex("00"))];
    bad.push(hex("ffffffffffffffff 0000000000000001"), hex("0000000000000002 fffffffffffffffe"));
    bad.push(hex("0020000000000000 0000000000000001"), hex("0000000000000001 0020000000000000"));
    for (const bytes of bad) {
      const { view, from, end } = embed(bytes);
      expect(() => decodeListOffsetsResponse(view, from, end)).toThrow(
        expect.objectContaining({ code: "BAD_RESPONSE" }),
      );
    }
  });
});
