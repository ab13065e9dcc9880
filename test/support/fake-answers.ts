// What a played broker answers, from logs in memory: every request there is, as the protocol says. Waiting is fake-broker.ts's.

import { AckPolicy } from "../../src/model/ack-policy.js";
import { type ErrorCode, ErrorCodes } from "../../src/model/error-codes.js";
import { offset, partitionId } from "../../src/model/ids.js";
import type { RecordFormat } from "../../src/model/record-format.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import {
  decodeFetch,
  decodeFetchV2,
  FETCH_RESPONSE_HEAD_BYTES,
  FetchHeader,
  writeFetchResponseHead,
} from "../../src/protocol/fetch.js";
import {
  decodeMultiFetch,
  MULTI_FETCH_RESPONSE_HEAD_BYTES,
  MultiFetchHeader,
  MultiFetchPart,
  multiFetchPartHeadBytes,
  writeMultiFetchPartHead,
  writeMultiFetchResponseHead,
} from "../../src/protocol/fetch-multi.js";
import { EMPTY_RESPONSE_BYTES, writeErrorResponse } from "../../src/protocol/frame.js";
import {
  decodeListOffsets,
  LIST_OFFSETS_RESPONSE_BYTES,
  ListedTime,
  ListOffsetsHeader,
  writeListOffsetsResponse,
} from "../../src/protocol/list-offsets.js";
import { decodeMetadata, encodeMetadataResponse, MetadataRequest } from "../../src/protocol/metadata.js";
import {
  decodeProduce,
  decodeProduceV2,
  PRODUCE_RESPONSE_BYTES,
  ProduceHeader,
  writeProduceResponse,
} from "../../src/protocol/produce.js";
import { ascii, concat } from "./bytes.js";
import { storedRecords } from "./stored-records.js";

/** A partition in memory. */
export class FakeLog {
  records: Uint8Array[] = [];
  /** When each was appended. */
  times: number[] = [];
  start = 0;
  epoch = 0;
  epochStart = 0;

  get end(): number {
    return this.records.length;
  }

  /** As a recovery does that cuts records. */
  cutTo(end: number): void {
    this.records.length = end;
    this.epoch++;
    this.epochStart = end;
  }
}

/** One partition of a fetch, of any version. */
export interface AskedPart {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly maxBytes: number;
  readonly epoch: number;
}

export interface AskedFetch {
  readonly kind: number;
  readonly correlationId: number;
  readonly parts: readonly AskedPart[];
  readonly maxBytes: number;
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly minRecords: number;
}

const isFetchKind = (kind: number): boolean =>
  ([RequestKind.FETCH_V1, RequestKind.FETCH_V2, RequestKind.FETCH_V3] as number[]).includes(kind);

/** A frame, behind its length prefix, as a fetch. Undefined: it is another request. */
export function askedFetch(frame: Uint8Array): AskedFetch | ErrorCode | undefined {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const kind = view.getInt32(0);
  if (!isFetchKind(kind)) return undefined;
  const correlationId = view.getInt32(4);
  if (kind === RequestKind.FETCH_V3) {
    const header = new MultiFetchHeader();
    const error = decodeMultiFetch(view, 8, view.byteLength, header);
    if (error !== ErrorCodes.NONE) return error;
    const { maxBytes, maxWaitMillis: maxWaitMs, minBytes, minRecords } = header;
    const parts = Array.from({ length: header.count }, (_, i) => ({
      topic: text(view, header.topicFrom[i] as number, header.topicBytes[i] as number),
      partition: header.partition[i] as number,
      offset: header.fetchOffset[i] as number,
      maxBytes: header.partitionMaxBytes[i] as number,
      epoch: header.epoch[i] as number,
    }));
    return { kind, correlationId, parts, maxBytes, maxWaitMs, minBytes, minRecords };
  }
  const header = new FetchHeader();
  const decode = kind === RequestKind.FETCH_V1 ? decodeFetch : decodeFetchV2;
  const error = decode(view, 8, view.byteLength, header);
  if (error !== ErrorCodes.NONE) return error;
  const { partition, fetchOffset, maxBytes, maxWaitMillis: maxWaitMs, minBytes } = header;
  const topic = text(view, header.topicFrom, header.topicBytes);
  const parts = [{ topic, partition, offset: fetchOffset, maxBytes, epoch: -1 }];
  return { kind, correlationId, parts, maxBytes, maxWaitMs, minBytes, minRecords: 0 };
}

/** An answer of the version that was asked, about its first partition, with this payload. */
export function fetchAnswerTo(asked: AskedFetch, highWatermark: number, payload: Uint8Array): Uint8Array {
  const [part] = asked.parts as [AskedPart];
  if (asked.kind !== RequestKind.FETCH_V3) return fetchAnswer(asked.correlationId, highWatermark, payload);
  const log = new FakeLog();
  return multiFetchAnswer(asked.correlationId, [partAnswer(part, log, ErrorCodes.NONE, payload, highWatermark)]);
}

export class FakeAnswers {
  constructor(
    private readonly topics: Readonly<Record<string, number>>,
    private readonly logs: ReadonlyMap<string, FakeLog>,
    private readonly format: RecordFormat,
  ) {}

  metadata(version: 1 | 2, correlationId: number, view: DataView): Uint8Array {
    const asked = new MetadataRequest();
    const error = decodeMetadata(view, 8, view.byteLength, asked);
    if (error !== ErrorCodes.NONE) return errorAnswer(correlationId, error);
    const all = Object.entries(this.topics).sort(([a], [b]) => (a < b ? -1 : 1));
    const named = all.filter(([topic]) => asked.topics.size === 0 || asked.topics.has(topic));
    if (named.length < asked.topics.size) return errorAnswer(correlationId, ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION);
    const topics = named.map(([topic, partitions]) => ({
      topic,
      recordFormat: this.format,
      partitions: Array.from({ length: partitions }, (_, partition) => {
        const { end, start, epoch } = this.logs.get(`${topic}-${partition}`) as FakeLog;
        const ends = { highWatermark: offset(end), durableOffset: offset(end), logEndOffset: offset(end) };
        return { partition: partitionId(partition), epoch, logStartOffset: offset(start), ...ends };
      }),
    }));
    return encodeMetadataResponse(version, correlationId, topics);
  }

  produce(version: 1 | 2, correlationId: number, view: DataView): Uint8Array | undefined {
    const header = new ProduceHeader();
    const decode = version === 1 ? decodeProduce : decodeProduceV2;
    let error: ErrorCode = decode(view, 8, view.byteLength, header);
    const log = this.logs.get(`${text(view, header.topicFrom, header.topicBytes)}-${header.partition}`);
    if (error === ErrorCodes.NONE && log === undefined) error = ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION;
    const base = log?.end ?? 0;
    const { expectedOffset } = header;
    if (error === ErrorCodes.NONE && expectedOffset >= 0 && expectedOffset !== base) error = ErrorCodes.OFFSET_MISMATCH;
    if (error === ErrorCodes.NONE && log !== undefined) {
      for (let at = header.regionFrom, i = 0; i < header.records; i++) {
        const size = view.getInt32(at);
        log.records.push(new Uint8Array(view.buffer.slice(at + 4, at + 4 + size)));
        at += 4 + size;
      }
    }
    if (header.ack === AckPolicy.NONE) return undefined;
    if (error !== ErrorCodes.NONE) return errorAnswer(correlationId, error);
    const frame = new Uint8Array(PRODUCE_RESPONSE_BYTES);
    writeProduceResponse(new DataView(frame.buffer), 0, correlationId, base, log?.end ?? 0);
    return frame;
  }

  listOffsets(correlationId: number, view: DataView): Uint8Array {
    const header = new ListOffsetsHeader();
    const error = decodeListOffsets(view, 8, view.byteLength, header);
    if (error !== ErrorCodes.NONE) return errorAnswer(correlationId, error);
    const log = this.logs.get(`${text(view, header.topicFrom, header.topicBytes)}-${header.partition}`);
    if (log === undefined) return errorAnswer(correlationId, ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION);
    const { timestampMs } = header;
    const found = log.times.findIndex((time) => time >= timestampMs);
    const [at, time] =
      timestampMs === ListedTime.EARLIEST
        ? [log.start, -1]
        : timestampMs === ListedTime.LATEST || found < 0
          ? [log.end, -1]
          : [found, log.times[found] as number];
    const frame = new Uint8Array(LIST_OFFSETS_RESPONSE_BYTES);
    writeListOffsetsResponse(new DataView(frame.buffer), 0, correlationId, at, time);
    return frame;
  }

  /** What each part would get now. */
  private parts(asked: AskedFetch) {
    return asked.parts.map((part) => {
      const log = this.logs.get(`${part.topic}-${part.partition}`);
      const error = errorOf(part, log);
      const all = error === ErrorCodes.NONE && log !== undefined ? log.records.slice(part.offset) : [];
      return { part, log: log ?? new FakeLog(), error, records: all.length, stored: storedRecords(this.format, all) };
    });
  }

  /** Whether a fetch is answered without more waiting. */
  isEnough(asked: AskedFetch): boolean {
    const parts = this.parts(asked);
    const bytes = parts.reduce((sum, { stored }) => sum + stored.length, 0);
    const records = parts.reduce((sum, each) => sum + each.records, 0);
    const final = parts.some(({ error, stored, part }) => error !== ErrorCodes.NONE || stored.length >= part.maxBytes);
    const enough = bytes >= Math.max(1, asked.minBytes) && records >= Math.max(1, asked.minRecords);
    return final || enough || bytes >= asked.maxBytes;
  }

  fetch(asked: AskedFetch): Uint8Array {
    const { correlationId } = asked;
    const parts = this.parts(asked);
    if (asked.kind !== RequestKind.FETCH_V3) {
      const [{ error, stored, log, part }] = parts as [(typeof parts)[number]];
      if (error !== ErrorCodes.NONE) return errorAnswer(correlationId, error);
      return fetchAnswer(correlationId, log.end, stored.subarray(0, part.maxBytes));
    }
    let left = asked.maxBytes;
    let first = true;
    const answers = parts.map(({ part, log, error, stored }) => {
      const wanted = stored.subarray(0, part.maxBytes);
      const payload = first || wanted.length <= left ? wanted : new Uint8Array(0);
      left -= payload.length;
      if (payload.length > 0) first = false;
      return partAnswer(part, log, error, payload, log.end);
    });
    return multiFetchAnswer(correlationId, answers);
  }
}

function errorOf(part: AskedPart, log: FakeLog | undefined): ErrorCode {
  if (log === undefined) return ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION;
  if (part.epoch >= 0 && part.epoch < log.epoch && log.epochStart < part.offset) return ErrorCodes.LOG_TRUNCATED;
  return part.offset < log.start || part.offset > log.end ? ErrorCodes.OFFSET_OUT_OF_RANGE : ErrorCodes.NONE;
}

function partAnswer(
  { topic, partition }: AskedPart,
  log: FakeLog,
  error: ErrorCode,
  payload: Uint8Array,
  highWatermark: number,
): Uint8Array {
  const part = new MultiFetchPart();
  part.partition = partition;
  part.error = error;
  if (error !== ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION) {
    part.epoch = log.epoch;
    part.epochStart = log.epochStart;
    part.logStartOffset = log.start;
    part.highWatermark = highWatermark;
    part.logEndOffset = highWatermark;
  }
  part.payloadBytes = payload.length;
  const name = ascii(topic);
  const head = new Uint8Array(multiFetchPartHeadBytes(name.length));
  writeMultiFetchPartHead(new DataView(head.buffer), 0, name, part);
  return concat(head, payload);
}

function multiFetchAnswer(correlationId: number, parts: readonly Uint8Array[]): Uint8Array {
  const body = concat(...parts);
  const head = new Uint8Array(MULTI_FETCH_RESPONSE_HEAD_BYTES);
  writeMultiFetchResponseHead(new DataView(head.buffer), 0, correlationId, parts.length, body.length);
  return concat(head, body);
}

export function errorAnswer(correlationId: number, error: ErrorCode): Uint8Array {
  const frame = new Uint8Array(EMPTY_RESPONSE_BYTES);
  writeErrorResponse(new DataView(frame.buffer), 0, correlationId, error);
  return frame;
}

/** Of v1 and v2. */
export function fetchAnswer(correlationId: number, highWatermark: number, payload: Uint8Array): Uint8Array {
  const head = new Uint8Array(FETCH_RESPONSE_HEAD_BYTES);
  writeFetchResponseHead(new DataView(head.buffer), 0, correlationId, highWatermark, payload.length);
  return concat(head, payload);
}

function text(view: DataView, from: number, bytes: number): string {
  return new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + from, bytes));
}
