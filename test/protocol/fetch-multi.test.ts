// FETCH v3: bytes written by hand, every truncation, each field at its extremes, and what one sender can make a decoder do.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { FETCH_PARTITIONS_MAX } from "../../src/model/limits.js";
import {
  CONSUMER,
  decodeMultiFetch,
  decodeMultiFetchResponse,
  encodeMultiFetchRequest,
  MULTI_FETCH_RESPONSE_HEAD_BYTES,
  MultiFetchHeader,
  MultiFetchPart,
  type MultiFetchPosition,
  multiFetchAnswerBytesMax,
  multiFetchPartHeadBytes,
  writeMultiFetchPartHead,
  writeMultiFetchResponseHead,
} from "../../src/protocol/fetch-multi.js";
import { ascii, concat, embed, hex, int32, prefixes, withExtremes } from "../support/bytes.js";

const header = new MultiFetchHeader();
const { NONE, CORRUPT_REQUEST } = ErrorCodes;

function decode(body: Uint8Array, filler = 0): number {
  const { view, from, end } = embed(body, filler);
  return decodeMultiFetch(view, from, end, header);
}

// a consumer | wait 500 ms | for 256 bytes | and 3 records | at most 4096 bytes | 2 partitions
//   "a" 0  epoch 2   from 2^32 + 9  at most 1024
//   "a" 1  unknown   from 0         at most 2048
const HEAD = hex("ffffffff 000001f4 00000100 00000003 00001000 00000002");
const FIRST = hex("0001 61 00000000 00000002 0000000100000009 00000400");
const SECOND = hex("0001 61 00000001 ffffffff 0000000000000000 00000800");
const BODY = concat(HEAD, FIRST, SECOND);
const REQUEST = {
  replicaId: CONSUMER,
  maxWaitMillis: 500,
  minBytes: 256,
  minRecords: 3,
  maxBytes: 4096,
  partitions: [
    { topic: "a", partition: 0, epoch: 2, fetchOffset: 2 ** 32 + 9, maxBytes: 1024 },
    { topic: "a", partition: 1, epoch: -1, fetchOffset: 0, maxBytes: 2048 },
  ],
};

const positions = (h: MultiFetchHeader, view: DataView): MultiFetchPosition[] =>
  Array.from({ length: h.count }, (_, i) => ({
    topic: String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + h.topicFrom[i], h.topicBytes[i])),
    partition: h.partition[i],
    epoch: h.epoch[i],
    fetchOffset: h.fetchOffset[i],
    maxBytes: h.partitionMaxBytes[i],
  }));

const request = (partitions: readonly MultiFetchPosition[]): Uint8Array =>
  encodeMultiFetchRequest(1, { ...REQUEST, partitions }).subarray(12);

describe("FETCH v3 request", () => {
  it("says what is asked", () => {
    const { view, from, end } = embed(BODY, 0xff);
    expect(decodeMultiFetch(view, from, end, header)).toBe(NONE);
    expect(header).toMatchObject({ replicaId: -1, maxWaitMillis: 500, minBytes: 256, minRecords: 3, maxBytes: 4096 });
    expect(positions(header, view)).toEqual(REQUEST.partitions);
  });

  it("is written as the bytes say", () => {
    expect(encodeMultiFetchRequest(-1, REQUEST)).toEqual(concat(hex("0000004e  0002 0003 ffffffff"), BODY));
  });

  it("does not parse when cut anywhere or with a byte left over", () => {
    for (const bad of [...prefixes(BODY), concat(BODY, hex("00"))]) {
      for (const filler of [0, 1, 0xff]) expect(decode(bad, filler)).toBe(CORRUPT_REQUEST);
    }
  });

  it("takes each number at its extremes for what the grammar says of it", () => {
    const judged: readonly (readonly [number, (value: number) => boolean])[] = [
      [0, (replicaId) => replicaId >= -1],
      [4, (maxWaitMillis) => maxWaitMillis >= 0],
      [8, (minBytes) => minBytes >= 0 && minBytes <= 4096],
      [12, (minRecords) => minRecords >= 0],
      [16, (maxBytes) => maxBytes >= 256],
      [20, () => false],
      [27, (partition) => partition >= 0 && partition !== 1],
      [31, (epoch) => epoch >= -1],
      [35, (offsetHigh) => offsetHigh >= 0],
      [43, (partitionMaxBytes) => partitionMaxBytes > 0],
    ];
    for (const [at, sound] of judged) {
      for (const changed of withExtremes(BODY, at)) {
        expect([at, decode(changed)]).toEqual([
          at,
          sound(new DataView(changed.buffer).getInt32(at)) ? NONE : CORRUPT_REQUEST,
        ]);
      }
    }
  });

  it("F14 does not parse with minBytes above maxBytes", () => {
    expect(decode(concat(BODY.subarray(0, 8), int32(2048), int32(0), int32(1024), BODY.subarray(20)))).toBe(
      CORRUPT_REQUEST,
    );
    expect(decode(concat(BODY.subarray(0, 8), int32(1024), int32(0), int32(1024), BODY.subarray(20)))).toBe(NONE);
  });

  it("does not parse with any other topic length, in either place", () => {
    for (const at of [24, 24 + FIRST.length]) {
      for (let length = 0; length <= 0xffff; length += length < 300 ? 1 : 251) {
        if (length === 1) continue;
        const changed = BODY.slice();
        new DataView(changed.buffer).setUint16(at, length);
        for (const filler of [0, 0xff]) expect(decode(changed, filler)).toBe(CORRUPT_REQUEST);
      }
    }
  });

  it("takes an offset above 2^53 as one behind every log's end", () => {
    expect(
      decode(
        concat(
          hex("ffffffff 00000000 00000000 00000000 00000001 00000001"),
          hex("0001 61 00000000 ffffffff 7fffffffffffffff 00000001"),
        ),
      ),
    ).toBe(NONE);
    expect(header.fetchOffset[0]).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("has 1 to 1000 partitions", () => {
    const many = (count: number) =>
      request(
        Array.from({ length: count }, (_, partition) => ({
          topic: "t",
          partition,
          epoch: -1,
          fetchOffset: 0,
          maxBytes: 1,
        })),
      );
    expect(decode(many(0))).toBe(CORRUPT_REQUEST);
    expect(decode(many(1))).toBe(NONE);
    expect(decode(many(FETCH_PARTITIONS_MAX))).toBe(NONE);
    expect(header.count).toBe(1000);
    expect(decode(many(FETCH_PARTITIONS_MAX + 1))).toBe(CORRUPT_REQUEST);
  });

  it("does not parse when a partition is named twice, wherever, and takes near namesakes for others", () => {
    const position = (topic: string, partition: number) => ({
      topic,
      partition,
      epoch: -1,
      fetchOffset: 0,
      maxBytes: 1,
    });
    for (const others of [0, 1, 5, 6, 7, 8, 40, 500]) {
      const distinct = [position("t", 0), position("tt", 0), position("T", 0), position("t", 1), position("t0", 0)];
      for (let i = 0; i < others; i++) distinct.push(position("other", i));
      expect(decode(request(distinct))).toBe(NONE);
      for (const at of [0, 2, distinct.length - 1]) {
        expect(decode(request([...distinct, distinct[at]]))).toBe(CORRUPT_REQUEST);
        expect(decode(request([distinct[at], ...distinct]))).toBe(CORRUPT_REQUEST);
      }
    }
  });

  it("takes no longer for the most and longest names that there can be than a turn may", () => {
    const longest = Array.from({ length: FETCH_PARTITIONS_MAX }, (_, i) => ({
      topic: `${"x".repeat(245)}${String(i).padStart(4, "0")}`,
      partition: 0,
      epoch: -1,
      fetchOffset: 0,
      maxBytes: 1,
    }));
    const { view, from, end } = embed(request(longest));
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 20; round++) {
      const before = performance.now();
      expect(decodeMultiFetch(view, from, end, header)).toBe(NONE);
      best = Math.min(best, performance.now() - before);
    }
    expect(best).toBeLessThan(5);
  });

  it("gives the same answer for any bytes, whatever surrounds them, and never throws", () => {
    const tail = fc.uint8Array({ maxLength: 96 });
    fc.assert(
      fc.property(tail, fc.integer({ min: 0, max: 3 }), (bytes, count) => {
        for (const body of [bytes, concat(HEAD.subarray(0, 20), int32(count), bytes)]) {
          expect(decode(body, 0)).toBe(decode(body, 0xff));
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("round-trips", () => {
    const position = fc.record({
      topic: fc.stringMatching(/^[A-Za-z0-9._-]{1,249}$/),
      partition: fc.nat(),
      epoch: fc.integer({ min: -1, max: 0x7fffffff }),
      fetchOffset: fc.maxSafeNat(),
      maxBytes: fc.integer({ min: 1, max: 0x7fffffff }),
    });
    const partitions = fc.uniqueArray(position, {
      minLength: 1,
      maxLength: 20,
      selector: ({ topic, partition }) => `${topic}-${partition}`,
    });
    fc.assert(
      fc.property(
        partitions,
        fc.integer({ min: -1, max: 0x7fffffff }),
        fc.nat(),
        fc.nat(),
        (wanted, replicaId, a, b) => {
          const asked = {
            replicaId,
            maxWaitMillis: a,
            minBytes: Math.min(a, b),
            minRecords: b,
            maxBytes: Math.max(a, b, 1),
          };
          const frame = encodeMultiFetchRequest(5, { ...asked, partitions: wanted });
          const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
          expect(view.getInt32(0)).toBe(frame.length - 4);
          expect(decodeMultiFetch(view, 12, frame.length, header)).toBe(NONE);
          expect(header).toMatchObject(asked);
          expect(positions(header, view)).toEqual(wanted);
        },
      ),
    );
  });
});

// correlation id 9 | no error | 2 partitions
//   "a" 0  no error       epoch 3 from 40  start 5  high watermark 50  end 60  3 bytes
//   "a" 1  LOG_TRUNCATED  epoch 3 from 20  start 5  high watermark 50  end 60  nothing
const PART_ONE = hex(
  "0001 61 00000000 0000 00000003 0000000000000028 0000000000000005 0000000000000032 000000000000003c 00000003",
);
const PART_TWO = hex(
  "0001 61 00000001 000a 00000003 0000000000000014 0000000000000005 0000000000000032 000000000000003c 00000000",
);
const RESPONSE = concat(hex("0000006f 00000009 0000 00000002"), PART_ONE, hex("aabbcc"), PART_TWO);
const ONE = {
  partition: 0,
  error: 0,
  epoch: 3,
  epochStart: 40,
  logStartOffset: 5,
  highWatermark: 50,
  logEndOffset: 60,
  payloadBytes: 3,
} as const;
const TWO = { ...ONE, partition: 1, error: 10, epochStart: 20, payloadBytes: 0 } as const;

describe("FETCH v3 response", () => {
  it("is written as the bytes say, payloads counted", () => {
    const frame = new Uint8Array(RESPONSE.length);
    const view = new DataView(frame.buffer);
    const head = multiFetchPartHeadBytes(1);
    let at = writeMultiFetchResponseHead(view, 0, 9, 2, head + 3 + head);
    expect(at).toBe(MULTI_FETCH_RESPONSE_HEAD_BYTES);
    at = writeMultiFetchPartHead(view, at, ascii("a"), Object.assign(new MultiFetchPart(), ONE));
    frame.set(hex("aabbcc"), at);
    at = writeMultiFetchPartHead(view, at + 3, ascii("a"), Object.assign(new MultiFetchPart(), TWO));
    expect(at).toBe(frame.length);
    expect(frame).toEqual(RESPONSE);
  });

  it("says of what is not known −1", () => {
    const bytes = new Uint8Array(multiFetchPartHeadBytes(1));
    const part = Object.assign(new MultiFetchPart(), { partition: 7, error: ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION });
    writeMultiFetchPartHead(new DataView(bytes.buffer), 0, ascii("a"), part);
    expect(bytes).toEqual(hex(`0001 61 00000007 0001 ffffffff ${"ffffffffffffffff".repeat(4)} 00000000`));
  });

  it("is read back with the places of its payloads", () => {
    const { view, from, end } = embed(RESPONSE.subarray(10));
    const [one, two, ...more] = decodeMultiFetchResponse(view, from, end);
    expect(more).toEqual([]);
    expect(one).toEqual({ topic: "a", ...ONE, payloadFrom: from + 4 + PART_ONE.length });
    expect(two).toEqual({ topic: "a", ...TWO, payloadFrom: end });
  });

  it("does not parse when cut, longer, or with a count or size that is not what follows", () => {
    const body = RESPONSE.subarray(10);
    const sizeAt = 4 + PART_ONE.length - 4;
    const bad = [...prefixes(body), concat(body, hex("00"))];
    bad.push(...withExtremes(body.slice(), 0), ...withExtremes(body.slice(), sizeAt));
    for (const bytes of bad) {
      const { view, from, end } = embed(bytes);
      expect(() => decodeMultiFetchResponse(view, from, end)).toThrow(
        expect.objectContaining({ code: "BAD_RESPONSE" }),
      );
    }
  });

  it("does not parse with offsets that cannot be, nor with an error that brings a payload", () => {
    const one = (part: string) => concat(hex("00000001"), hex(part));
    for (const part of [
      "0001 61 ffffffff 0000 00000003 0000000000000028 0000000000000005 0000000000000032 000000000000003c 00000000",
      "0001 61 00000000 0000 fffffffe 0000000000000028 0000000000000005 0000000000000032 000000000000003c 00000000",
      "0001 61 00000000 0000 00000003 fffffffffffffffe 0000000000000005 0000000000000032 000000000000003c 00000000",
      "0001 61 00000000 0000 00000003 0000000000000028 0000000000000033 0000000000000032 000000000000003c 00000000",
      "0001 61 00000000 0000 00000003 0000000000000028 0000000000000005 000000000000003d 000000000000003c 00000000",
      "0001 61 00000000 0000 ffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff 00000000",
      "0001 61 00000000 000a 00000003 0000000000000014 0000000000000005 0000000000000032 000000000000003c 00000001 00",
      "0001 21 00000000 0000 00000003 0000000000000028 0000000000000005 0000000000000032 000000000000003c 00000000",
    ]) {
      const { view, from, end } = embed(one(part));
      expect(() => decodeMultiFetchResponse(view, from, end)).toThrow(
        expect.objectContaining({ code: "BAD_RESPONSE" }),
      );
    }
  });

  it("takes an error that it does not know: a newer broker may have it", () => {
    const { view, from, end } = embed(
      concat(hex("00000001"), hex(`0001 61 00000000 0063 ffffffff ${"ffffffffffffffff".repeat(4)} 00000000`)),
    );
    expect(decodeMultiFetchResponse(view, from, end)[0].error).toBe(0x63);
  });

  it("is at most as long as a client reckons with: all payloads together, or one that is larger than all may be", () => {
    const heads = 6 + 4 + 2 * multiFetchPartHeadBytes(1);
    expect(multiFetchAnswerBytesMax(REQUEST)).toBe(heads + 4096);
    expect(multiFetchAnswerBytesMax({ ...REQUEST, maxBytes: 1500 })).toBe(heads + 2048);
  });
});
