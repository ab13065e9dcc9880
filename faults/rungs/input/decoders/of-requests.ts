// The broker's decoders of requests, against the grammar that is written apart.

import { decodeFetch, decodeFetchV2, FetchHeader } from "../../../../src/protocol/fetch.js";
import { decodeMultiFetch, MultiFetchHeader } from "../../../../src/protocol/fetch-multi.js";
import { decodeHello } from "../../../../src/protocol/hello.js";
import { decodeListOffsets, ListOffsetsHeader } from "../../../../src/protocol/list-offsets.js";
import { decodeMetadata, MetadataRequest } from "../../../../src/protocol/metadata.js";
import { decodeProduce, decodeProduceV2, ProduceHeader } from "../../../../src/protocol/produce.js";
import { ascii } from "../../../../test/support/bytes.js";
import {
  fetch,
  hello,
  listOffsets,
  metadata,
  multiFetch,
  produce,
  produceAt,
  waitingFetch,
} from "../../../../test/support/wire.js";
import { CORRUPT, judge, NONE, type World } from "../grammar.js";
import type { Decoder, Range } from "./decoder.js";

const TOPIC_MAX = 249;
const PARTITIONS_MAX = 1_000;
const TOPICS_MAX = 10_000;

/** Behind length, key, version and correlation. */
const body = (request: Uint8Array): Uint8Array => request.subarray(12);
const records = [ascii("one"), ascii("another one"), ascii("x")];
const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `topic-${i}`);

/** No topic is there: what is sound is answered so, and what is inside a region does not count. */
const nowhere: World = { partitions: new Map(), payloadBytesMax: 1 << 20, frameBytesMax: 1 << 23 };
const reference = (key: number, version: number) => (bytes: Uint8Array) => {
  const errors = judge(key, version, bytes, nowhere);
  // Without an answer: the grammar does not say why.
  return errors === undefined ? "silent" : errors[0] === CORRUPT ? CORRUPT : NONE;
};

function ofProduce(version: 1 | 2): Decoder {
  const header = new ProduceHeader();
  const decode = version === 1 ? decodeProduce : decodeProduceV2;
  const sample = (ack: number): Uint8Array =>
    version === 1 ? produce(records, { ack }) : produceAt(70_000, records, { ack });
  return {
    name: `PRODUCE v${version}`,
    samples: [0, 1, 2].map((ack) => body(sample(ack))),
    long: [TOPIC_MAX, TOPIC_MAX + 1].map((length) => body(produce(records, { topic: "x".repeat(length) }))),
    throws: [],
    decode: ({ view, from, end }) => {
      const error = decode(view, from, end, header);
      if (error === NONE) {
        const { topicFrom, topicBytes, regionFrom, regionBytes } = header;
        if (topicFrom < from || topicFrom + topicBytes > end || regionFrom < from || regionFrom + regionBytes !== end) {
          throw new Error("it points outside of the body");
        }
      }
      return header.ack === 0 ? "silent" : error;
    },
    reference: reference(1, version),
  };
}

const fetchHeader = new FetchHeader();
const multiFetchHeader = new MultiFetchHeader();
const listOffsetsHeader = new ListOffsetsHeader();
const metadataRequest = new MetadataRequest();
const positions = (length: number) =>
  Array.from({ length }, (_, partition) => ({ topic: "t", partition, offset: partition, maxBytes: 9 }));

const simple = (
  name: string,
  key: number,
  version: number,
  samples: readonly Uint8Array[],
  decode: (range: Range) => number,
  long: readonly Uint8Array[] = [],
): Decoder => ({
  name,
  samples: samples.map(body),
  long: long.map(body),
  throws: [],
  decode,
  reference: reference(key, version),
});

export const requestDecoders: readonly Decoder[] = [
  ofProduce(1),
  ofProduce(2),
  simple("FETCH v1", 2, 1, [fetch(7), fetch(2 ** 33, { topic: "a" })], ({ view, from, end }) =>
    decodeFetch(view, from, end, fetchHeader),
  ),
  simple("FETCH v2", 2, 2, [waitingFetch(7), waitingFetch(2 ** 33, { minBytes: 9 })], ({ view, from, end }) =>
    decodeFetchV2(view, from, end, fetchHeader),
  ),
  simple(
    "FETCH v3",
    2,
    3,
    [multiFetch([{ offset: 3 }, { offset: 2 ** 33, partition: 1, topic: "b" }]), multiFetch(positions(40))],
    ({ view, from, end }) => decodeMultiFetch(view, from, end, multiFetchHeader),
    [PARTITIONS_MAX, PARTITIONS_MAX + 1].map((count) => multiFetch(positions(count))),
  ),
  simple(
    "METADATA",
    3,
    1,
    [metadata(), metadata(["a", "orders"]), metadata(names(20))],
    ({ view, from, end }) => decodeMetadata(view, from, end, metadataRequest),
    [TOPICS_MAX, TOPICS_MAX + 1].map((count) => metadata(names(count))),
  ),
  simple("HELLO", 4, 1, [hello()], ({ view, from, end }) => decodeHello(view, from, end)),
  simple("LIST_OFFSETS", 5, 1, [listOffsets(-2), listOffsets(Date.UTC(2026, 1, 1))], ({ view, from, end }) =>
    decodeListOffsets(view, from, end, listOffsetsHeader),
  ),
];
