// Decoders of what lies on a disk or inside a record: checkpoints, indexes, partition.json, walks over records, the envelope.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseCheckpoint } from "../../../../src/client/checkpoint/file-format.js";
import { EnvelopeCodec } from "../../../../src/client/codec/envelope.js";
import { javascriptWalker } from "../../../../src/client/record-walker.js";
import type { RecordFormat } from "../../../../src/model/record-format.js";
import { WALK_COLUMNS } from "../../../../src/model/record-walk.js";
import { native } from "../../../../src/native/binding.js";
import { nativeWalker } from "../../../../src/native-walker.js";
import { decodeSlot, encodeSlot } from "../../../../src/storage/checkpoint.js";
import { decodeIndexBody, decodeIndexHeader, encodeIndex } from "../../../../src/storage/index-file.js";
import { OffsetIndex } from "../../../../src/storage/offset-index.js";
import { readMeta } from "../../../../src/storage/partition-meta.js";
import { ascii, concat, int32 } from "../../../../test/support/bytes.js";
import type { Decoder } from "./decoder.js";

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const SLOT = { durableOffset: 900, segmentBase: 700, position: 4096, logStartOffset: 100, bootId: "ab".repeat(16) };

const slot: Decoder = {
  name: "a slot of the checkpoint",
  samples: [
    encodeSlot(3, {
      ...SLOT,
      epochs: [
        { epoch: 0, start: 0 },
        { epoch: 4, start: 800 },
      ],
    }).subarray(0, 4096),
    encodeSlot(1, { ...SLOT, bootId: "", epochs: [] }),
  ],
  throws: [],
  decode: ({ bytes }) => decodeSlot(bytes) ?? "none",
  mend: (bytes) => {
    if (bytes.length < 72) return;
    const used = Math.min(bytes.length, Math.max(8, viewOf(bytes).getUint32(8)));
    viewOf(bytes).setUint32(4, native.crc32c(bytes.subarray(8, used)));
  },
};

function anIndex(entries: number): Uint8Array {
  const index = OffsetIndex.empty();
  for (let i = 0; i < entries; i++) index.add(i * 10, i * 4096 + 1, 1_700_000_000_000 + i);
  const header = {
    baseOffset: 40,
    records: entries * 10,
    segmentBytes: 65_536,
    firstAppendMs: 1,
    lastAppendMs: 2,
    closedMtimeSeconds: 0,
  };
  return encodeIndex(header, index);
}

const index: Decoder = {
  name: "the index of a segment",
  samples: [anIndex(0), anIndex(3)],
  throws: [],
  decode: ({ bytes }) => {
    const outcome = decodeIndexHeader(bytes.subarray(0, 72), 40, bytes.length, 65_536);
    if ("problem" in outcome) return outcome.problem;
    const body = decodeIndexBody(bytes, outcome.header);
    return body === undefined ? "its sum does not match" : body.count;
  },
  mend: (bytes) => {
    if (bytes.length < 72) return;
    const view = viewOf(bytes);
    view.setUint32(12, native.crc32c(bytes.subarray(72)), true);
    view.setUint32(8, native.crc32c(bytes.subarray(12, 72)), true);
  },
};

const partitionJson = (directory: string): Decoder => {
  const dir = join(directory, "meta");
  mkdirSync(dir, { recursive: true });
  return {
    name: "partition.json",
    samples: [ascii('{"version": 1, "recordFormat": "crc32c"}\n'), ascii('{"version":2}'), ascii("[null]")],
    throws: ["PARTITION_DAMAGED"],
    slow: true,
    decode: ({ bytes }) => {
      writeFileSync(join(dir, "partition.json"), bytes);
      return readMeta(dir);
    },
  };
};

const checkpointFile: Decoder = {
  name: "a client's checkpoint file",
  samples: [
    ascii('{"millrace":"checkpoint","version":1,"positions":[{"topic":"orders","partition":0,"offset":17,"epoch":0}]}'),
    ascii('{"millrace":"checkpoint","version":1,"positions":[]}'),
  ],
  throws: ["BAD_CHECKPOINT"],
  decode: ({ bytes }) => parseCheckpoint(Buffer.from(bytes).toString("utf8"), "file"),
};

const raw = { encode: (value: Uint8Array) => value, decode: (bytes: Uint8Array) => bytes };
const codec = new EnvelopeCodec(raw);
const envelope: Decoder = {
  name: "the envelope",
  samples: [
    codec.seal({ value: ascii("value"), key: "key", headers: { one: "1", "zwei ä": "é".repeat(30) }, timestampMs: 9 }),
    codec.seal({ value: new Uint8Array(0), timestampMs: -1 }),
  ],
  throws: [],
  decode: ({ view, from, end }) => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset + from, end - from);
    try {
      const { timestampMs, key, headers, value } = codec.open(bytes);
      return { timestampMs, key: key && [...key], headers: [...headers], value: [...value] };
    } catch (error) {
      if ((error as { code?: unknown }).code === "BAD_PAYLOAD") return "no envelope";
      throw error;
    }
  },
  reference: (bytes) => {
    try {
      return openPlainly(bytes);
    } catch (error) {
      // The end of a DataView, and bytes that are no text.
      if (error instanceof RangeError || error instanceof TypeError) return "no envelope";
      throw error;
    }
  },
};

/** The envelope once more, from its drawing in docs/envelope.md. */
function openPlainly(bytes: Uint8Array): unknown {
  const view = viewOf(bytes);
  let at = 13;
  const take = (length: number): Uint8Array => {
    if (length < 0 || at + length > bytes.length) throw new RangeError();
    at += length;
    return bytes.subarray(at - length, at);
  };
  const text = (length: number): string =>
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(take(length));
  const int32At = (): number => viewOf(take(4)).getInt32(0);
  const uint16At = (): number => viewOf(take(2)).getUint16(0);
  const timestampMs = Number(view.getBigInt64(1));
  if (view.getUint8(0) !== 0xf9 || Math.abs(timestampMs) > 8.64e15) throw new RangeError();
  const keyBytes = view.getInt32(9);
  const key = keyBytes === -1 ? undefined : [...take(keyBytes)];
  const headers = new Map<string, string>();
  for (let count = uint16At(); count > 0; count--) {
    const name = text(uint16At());
    if (name === "" || headers.has(name)) throw new RangeError();
    headers.set(name, text(int32At()));
  }
  return { timestampMs, key, headers: [...headers], value: [...bytes.subarray(at)] };
}

const ROOM = 64;
// Its own bound for short ones would send them to the walker that it is compared with.
const walkers = [javascriptWalker, nativeWalker(native, 0)];

function walk(format: RecordFormat): Decoder {
  const summed = format === "crc32c";
  const sample = concat(
    ...["a", "bcd", "x".repeat(150)].map((text) => {
      const payload = ascii(text);
      return concat(int32(payload.length), summed ? int32(native.crc32c(payload)) : new Uint8Array(0), payload);
    }),
  );
  const found = (bytes: Uint8Array, which: number): unknown => {
    const ranges = new Uint32Array(2 * ROOM);
    const walked = new Uint32Array(WALK_COLUMNS);
    walkers[which].walk(bytes, 0, format, ranges, ROOM, walked);
    return { walked: [...walked], ranges: [...ranges.subarray(0, 2 * walked[0])] };
  };
  return {
    name: `the walk over ${format} records, in JavaScript as in the addon`,
    samples: [sample],
    throws: [],
    decode: ({ view, from, end }) => found(new Uint8Array(view.buffer, view.byteOffset + from, end - from), 0),
    reference: (bytes) => found(bytes, 1),
    mend: summed ? mendSums : undefined,
  };
}

function mendSums(bytes: Uint8Array): void {
  const view = viewOf(bytes);
  for (let at = 0; at + 8 <= bytes.length; ) {
    const length = view.getInt32(at);
    if (length <= 0 || length > bytes.length - at - 8) return;
    view.setUint32(at + 4, native.crc32c(bytes.subarray(at + 8, at + 8 + length)));
    at += 8 + length;
  }
}

export const storedDecoders = (directory: string): readonly Decoder[] => [
  slot,
  index,
  partitionJson(directory),
  checkpointFile,
  envelope,
  walk("plain"),
  walk("crc32c"),
];
