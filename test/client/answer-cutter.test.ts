// The stream of answers, fed at every split point, a byte at a time and all at once.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AnswerCutter } from "../../src/client/answer-cutter.js";
import { CLIENT_READ_HEAD_BYTES } from "../../src/model/limits.js";
import { concat, hex, int32 } from "../support/bytes.js";

const MAX = 1000;

function feed(chunks: readonly Uint8Array[]): { answers: Uint8Array[]; owned: boolean[] } {
  const buffer = new Uint8Array(2048);
  const answers: Uint8Array[] = [];
  const owned: boolean[] = [];
  const cutter = new AnswerCutter(buffer, {
    nextAnswerBytesMax: () => MAX,
    answer: (view, from, end, own) => {
      answers.push(new Uint8Array(view.buffer.slice(view.byteOffset + from, view.byteOffset + end)));
      owned.push(own);
    },
  });
  for (const chunk of chunks) {
    buffer.fill(0xee);
    buffer.set(chunk);
    cutter.take(chunk.length);
  }
  return { answers, owned };
}

const answers = [6, 22, 7, 300, 6].map((length, i) => new Uint8Array(length).fill(i + 1));
const stream = concat(...answers.flatMap((answer) => [int32(answer.length), answer]));

describe("the stream of answers", () => {
  it("is cut where it lies when it comes at once", () => {
    expect(feed([stream])).toEqual({ answers, owned: answers.map(() => false) });
  });

  it("gives the same answers split at any place", () => {
    for (let at = 0; at <= stream.length; at++) {
      expect(feed([stream.subarray(0, at), stream.subarray(at)]).answers).toEqual(answers);
    }
  });

  it("gives the same answers a byte at a time, and in any pieces", () => {
    expect(feed(Array.from(stream, (byte) => Uint8Array.of(byte))).answers).toEqual(answers);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: stream.length })), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const pieces = places.slice(1).map((end, i) => stream.subarray(places[i], end));
        expect(feed(pieces).answers).toEqual(answers);
      }),
    );
  });

  it("is not trusted after a length that cannot be, whole or in pieces", () => {
    for (const length of [-1, 0, 5, MAX + 1, 0x7fffffff, -0x80000000]) {
      const bytes = concat(int32(length), hex("000000010000"));
      for (const chunks of [[bytes], [bytes.subarray(0, 1), bytes.subarray(1)]]) {
        expect(() => feed(chunks)).toThrow(expect.objectContaining({ code: "BAD_RESPONSE" }));
      }
    }
  });
});

describe("a large answer", () => {
  it("is read where it belongs, whatever comes in each read, and what stands before and behind it is not lost", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 6, max: 400_000 }), { minLength: 1, maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 300_000 }), { minLength: 1, maxLength: 5 }),
        (lengths, reads) => {
          const sent = lengths.map((length, i) => new Uint8Array(length).fill(i + 1));
          const bytes = concat(...sent.flatMap((answer) => [int32(answer.length), answer]));
          const got: Uint8Array[] = [];
          let inPlace = 0;
          const buffer = new Uint8Array(100_000);
          const cutter = new AnswerCutter(buffer, {
            nextAnswerBytesMax: () => 400_000,
            answer: (view, from, end) => {
              got.push(new Uint8Array(view.buffer.slice(view.byteOffset + from, view.byteOffset + end)));
            },
          });
          for (let at = 0, read = 0; at < bytes.length; read++) {
            const room = cutter.room();
            if (room !== buffer) inPlace++;
            const taken = Math.min(room.length, reads[read % reads.length] as number, bytes.length - at);
            room.set(bytes.subarray(at, at + taken));
            cutter.take(taken);
            buffer.fill(0xee);
            at += taken;
          }
          expect(got.map(({ length }) => length)).toEqual(lengths);
          expect(got.every((answer, i) => answer.every((byte) => byte === i + 1))).toBe(true);
          if (Math.max(...lengths) >= 300_000) expect(inPlace).toBeGreaterThan(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("is expected where the last one was large, and no longer when a small one has come", () => {
    const buffer = new Uint8Array(100_000);
    const cutter = new AnswerCutter(buffer, { nextAnswerBytesMax: () => 400_000, answer: () => undefined });
    const come = (bytes: Uint8Array): void => {
      for (let at = 0; at < bytes.length; ) {
        const room = cutter.room();
        const taken = Math.min(room.length, bytes.length - at);
        room.set(bytes.subarray(at, at + taken));
        cutter.take(taken);
        at += taken;
      }
    };
    come(concat(int32(300_000), new Uint8Array(300_000)));
    expect(cutter.room().length).toBe(CLIENT_READ_HEAD_BYTES);
    come(concat(int32(22), new Uint8Array(22)));
    expect(cutter.room()).toBe(buffer);
  });
});
