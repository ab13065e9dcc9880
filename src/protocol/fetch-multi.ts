// FETCH, apiKey 2, v3: several partitions in one request, each with its own position.
//
//   int32 replicaId | int32 maxWaitMillis | int32 minBytes | int32 minRecords | int32 maxBytes
//     | int32 count | count × (string topic | int32 partition | int32 epoch | int64 fetchOffset | int32 partitionMaxBytes)
//   → int32 count | count × (string topic | int32 partition | int16 errorCode | int32 epoch | int64 epochStart
//     | int64 logStartOffset | int64 highWatermark | int64 logEndOffset | int32 payloadBytes | payload)
//
// `replicaId` and `epoch` are −1 or above, `maxBytes` and `partitionMaxBytes` above 0, the others 0 or above, `minBytes` at
// most `maxBytes`, `count` 1 … FETCH_PARTITIONS_MAX, and no partition is named twice. The answer keeps the order of the
// request. With an errorCode there is no payload; what is not known then is −1. With LOG_TRUNCATED `epochStart` is where
// the log was cut for this reader. What is inside a payload is records.ts.

import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { type Offset, offset, type PartitionId, partitionId } from "../model/ids.js";
import { FETCH_PARTITIONS_MAX } from "../model/limits.js";
import { isTopicNameAt } from "../model/topic-name.js";
import { RequestKind } from "./api-keys.js";
import { decodeResponse } from "./bad-response.js";
import {
  EMPTY_RESPONSE_BYTES,
  LENGTH_BYTES,
  REQUEST_HEADER_BYTES,
  RESPONSE_HEADER_BYTES,
  writeResponseHeader,
} from "./frame.js";
import { putInt64, readOffset } from "./int64.js";
import type { Reader } from "./reader.js";
import { Writer } from "./writer.js";

/** On the wire a consumer is replica −1 and reads to the high watermark; whoever has a number follows the log to its end. */
export const CONSUMER = -1;
/** An epoch, or an offset in an answer, that is not known. */
export const UNKNOWN = -1;

/** replicaId, maxWaitMillis, minBytes, minRecords, maxBytes, count. */
const FIXED_BYTES = 6 * 4;
/** partition, epoch, fetchOffset, partitionMaxBytes: what follows a topic's name. */
const POSITION_BYTES = 4 + 4 + 8 + 4;
/** Below so many partitions it is cheaper to compare each with each than to make a key of each. */
const COMPARED_MAX = 32;

/** What a FETCH v3 asks: the partitions as columns, so that a request makes no objects. One instance is filled again and again. */
export class MultiFetchHeader {
  replicaId: number = CONSUMER;
  /** As it was asked; the broker has a limit. */
  maxWaitMillis = 0;
  /** Summed over the partitions; 0 and 1 both mean anything. */
  minBytes = 0;
  minRecords = 0;
  maxBytes = 0;
  count = 0;
  readonly topicFrom = new Int32Array(FETCH_PARTITIONS_MAX);
  readonly topicBytes = new Uint8Array(FETCH_PARTITIONS_MAX);
  readonly partition = new Int32Array(FETCH_PARTITIONS_MAX);
  readonly epoch = new Int32Array(FETCH_PARTITIONS_MAX);
  /** 2^53 − 1 for anything above it: no log ends there. */
  readonly fetchOffset = new Float64Array(FETCH_PARTITIONS_MAX);
  readonly partitionMaxBytes = new Int32Array(FETCH_PARTITIONS_MAX);
}

/** Checks the whole body, `[from, end)`. NONE or CORRUPT_REQUEST. */
export function decodeMultiFetch(view: DataView, from: number, end: number, into: MultiFetchHeader): ErrorCode {
  if (end - from < FIXED_BYTES) return ErrorCodes.CORRUPT_REQUEST;
  const replicaId = view.getInt32(from);
  const maxWaitMillis = view.getInt32(from + 4);
  const minBytes = view.getInt32(from + 8);
  const minRecords = view.getInt32(from + 12);
  const maxBytes = view.getInt32(from + 16);
  const count = view.getInt32(from + 20);
  if (replicaId < CONSUMER || maxWaitMillis < 0 || minBytes < 0 || minRecords < 0) return ErrorCodes.CORRUPT_REQUEST;
  if (maxBytes <= 0 || minBytes > maxBytes) return ErrorCodes.CORRUPT_REQUEST;
  if (count < 1 || count > FETCH_PARTITIONS_MAX) return ErrorCodes.CORRUPT_REQUEST;
  into.replicaId = replicaId;
  into.maxWaitMillis = maxWaitMillis;
  into.minBytes = minBytes;
  into.minRecords = minRecords;
  into.maxBytes = maxBytes;
  into.count = count;
  let at = from + FIXED_BYTES;
  for (let i = 0; i < count; i++) {
    if (end - at < 2) return ErrorCodes.CORRUPT_REQUEST;
    const topicBytes = view.getUint16(at);
    at += 2;
    if (end - at < topicBytes + POSITION_BYTES) return ErrorCodes.CORRUPT_REQUEST;
    if (!isTopicNameAt(view, at, topicBytes)) return ErrorCodes.CORRUPT_REQUEST;
    into.topicFrom[i] = at;
    into.topicBytes[i] = topicBytes;
    at += topicBytes;
    const partition = view.getInt32(at);
    const epoch = view.getInt32(at + 4);
    const fetchOffset = readOffset(view, at + 8);
    const partitionMaxBytes = view.getInt32(at + 16);
    if (partition < 0 || epoch < UNKNOWN || fetchOffset < 0 || partitionMaxBytes <= 0)
      return ErrorCodes.CORRUPT_REQUEST;
    into.partition[i] = partition;
    into.epoch[i] = epoch;
    into.fetchOffset[i] = fetchOffset;
    into.partitionMaxBytes[i] = partitionMaxBytes;
    at += POSITION_BYTES;
  }
  return at === end && !namesOneTwice(view, into) ? ErrorCodes.NONE : ErrorCodes.CORRUPT_REQUEST;
}

/** In linear time, also for a sender who means harm: the engine's own hashes of strings have a seed that nobody knows. */
function namesOneTwice(view: DataView, { count, topicFrom, topicBytes, partition }: MultiFetchHeader): boolean {
  if (count > COMPARED_MAX) {
    const seen = new Set<string>();
    for (let i = 0; i < count; i++) {
      const name = new Uint8Array(view.buffer, view.byteOffset + topicFrom[i], topicBytes[i]);
      seen.add(`${partition[i]} ${decoder.decode(name)}`);
    }
    return seen.size < count;
  }
  for (let i = 1; i < count; i++) {
    for (let j = 0; j < i; j++) {
      if (partition[i] !== partition[j] || topicBytes[i] !== topicBytes[j]) continue;
      let same = 0;
      while (same < topicBytes[i] && view.getUint8(topicFrom[i] + same) === view.getUint8(topicFrom[j] + same)) same++;
      if (same === topicBytes[i]) return true;
    }
  }
  return false;
}

const decoder = new TextDecoder();

export interface MultiFetchPosition {
  readonly topic: string;
  readonly partition: number;
  /** The epoch under which the reader got its position, or {@link UNKNOWN}. */
  readonly epoch: number;
  readonly fetchOffset: number;
  readonly maxBytes: number;
}

export interface MultiFetchRequest {
  /** {@link CONSUMER}, or the number of a follower. */
  readonly replicaId: number;
  readonly maxWaitMillis: number;
  readonly minBytes: number;
  readonly minRecords: number;
  readonly maxBytes: number;
  /** 1 … FETCH_PARTITIONS_MAX, each once. */
  readonly partitions: readonly MultiFetchPosition[];
}

/** A whole request frame, for topic names that have been checked. */
export function encodeMultiFetchRequest(correlationId: number, request: MultiFetchRequest): Uint8Array {
  const { partitions } = request;
  const names = partitions.reduce((sum, { topic }) => sum + 2 + topic.length, 0);
  const bodyBytes = FIXED_BYTES + names + partitions.length * POSITION_BYTES;
  const writer = new Writer(LENGTH_BYTES + REQUEST_HEADER_BYTES + bodyBytes);
  writer
    .int32(REQUEST_HEADER_BYTES + bodyBytes)
    .int32(RequestKind.FETCH_V3)
    .int32(correlationId);
  writer.int32(request.replicaId).int32(request.maxWaitMillis).int32(request.minBytes).int32(request.minRecords);
  writer.int32(request.maxBytes).int32(partitions.length);
  for (const { topic, partition, epoch, fetchOffset, maxBytes } of partitions) {
    writer.string(topic).int32(partition).int32(epoch).int64(fetchOffset).int32(maxBytes);
  }
  return writer.finish();
}

/** topic length, partition, errorCode, epoch, epochStart, logStartOffset, highWatermark, logEndOffset, payloadBytes. */
const PART_FIXED_BYTES = 2 + 4 + 2 + 4 + 4 * 8 + 4;
/** Everything of a response frame before its first partition. */
export const MULTI_FETCH_RESPONSE_HEAD_BYTES = EMPTY_RESPONSE_BYTES + 4;

/** Everything of a partition's answer but its payload. */
export function multiFetchPartHeadBytes(topicBytes: number): number {
  return PART_FIXED_BYTES + topicBytes;
}

/** The longest answer to a request, behind the length prefix: one payload may be larger than `maxBytes`, and is then the only one. */
export function multiFetchAnswerBytesMax({ maxBytes, partitions }: MultiFetchRequest): number {
  let bytes = RESPONSE_HEADER_BYTES + 4;
  let payloads = maxBytes;
  for (const position of partitions) {
    bytes += multiFetchPartHeadBytes(position.topic.length);
    payloads = Math.max(payloads, position.maxBytes);
  }
  return bytes + payloads;
}

/**
 * Writes the head of a response, {@link MULTI_FETCH_RESPONSE_HEAD_BYTES}; `partsBytes` is what follows it: the heads of all
 * partitions and their payloads. Returns its end.
 */
export function writeMultiFetchResponseHead(
  view: DataView,
  at: number,
  correlationId: number,
  count: number,
  partsBytes: number,
): number {
  const body = writeResponseHeader(view, at, 4 + partsBytes, correlationId, ErrorCodes.NONE);
  view.setInt32(body, count);
  return body + 4;
}

/** A partition's answer without its name and payload. One instance is filled again for each. */
export class MultiFetchPart {
  partition = 0;
  error: ErrorCode = ErrorCodes.NONE;
  epoch = UNKNOWN;
  epochStart = UNKNOWN;
  logStartOffset = UNKNOWN;
  highWatermark = UNKNOWN;
  logEndOffset = UNKNOWN;
  payloadBytes = 0;
}

/** Writes a partition's answer up to its payload, which follows as a file slice. Returns its end. */
export function writeMultiFetchPartHead(view: DataView, at: number, topic: Uint8Array, part: MultiFetchPart): number {
  view.setUint16(at, topic.length);
  let to = at + 2;
  for (let i = 0; i < topic.length; i++) view.setUint8(to++, topic[i]);
  view.setInt32(to, part.partition);
  view.setInt16(to + 4, part.error);
  view.setInt32(to + 6, part.epoch);
  putInt64(view, to + 10, part.epochStart);
  putInt64(view, to + 18, part.logStartOffset);
  putInt64(view, to + 26, part.highWatermark);
  putInt64(view, to + 34, part.logEndOffset);
  view.setInt32(to + 42, part.payloadBytes);
  return to + 46;
}

export interface MultiFetchResult {
  readonly topic: string;
  readonly partition: PartitionId;
  /** A number from the wire: 0, or one that `errorRow` may know. */
  readonly error: number;
  /** −1 in this and the next four: not known, because the partition is not there or not open. */
  readonly epoch: number;
  readonly epochStart: Offset;
  readonly logStartOffset: Offset;
  readonly highWatermark: Offset;
  readonly logEndOffset: Offset;
  /** Where the payload lies in the bytes that were decoded. */
  readonly payloadFrom: number;
  readonly payloadBytes: number;
}

/** Throws BAD_RESPONSE. */
export function decodeMultiFetchResponse(view: DataView, from: number, end: number): MultiFetchResult[] {
  return decodeResponse("FETCH v3", view, from, end, (reader) => {
    const results: MultiFetchResult[] = [];
    const count = reader.count(multiFetchPartHeadBytes(1));
    for (let i = 0; i < count && reader.ok; i++) results.push(readResult(reader));
    return results;
  });
}

function readResult(reader: Reader): MultiFetchResult {
  const topic = reader.topicName();
  const partition = partitionId(reader.int32());
  const error = reader.int16();
  const epoch = reader.int32();
  const epochStart = offset(reader.int64());
  const logStartOffset = offset(reader.int64());
  const highWatermark = offset(reader.int64());
  const logEndOffset = offset(reader.int64());
  const payloadBytes = reader.int32();
  const payloadFrom = reader.skip(payloadBytes);
  const ordered = UNKNOWN <= logStartOffset && logStartOffset <= highWatermark && highWatermark <= logEndOffset;
  if (partition < 0 || error < 0 || epoch < UNKNOWN || epochStart < UNKNOWN || !ordered) reader.fail();
  if (error === ErrorCodes.NONE ? logStartOffset < 0 : payloadBytes !== 0) reader.fail();
  return {
    topic,
    partition,
    error,
    epoch,
    epochStart,
    logStartOffset,
    highWatermark,
    logEndOffset,
    payloadFrom,
    payloadBytes,
  };
}
