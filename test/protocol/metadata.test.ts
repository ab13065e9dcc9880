// METADATA v1 and v2: bytes written by hand, every truncation, each count at its extremes.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { offset, partitionId } from "../../src/model/ids.js";
import {
  decodeMetadata,
  decodeMetadataResponse,
  encodeMetadataRequest,
  encodeMetadataResponse,
  MetadataRequest,
  type MetadataVersion,
  type TopicMetadata,
} from "../../src/protocol/metadata.js";
import { concat, embed, hex, int32, prefixes, withExtremes } from "../support/bytes.js";

const request = new MetadataRequest();
const { NONE, CORRUPT_REQUEST } = ErrorCodes;

function decode(body: Uint8Array, filler = 0): number {
  const { view, from, end } = embed(body, filler);
  return decodeMetadata(view, from, end, request);
}

const BODY = hex("00000002  0001 61  0002 6262");

describe("METADATA request", () => {
  it("names topics, or none for all", () => {
    expect(decode(BODY)).toBe(NONE);
    expect([...request.topics]).toEqual(["a", "bb"]);
    expect(decode(hex("00000000"))).toBe(NONE);
    expect([...request.topics]).toEqual([]);
  });

  it("is written as the bytes say, in both versions", () => {
    expect(encodeMetadataRequest(1, 3, ["a", "bb"])).toEqual(concat(hex("00000013 0003 0001 00000003"), BODY));
    expect(encodeMetadataRequest(2, 3, ["a", "bb"])).toEqual(concat(hex("00000013 0003 0002 00000003"), BODY));
  });

  it("counts a topic that is named twice once", () => {
    expect(decode(hex("00000003  0001 61  0002 6262  0001 61"))).toBe(NONE);
    expect([...request.topics]).toEqual(["a", "bb"]);
  });

  it("does not parse when cut, with bytes left over, with another count, or with a bad name", () => {
    const bad = [...prefixes(BODY), concat(BODY, hex("00")), ...withExtremes(BODY, 0)];
    bad.push(hex("00000001 0000"), hex("00000001 0001 2f"), hex("00000001 ffff 61"));
    for (const body of bad) {
      for (const filler of [0, 0x61, 0xff]) expect(decode(body, filler)).toBe(CORRUPT_REQUEST);
    }
  });

  it("does not parse with more names than one request may have", () => {
    const names = (count: number) => concat(int32(count), ...Array.from({ length: count }, () => hex("0001 61")));
    expect(decode(names(10_000))).toBe(NONE);
    expect(decode(names(10_001))).toBe(CORRUPT_REQUEST);
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (body) => {
        expect(decode(body, 0)).toBe(decode(body, 0xff));
      }),
      { numRuns: 2000 },
    );
  });
});

const TOPICS: TopicMetadata[] = [
  {
    topic: "a",
    recordFormat: "plain",
    partitions: [
      {
        partition: partitionId(0),
        epoch: 3,
        logStartOffset: offset(1),
        highWatermark: offset(4),
        durableOffset: offset(4),
        logEndOffset: offset(5),
      },
      // Refused to open.
      {
        partition: partitionId(1),
        epoch: -1,
        logStartOffset: offset(-1),
        highWatermark: offset(-1),
        durableOffset: offset(-1),
        logEndOffset: offset(-1),
      },
    ],
  },
  { topic: "bb", recordFormat: "crc32c", partitions: [] },
];

const V1 = hex(`
  00000046 00000008 0000  00000002
    0001 61    00000002  00000000 0000000000000001 0000000000000004
                         00000001 ffffffffffffffff ffffffffffffffff
    0002 6262  00000000`);
const V2 = hex(`
  00000070 00000008 0000  00000002
    0001 61    00  00000002  00000000 00000003 0000000000000001 0000000000000004 0000000000000004 0000000000000005
                             00000001 ffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff
    0002 6262  01  00000000`);

function decodeBody(version: MetadataVersion, body: Uint8Array): TopicMetadata[] {
  const { view, from, end } = embed(body);
  return decodeMetadataResponse(version, view, from, end);
}

describe("METADATA response", () => {
  it("is written as the bytes say, in both versions", () => {
    const v1 = encodeMetadataResponse(1, 8, TOPICS);
    expect(v1.subarray(4)).toEqual(V1.subarray(4));
    const v2 = encodeMetadataResponse(2, 8, TOPICS);
    expect(v2.subarray(4)).toEqual(V2.subarray(4));
    for (const frame of [v1, v2]) expect(new DataView(frame.slice().buffer).getInt32(0)).toBe(frame.length - 4);
  });

  it("comes back whole in v2", () => expect(decodeBody(2, V2.subarray(10))).toEqual(TOPICS));

  it("comes back from v1 with what such a broker is known to do", () => {
    const [a, bb] = decodeBody(1, V1.subarray(10));
    expect(a.recordFormat).toBe("crc32c");
    expect(a.partitions[0]).toEqual({
      partition: 0,
      epoch: 0,
      logStartOffset: 1,
      highWatermark: 4,
      durableOffset: 4,
      logEndOffset: 4,
    });
    expect(bb.partitions).toEqual([]);
  });

  it("does not parse when cut, longer, with counts that are not what follows, or with an unknown format", () => {
    for (const [version, frame, counts] of [
      [1, V1, [0, 7]],
      [2, V2, [0, 8]],
    ] as const) {
      const body = frame.subarray(10);
      const bad = [...prefixes(body), concat(body, hex("00"))];
      for (const at of counts) bad.push(...withExtremes(body, at));
      if (version === 2) {
        for (const format of [2, 0xff]) {
          const changed = body.slice();
          changed[7] = format;
          bad.push(changed);
        }
      }
      for (const bytes of bad) {
        expect(() => decodeBody(version, bytes)).toThrow(expect.objectContaining({ code: "BAD_RESPONSE" }));
      }
    }
  });

  it("does not parse with a negative partition or a high watermark before the start", () => {
    const body = V1.subarray(10);
    const negative = body.slice();
    negative.set(hex("80000000"), 11);
    const backwards = body.slice();
    backwards.set(hex("0000000000000005"), 15);
    for (const bytes of [negative, backwards]) {
      expect(() => decodeBody(1, bytes)).toThrow(expect.objectContaining({ code: "BAD_RESPONSE" }));
    }
  });
});
