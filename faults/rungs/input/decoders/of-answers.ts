// The client's decoders: answers of a broker that may be none, and the stream that they come in.

import { AnswerCutter } from "../../../../src/client/answer-cutter.js";
import { settle } from "../../../../src/client/answers.js";
import type { OpenRequest } from "../../../../src/client/request-queue.js";
import { MillraceError } from "../../../../src/model/errors.js";
import { RequestKind } from "../../../../src/protocol/api-keys.js";
import { concat, hex, int32 } from "../../../../test/support/bytes.js";
import { int8, int16, int64, string } from "../../../../test/support/wire.js";
import type { Decoder } from "./decoder.js";

const PAYLOAD = hex("00000003 364b3fb7 616263");
const OFFSETS = [2, 9, 9, 11].map(int64);
const part = (error: number, payload: Uint8Array): Uint8Array =>
  concat(
    string("orders"),
    int32(1),
    int16(error),
    int32(3),
    int64(0),
    int64(2),
    int64(9),
    int64(9),
    int32(payload.length),
    payload,
  );
const partition = (version: number): Uint8Array =>
  version === 1 ? concat(int32(0), int64(2), int64(9)) : concat(int32(0), int32(3), ...OFFSETS);
const topic = (name: string, version: number): Uint8Array =>
  concat(string(name), version === 2 ? int8(1) : new Uint8Array(0), int32(2), partition(version), partition(version));
const topics = (version: number): Uint8Array => concat(int32(2), topic("a", version), topic("orders", version));
const hello = concat(
  string("millrace"),
  string("0.1.0"),
  int32(1 << 23),
  int32(60_000),
  int32(2),
  hex("0001 0001 0002 0004 0001 0001"),
);

const BODIES: readonly (readonly [keyof typeof RequestKind, Uint8Array])[] = [
  ["PRODUCE_V1", concat(int64(7), int64(9))],
  ["PRODUCE_V2", concat(int64(2 ** 40), int64(2 ** 40 + 1))],
  ["FETCH_V1", concat(int64(9), int32(PAYLOAD.length), PAYLOAD)],
  ["FETCH_V2", concat(int64(0), int32(0))],
  ["FETCH_V3", concat(int32(2), part(0, PAYLOAD), part(2, new Uint8Array(0)))],
  ["METADATA_V1", topics(1)],
  ["METADATA_V2", topics(2)],
  ["HELLO_V1", hello],
  ["LIST_OFFSETS_V1", concat(int64(5), int64(-1))],
];

/** With its header: an error settles the request, too, and then with an error of a documented code. */
const ofBody = ([name, body]: (typeof BODIES)[number]): Decoder => ({
  name: `the answer to ${name}`,
  samples: [concat(int32(1), int16(0), body), concat(int32(1), int16(2))],
  throws: ["BAD_RESPONSE"],
  decode: ({ view, from, end }) => {
    // Shorter ones are not cut out of the stream.
    if (end - from < 6) return "too short";
    let outcome: unknown = "not settled";
    const request = {
      kind: RequestKind[name],
      correlationId: 1,
      what: () => name,
      resolve: (answer: unknown) => {
        outcome = answer;
      },
      reject: (error: unknown) => {
        if (!(error instanceof MillraceError)) throw error;
        outcome = error.code;
      },
    };
    settle(request as unknown as OpenRequest, view, from, end, false);
    return outcome;
  },
});

const ANSWER_MAX = 4096;

/** A stream of answers as a socket brings it, in pieces of a size: each in another. */
function cut(stream: Uint8Array, piece: number): string[] {
  const seen: string[] = [];
  const cutter = new AnswerCutter(new Uint8Array(256), {
    nextAnswerBytesMax: () => ANSWER_MAX,
    answer: (view, from, end) => {
      seen.push(Buffer.from(view.buffer, view.byteOffset + from, end - from).toString("hex"));
    },
  });
  try {
    for (let at = 0; at < stream.length; ) {
      const room = cutter.room();
      const taken = Math.min(piece, room.length, stream.length - at);
      room.set(stream.subarray(at, at + taken));
      cutter.take(taken);
      at += taken;
    }
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    seen.push(error.code);
  }
  return seen;
}

function cutPlainly(stream: Uint8Array): string[] {
  const seen: string[] = [];
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  for (let at = 0; stream.length - at >= 4; ) {
    const length = view.getInt32(at);
    if (length < 6 || length > ANSWER_MAX) return [...seen, "BAD_RESPONSE"];
    if (length > stream.length - at - 4) break;
    seen.push(Buffer.from(stream.subarray(at + 4, at + 4 + length)).toString("hex"));
    at += 4 + length;
  }
  return seen;
}

const answer = (bytes: number, filler: number): Uint8Array => concat(int32(bytes), new Uint8Array(bytes).fill(filler));

const cutter: Decoder = {
  name: "the stream of answers",
  samples: [concat(answer(6, 1), answer(300, 2), answer(7, 3), answer(22, 4))],
  throws: [],
  takes: 2 * ANSWER_MAX + 64 * 1024,
  decode: ({ bytes }) => {
    const outcomes = [1, 3, 64, 1 << 20].map((piece) => JSON.stringify(cut(bytes, piece)));
    if (new Set(outcomes).size > 1) throw new Error(`pieces of another size, other answers: ${outcomes.join(" ")}`);
    return JSON.parse(outcomes[0]) as unknown;
  },
  reference: cutPlainly,
};

export const answerDecoders: readonly Decoder[] = [...BODIES.map(ofBody), cutter];
