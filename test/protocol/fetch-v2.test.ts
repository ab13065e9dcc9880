// FETCH v2: v1 and how long to wait for how much. Bytes written by hand, every truncation, each field at its extremes.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ErrorCodes } from "../../src/model/error-codes.js";
import {
  decodeFetch,
  decodeFetchV2,
  FetchHeader,
  fetchV2RequestBytes,
  writeFetchV2Request,
} from "../../src/protocol/fetch.js";
import { ascii, concat, embed, hex, prefixes, withExtremes } from "../support/bytes.js";

const header = new FetchHeader();
const { NONE, CORRUPT_REQUEST } = ErrorCodes;

function decode(body: Uint8Array, filler = 0): number {
  const { view, from, end } = embed(body, filler);
  return decodeFetchV2(view, from, end, header);
}

// topic "a.b" | partition 1 | from offset 2^32 + 9 | at most 65536 bytes | wait 500 ms | for 1024 bytes
const BODY = hex("0003 612e62  00000001  0000000100000009  00010000  000001f4  00000400");
const int32At = (bytes: Uint8Array, at: number): number => new DataView(bytes.buffer).getInt32(at);

describe("FETCH v2 request", () => {
  it("says what is asked", () => {
    const { view, from, end } = embed(BODY, 0xff);
    expect(decodeFetchV2(view, from, end, header)).toBe(NONE);
    expect(header).toMatchObject({ topicFrom: from + 2, topicBytes: 3, partition: 1, fetchOffset: 2 ** 32 + 9 });
    expect(header).toMatchObject({ maxBytes: 65_536, maxWaitMillis: 500, minBytes: 1024 });
  });

  it("leaves nothing of itself to a v1 request that is decoded after it", () => {
    expect(decode(BODY)).toBe(NONE);
    const { view, from, end } = embed(BODY.subarray(0, BODY.length - 8));
    expect(decodeFetch(view, from, end, header)).toBe(NONE);
    expect(header).toMatchObject({ maxWaitMillis: 0, minBytes: 0 });
  });

  it("is written as the bytes say", () => {
    const frame = new Uint8Array(fetchV2RequestBytes("a.b"));
    const end = writeFetchV2Request(new DataView(frame.buffer), 0, -1, "a.b", 1, 2 ** 32 + 9, 65_536, 500, 1024);
    expect(end).toBe(frame.length);
    expect(frame).toEqual(concat(hex("00000025  0002 0002 ffffffff"), BODY));
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

  it("takes any wait that is not negative: the broker has a limit of its own", () => {
    for (const changed of withExtremes(BODY, 21)) {
      expect(decode(changed)).toBe(int32At(changed, 21) < 0 ? CORRUPT_REQUEST : NONE);
    }
  });

  it("F14 does not parse with minBytes above maxBytes, nor with a negative one", () => {
    for (const changed of withExtremes(BODY, 25)) {
      const minBytes = int32At(changed, 25);
      expect(decode(changed)).toBe(minBytes < 0 || minBytes > 65_536 ? CORRUPT_REQUEST : NONE);
    }
    for (const [minBytes, answer] of [
      ["00010000", NONE],
      ["00010001", CORRUPT_REQUEST],
    ] as const) {
      expect(decode(concat(BODY.subarray(0, 25), hex(minBytes)))).toBe(answer);
    }
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
    const sizes = fc.tuple(fc.integer({ min: 1, max: 0x7fffffff }), fc.nat()).map(([max, n]) => [max, n % (max + 1)]);
    fc.assert(
      fc.property(
        names,
        fc.nat(),
        fc.maxSafeNat(),
        sizes,
        fc.nat(),
        (topic, partition, fetchOffset, [max, min], ms) => {
          const frame = new Uint8Array(fetchV2RequestBytes(topic));
          const view = new DataView(frame.buffer);
          writeFetchV2Request(view, 0, 5, topic, partition, fetchOffset, max, ms, min);
          expect(view.getInt32(0)).toBe(frame.length - 4);
          expect(decodeFetchV2(view, 12, frame.length, header)).toBe(NONE);
          expect(header).toMatchObject({ partition, fetchOffset, maxBytes: max, minBytes: min, maxWaitMillis: ms });
          expect(frame.subarray(header.topicFrom, header.topicFrom + header.topicBytes)).toEqual(ascii(topic));
        },
      ),
    );
  });
});
