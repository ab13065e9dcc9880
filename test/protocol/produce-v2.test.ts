// PRODUCE v2: v1 and the offset that the batch must get. Bytes written by hand, every truncation, each field at its extremes.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { OFFSET_MAX } from "../../src/model/limits.js";
import {
  ACK_NOT_READ,
  ANY_OFFSET,
  decodeProduce,
  decodeProduceV2,
  ProduceHeader,
  produceV2RequestBytes,
  writeProduceV2Request,
} from "../../src/protocol/produce.js";
import { ascii, concat, embed, hex, prefixes, withExtremes } from "../support/bytes.js";

const header = new ProduceHeader();
const { NONE, CORRUPT_REQUEST } = ErrorCodes;

function decode(body: Uint8Array, filler = 0): number {
  const { view, from, end } = embed(body, filler);
  return decodeProduceV2(view, from, end, header);
}

// topic "orders" | partition 2 | ack FORCED | expected offset 2^32 + 5 | 2 records: "ab", "c"
const BODY = hex("0006 6f7264657273  00000002  02  0000000100000005  00000002  00000002 6162  00000001 63");
const HEAD_BYTES = 2 + 6 + 4 + 1 + 8 + 4;
const EXPECTED_AT = 13;

describe("PRODUCE v2 request", () => {
  it("says where things are and which offset is expected", () => {
    const { view, from, end } = embed(BODY, 0xff);
    expect(decodeProduceV2(view, from, end, header)).toBe(NONE);
    expect(header).toMatchObject({ topicFrom: from + 2, topicBytes: 6, partition: 2, ack: AckPolicy.FORCED });
    expect(header).toMatchObject({ expectedOffset: 2 ** 32 + 5, records: 2 });
    expect(header).toMatchObject({ regionFrom: from + HEAD_BYTES, regionBytes: 11 });
  });

  it("leaves nothing of itself to a v1 request that is decoded after it", () => {
    expect(decode(BODY)).toBe(NONE);
    const { view, from, end } = embed(concat(BODY.subarray(0, EXPECTED_AT), BODY.subarray(EXPECTED_AT + 8)));
    expect(decodeProduce(view, from, end, header)).toBe(NONE);
    expect(header).toMatchObject({ expectedOffset: ANY_OFFSET, records: 2, regionFrom: from + HEAD_BYTES - 8 });
  });

  it("is written as the bytes say", () => {
    const frame = new Uint8Array(produceV2RequestBytes("orders", 11));
    const view = new DataView(frame.buffer);
    const at = writeProduceV2Request(view, 0, 0x01020304, "orders", 2, AckPolicy.FORCED, 2 ** 32 + 5, 2, 11);
    frame.set(BODY.subarray(HEAD_BYTES), at);
    expect(frame).toEqual(concat(hex("0000002c  0001 0002 01020304"), BODY));
  });

  it("expects any offset with −1, and with a number that no log ends at exactly that", () => {
    for (const [expected, meaning] of [
      ["ffffffffffffffff", ANY_OFFSET],
      ["0000000000000000", 0],
      ["001fffffffffffff", OFFSET_MAX],
      ["0020000000000000", OFFSET_MAX],
      ["7fffffffffffffff", OFFSET_MAX],
      ["fffffffffffffffe", OFFSET_MAX],
      ["8000000000000000", OFFSET_MAX],
    ] as const) {
      const changed = concat(BODY.subarray(0, EXPECTED_AT), hex(expected), BODY.subarray(EXPECTED_AT + 8));
      expect(decode(changed)).toBe(NONE);
      expect(header.expectedOffset).toBe(meaning);
    }
  });

  it("does not parse when it is cut inside its head, whatever follows in the arena", () => {
    for (const prefix of prefixes(BODY.subarray(0, HEAD_BYTES + 10))) {
      for (const filler of [0, 1, 0xff]) expect(decode(prefix, filler)).toBe(CORRUPT_REQUEST);
    }
  });

  it("knows the ack byte as soon as it is there, in front of the expected offset", () => {
    for (const prefix of prefixes(BODY)) {
      decode(prefix, 0);
      expect(header.ack).toBe(prefix.length > 12 ? AckPolicy.FORCED : ACK_NOT_READ);
    }
  });

  it("does not parse with an unknown ackPolicy, no records, or more records than could follow", () => {
    for (const ack of ["03", "ff", "80", "7f"]) {
      expect(decode(hex(`0001 61 00000000 ${ack} ffffffffffffffff 00000001 00000001 61`))).toBe(CORRUPT_REQUEST);
    }
    for (const records of ["00000000", "ffffffff", "80000000", "7fffffff", "00000003"]) {
      const changed = concat(BODY.subarray(0, HEAD_BYTES - 4), hex(records), BODY.subarray(HEAD_BYTES));
      expect(decode(changed)).toBe(CORRUPT_REQUEST);
    }
  });

  it("does not parse with any extreme in its partition that is negative", () => {
    for (const changed of withExtremes(BODY, 8)) {
      expect(decode(changed)).toBe(new DataView(changed.buffer).getInt32(8) < 0 ? CORRUPT_REQUEST : NONE);
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
    const acks = fc.constantFrom(0, 1, 2) as fc.Arbitrary<AckPolicy>;
    const expectations = fc.oneof(fc.constant(ANY_OFFSET), fc.maxSafeNat());
    fc.assert(
      fc.property(
        names,
        fc.nat(),
        acks,
        expectations,
        fc.integer({ min: 1, max: 20 }),
        (topic, partition, ack, expectedOffset, records) => {
          const region = records * 5;
          const frame = new Uint8Array(produceV2RequestBytes(topic, region));
          const view = new DataView(frame.buffer);
          const at = writeProduceV2Request(view, 0, 7, topic, partition, ack, expectedOffset, records, region);
          expect(at + region).toBe(frame.length);
          expect(view.getInt32(0)).toBe(frame.length - 4);
          expect(decodeProduceV2(view, 12, frame.length, header)).toBe(NONE);
          expect(header).toMatchObject({
            partition,
            ack,
            expectedOffset,
            records,
            regionFrom: at,
            regionBytes: region,
          });
          expect(frame.subarray(header.topicFrom, header.topicFrom + header.topicBytes)).toEqual(ascii(topic));
        },
      ),
    );
  });
});
