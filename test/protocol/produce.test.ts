// PRODUCE v1: bytes written by hand, every truncation, each length field at its extremes.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import {
  ACK_NOT_READ,
  decodeProduce,
  decodeProduceResponse,
  PRODUCE_RESPONSE_BYTES,
  ProduceHeader,
  produceRequestBytes,
  writeProduceRequest,
  writeProduceResponse,
} from "../../src/protocol/produce.js";
import { ascii, concat, embed, hex, prefixes, withExtremes } from "../support/bytes.js";

const header = new ProduceHeader();
const { NONE, CORRUPT_REQUEST } = ErrorCodes;

function decode(body: Uint8Array, filler = 0): number {
  const { view, from, end } = embed(body, filler);
  return decodeProduce(view, from, end, header);
}

// topic "orders" | partition 2 | ack WRITTEN | 2 records: "ab", "c"
const BODY = hex("0006 6f7264657273  00000002  01  00000002  00000002 6162  00000001 63");
const HEAD_BYTES = 2 + 6 + 4 + 1 + 4;

describe("PRODUCE v1 request", () => {
  it("says where things are, and reads no record", () => {
    const { view, from, end } = embed(BODY, 0xff);
    expect(decodeProduce(view, from, end, header)).toBe(NONE);
    expect(header).toMatchObject({
      topicFrom: from + 2,
      topicBytes: 6,
      partition: 2,
      ack: AckPolicy.WRITTEN,
      records: 2,
    });
    expect(header).toMatchObject({ regionFrom: from + HEAD_BYTES, regionBytes: 11 });
  });

  it("is written as the bytes say", () => {
    const frame = new Uint8Array(produceRequestBytes("orders", 11));
    const at = writeProduceRequest(new DataView(frame.buffer), 0, 0x01020304, "orders", 2, AckPolicy.WRITTEN, 2, 11);
    frame.set(BODY.subarray(HEAD_BYTES), at);
    expect(frame).toEqual(concat(hex("00000024  0001 0001 01020304"), BODY));
  });

  it("does not parse when it is cut inside its head, whatever follows in the arena", () => {
    for (const prefix of prefixes(BODY.subarray(0, HEAD_BYTES + 10))) {
      for (const filler of [0, 1, 0xff]) expect(decode(prefix, filler)).toBe(CORRUPT_REQUEST);
    }
  });

  it("knows the ack byte as soon as it is there", () => {
    for (const prefix of prefixes(BODY)) {
      decode(prefix, 0);
      expect(header.ack).toBe(prefix.length > 12 ? AckPolicy.WRITTEN : ACK_NOT_READ);
    }
  });

  it("has no response to ackPolicy 0, also when something before that byte is wrong", () => {
    const badName = hex("0006 6f7264657221  00000002  00  00000001  00000001 61");
    const badPartition = hex("0006 6f7264657273  ffffffff  00  00000001  00000001 61");
    const noName = hex("0000  00000002  00  00000001  00000001 61");
    const longName = concat(hex("00fa"), new Uint8Array(250).fill(0x61), hex("00000000 00 00000001 00000001 61"));
    for (const body of [badName, badPartition, noName, longName]) {
      expect(decode(body)).toBe(CORRUPT_REQUEST);
      expect(header.ack).toBe(AckPolicy.NONE);
    }
  });

  it("does not parse with an unknown ackPolicy, no records, or more records than could follow", () => {
    for (const ack of ["03", "ff", "80", "7f"]) {
      expect(decode(hex(`0001 61 00000000 ${ack} 00000001 00000001 61`))).toBe(CORRUPT_REQUEST);
    }
    // 11 bytes hold two records of five bytes or more, never three.
    for (const records of ["00000000", "ffffffff", "80000000", "7fffffff", "00000003"]) {
      expect(decode(concat(BODY.subarray(0, 13), hex(records), BODY.subarray(17)))).toBe(CORRUPT_REQUEST);
    }
  });

  it("does not parse with any extreme in its partition that is negative", () => {
    for (const changed of withExtremes(BODY, 8)) {
      const partition = new DataView(changed.buffer).getInt32(8);
      expect(decode(changed)).toBe(partition < 0 ? CORRUPT_REQUEST : NONE);
    }
  });

  it("does not look outside of its body for any topic length", () => {
    for (let length = 0; length <= 0xffff; length += length < 300 ? 1 : 251) {
      if (length === 6) continue;
      const changed = BODY.slice();
      new DataView(changed.buffer).setUint16(0, length);
      const answers = [0, 1, 0xff].map((filler) => [decode(changed, filler), header.ack]);
      expect(answers[1]).toEqual(answers[0]);
      expect(answers[2]).toEqual(answers[0]);
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
    const positive = fc.integer({ min: 1, max: 0x7fffffff });
    fc.assert(
      fc.property(
        names,
        fc.nat(),
        fc.constantFrom(0, 1, 2) as fc.Arbitrary<AckPolicy>,
        positive,
        fc.integer(),
        (topic, partition, ack, records, id) => {
          const region = new Uint8Array(5 * (1 + (records % 20)));
          const count = region.length / 5;
          const frame = new Uint8Array(produceRequestBytes(topic, region.length));
          const view = new DataView(frame.buffer);
          const at = writeProduceRequest(view, 0, id, topic, partition, ack, count, region.length);
          expect(at + region.length).toBe(frame.length);
          expect(view.getInt32(0)).toBe(frame.length - 4);
          expect(view.getInt32(8)).toBe(id);
          expect(decodeProduce(view, 12, frame.length, header)).toBe(NONE);
          expect(header).toMatchObject({ partition, ack, records: count, regionFrom: at, regionBytes: region.length });
          expect(frame.subarray(header.topicFrom, header.topicFrom + header.topicBytes)).toEqual(ascii(topic));
        },
      ),
    );
  });
});

// correlation id 7 | no error | base offset 2^32 + 5 | log end 2^32 + 7
const RESPONSE = hex("00000016  00000007 0000  0000000100000005 0000000100000007");

describe("PRODUCE v1 response", () => {
  it("is written as the bytes say", () => {
    const frame = new Uint8Array(PRODUCE_RESPONSE_BYTES);
    expect(writeProduceResponse(new DataView(frame.buffer), 0, 7, 2 ** 32 + 5, 2 ** 32 + 7)).toBe(frame.length);
    expect(frame).toEqual(RESPONSE);
  });

  it("is read back", () => {
    const { view, from, end } = embed(RESPONSE.subarray(10));
    expect(decodeProduceResponse(view, from, end)).toEqual({ baseOffset: 2 ** 32 + 5, logEndOffset: 2 ** 32 + 7 });
  });

  it("does not parse when cut, longer, or with offsets that cannot be", () => {
    const body = RESPONSE.subarray(10);
    const bad = [...prefixes(body), concat(body, hex("00"))];
    bad.push(hex("ffffffffffffffff 0000000000000001"), hex("0000000000000002 0000000000000002"));
    bad.push(hex("0020000000000000 0020000000000001"));
    for (const bytes of bad) {
      const { view, from, end } = embed(bytes);
      expect(() => decodeProduceResponse(view, from, end)).toThrow(expect.objectContaining({ code: "BAD_RESPONSE" }));
    }
  });
});
