// What the rung `input` compares with: its grammar of requests, its reader of answers, and its demands on decoders.

import { describe, expect, it } from "vitest";
import { Random } from "../../faults/lib/random.js";
import { bodyProblem } from "../../faults/rungs/input/bodies.js";
import {
  CORRUPT,
  foresee,
  judge,
  MISMATCH,
  NONE,
  TOO_LARGE,
  UNKNOWN_TOPIC,
  UNSUPPORTED,
} from "../../faults/rungs/input/grammar.js";
import { damaged, extremes, validRequest, withAt } from "../../faults/rungs/input/samples.js";
import { ascii, concat, hex, int32 } from "../support/bytes.js";
import { fetch, frame, hello, int64, metadata, multiFetch, produce, produceAt } from "../support/wire.js";

const world = { partitions: new Map([["orders", 1]]), payloadBytesMax: 10, frameBytesMax: 1000 };
const errorsOf = (request: Uint8Array): readonly (readonly number[])[] =>
  foresee(request, world).answers.map(({ errors }) => errors);

describe("the grammar of the rung input", () => {
  it("foresees the answers to a stream of sound requests, each in its place", () => {
    const stream = concat(hello(1), metadata([], 2, 2), fetch(0, { correlation: -1 }));
    const { answers, end } = foresee(stream, world);
    expect(answers.map(({ correlation }) => correlation)).toEqual([1, 2, -1]);
    expect(answers.map(({ errors }) => errors[0])).toEqual([NONE, NONE, NONE]);
    expect(end).toBe("frame");
    expect(foresee(stream.subarray(0, stream.length - 1), world).end).toBe("cut");
  });

  it("ends where a length cannot be", () => {
    for (const length of [0, -1, 1001, 0x7fffffff, -0x80000000]) {
      const { answers, end } = foresee(concat(hello(), int32(length), hello()), world);
      expect([answers.length, end]).toEqual([1, "closed"]);
    }
  });

  it("tells what is damaged from what is not there and from what is not known", () => {
    expect(errorsOf(frame(9, 1, 1, new Uint8Array(0)))).toEqual([[UNSUPPORTED]]);
    expect(errorsOf(concat(int32(3), hex("000400")))).toEqual([[CORRUPT]]);
    expect(errorsOf(produce([ascii("x")], { topic: "nobody" }))).toEqual([[UNKNOWN_TOPIC]]);
    expect(errorsOf(produce([ascii("x".repeat(11))]))).toEqual([[TOO_LARGE]]);
    expect(errorsOf(produceAt(3, [ascii("x")]))).toEqual([[NONE, MISMATCH]]);
    expect(errorsOf(multiFetch([{ offset: 0 }, { offset: 1 }]))).toEqual([[CORRUPT]]);
  });

  it("knows that a PRODUCE without acknowledgement has no answer, also where it is damaged behind that byte", () => {
    const silent = produce([ascii("x")], { ack: 0 });
    expect(errorsOf(silent)).toEqual([]);
    expect(judge(1, 1, silent.subarray(12, silent.length - 1), world)).toBeUndefined();
    // The byte itself is not there.
    expect(judge(1, 1, silent.subarray(12, 24), world)).toEqual([CORRUPT]);
  });

  it("takes every request that is made as a valid one", () => {
    const random = new Random(11);
    for (let i = 0; i < 500; i++) {
      const [answer] = foresee(validRequest(random, i), { ...world, frameBytesMax: 1 << 20 }).answers;
      expect(answer?.errors ?? [NONE]).not.toContain(CORRUPT);
    }
  });
});

describe("its reader of answers", () => {
  it("complains about a body that is cut, too long or out of order", () => {
    const body = concat(int64(3), int64(4));
    expect(bodyProblem(1, 1, body)).toBeUndefined();
    expect(bodyProblem(1, 1, body.subarray(1))).toContain("does not parse");
    expect(bodyProblem(1, 1, concat(body, hex("00")))).toContain("left over");
    expect(bodyProblem(1, 1, concat(int64(4), int64(4)))).toContain("base offset 4");
  });
});

describe("the damages of the rung input", () => {
  it("leave the sample as it is, also one that lies in the memory of Node's pool", () => {
    const sample = Buffer.from("a sample that is tried again and again");
    const before = Uint8Array.from(sample);
    const random = new Random(5);
    for (const [at, value] of extremes.entries()) withAt(sample, at % sample.length, value);
    for (let times = 0; times < 100; times++) damaged(random, sample);
    expect(Uint8Array.from(sample)).toEqual(before);
  });
});
