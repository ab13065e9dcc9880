// FETCH v1: bytes written by hand, every truncation, each length field at its extremes.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ErrorCodes } from "../../src/model/error-codes.js";
import {
  decodeFetch,
  decodeFetchResponse,
  FETCH_RESPONSE_HEAD_BYTES,
  FetchHeader,
  fetchRequestBytes,
  writeFetchRequest,
  writeFetchResponseHead,
} from "../../src/protocol/fetch.js";
import { ascii, concat, embed, hex, prefixes, withExtremes } from "../support/bytes.js";

const header = new FetchHeader();
const { NONE, CORRUPT_REQUEST } = ErrorCodes;

function decode(body: Uint8Array, filler = 0): number {
  const { view, from, end } = embed(body, filler);
  return decodeFetch(view, from, end, header);
}

// topic "a.b" | partition 1 | from offset 2^32 + 9 | at most 65536 bytes
const BODY = hex("0003 612e62  00000001  0000000100000009  00010000");

describe("FETCH v1 request", () => {
  it("says what is asked", () => {
    const { view, from, end } = embed(BODY, 0xff);
    expect(decodeFetch(view, from, end, header)).toBe(NONE);
    expect(header).toMatchObject({ topicFrom: from + 2, topicBytes: 3, partition: 1 });
    expect(header).toMatchObject({ fetchOffset: 2 ** 32 + 9, maxBytes: 65_536 });
  });

  it("is written as the bytes say", () => {
    const frame = new Uint8Array(fetchRequestBytes("a.b"));
    expect(writeFetchRequest(new DataView(frame.buffer), 0, -1, "a.b", 1, 2 ** 32 + 9, 65_536)).toBe(frame.length);
    expect(frame).toEqual(concat(hex("0000001d  0002 0001 ffffffff"), BODY));
  });

  it("does not parse when cut anywhere or with a byte left over", () => {
    for (const bad of [...prefixes(BODY), concat(BODY, hex("00"))]) {
      for (const filler of [0, 1, 0xff]) expect(decode(bad, filler)).toBe(CORRUPT_REQUEST);
    }
  });

  it("does not parse with any other topic length", () => {
    for (let length = 0; length <= 0xffff; length += length < 300 ? 1 : 251) {
      if (length === 3) continue;
      const changed = BODY.slice();
      new DataView(changed.buffer).setUint16(0, length);
      expect(decode(changed)).toBe(CORRUPT_REQUEST);
    }
  });

  it("does not parse with a negative partition or offset, nor with maxBytes below one", () => {
    for (const changed of withExtremes(BODY, 5)) {
      expect(decode(changed)).toBe(new DataView(changed.buffer).getInt32(5) < 0 ? CORRUPT_REQUEST : NONE);
    }
    for (const changed of withExtremes(BODY, 9)) {
      expect(decode(changed)).toBe(new DataView(changed.buffer).getInt32(9) < 0 ? CORRUPT_REQUEST : NONE);
    }
    for (const changed of withExtremes(BODY, 17)) {
      expect(decode(changed)).toBe(new DataView(changed.buffer).getInt32(17) <= 0 ? CORRUPT_REQUEST : NONE);
    }
  });

  it("takes an offset above 2^53 as one behind every log's end", () => {
    expect(decode(hex("0001 61 00000000 7fffffffffffffff 00000001"))).toBe(NONE);
    expect(header.fetchOffset).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("gives the same answer for any bytes, whatever surrounds them, and never throws", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (body) => {
        expect(decode(body, 0)).toBe(decode(body, 0xff));
      }),
      { numRuns: 2000 },
    );
  });

  it("round-trips", () => {
    const names = fc.stringMatching(/^[A-Za-z0-9._-]{1,249}$/);
    const offsets = fc.maxSafeNat();
    fc.assert(
      fc.property(
        names,
        fc.nat(),
        offsets,
        fc.integer({ min: 1, max: 0x7fffffff }),
        (topic, partition, fetchOffset, maxBytes) => {
          const frame = new Uint8Array(fetchRequestBytes(topic));
          const view = new DataView(frame.buffer);
          writeFetchRequest(view, 0, 5, topic, partition, fetchOffset, maxBytes);
          expect(decodeFetch(view, 12, frame.length, header)).toBe(NONE);
          expect(header).toMatchObject({ partition, fetchOffset, maxBytes });
          expect(frame.subarray(header.topicFrom, header.topicFrom + header.topicBytes)).toEqual(ascii(topic));
        },
      ),
    );
  });
});

// correlation id 9 | no error | high watermark 300 | 3 bytes
const HEAD = hex("00000015  00000009 0000  000000000000012c 00000003");

describe("FETCH v1 response", () => {
  it("has a head as the bytes say, with the payload counted", () => {
    const frame = new Uint8Array(FETCH_RESPONSE_HEAD_BYTES);
    expect(writeFetchResponseHead(new DataView(frame.buffer), 0, 9, 300, 3)).toBe(frame.length);
    expect(frame).toEqual(HEAD);
  });

  it("is read back with the place of its payload, also when that is empty", () => {
    for (const payload of ["", "ff", "000000"]) {
      const body = concat(HEAD.subarray(10, 18), hex(`0000000${payload.length / 2}`), hex(payload));
      const { view, from, end } = embed(body);
      const result = decodeFetchResponse(view, from, end);
      expect(result).toEqual({ highWatermark: 300, payloadFrom: from + 12, payloadBytes: payload.length / 2 });
    }
  });

  it("does not parse when cut, longer, or with a size that is not what follows", () => {
    const body = concat(HEAD.subarray(10), hex("aabbcc"));
    const bad = [...prefixes(body), concat(body, hex("00")), ...withExtremes(body, 8)];
    bad.push(concat(hex("ffffffffffffffff"), body.subarray(8)));
    for (const bytes of bad) {
      const { view, from, end } = embed(bytes);
      expect(() => decodeFetchResponse(view, from, end)).toThrow(expect.objectContaining({ code: "BAD_RESPONSE" }));
    }
  });
});
