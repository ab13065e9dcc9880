// PRODUCE, apiKey 1
//
//   v1  string topic | int32 partition | int8 ackPolicy | int32 recordCount | recordCount × (int32 size | bytes payload)
//   v2  string topic | int32 partition | int8 ackPolicy | int64 expectedOffset | int32 recordCount | recordCount × …
//       → int64 baseOffset | int64 logEndOffset
//
// `expectedOffset` −1: any. Otherwise the batch is written only if it gets exactly that base offset. `recordCount > 0`, every `size > 0`. The records of one request get adjacent offsets. With ackPolicy 0 there is no
// response at all once that byte has been read, also none for an error.

import { AckPolicy } from "../model/ack-policy.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { type Offset, offset } from "../model/ids.js";
import { OFFSET_MAX } from "../model/limits.js";
import { isTopicNameAt } from "../model/topic-name.js";
import { RequestKind } from "./api-keys.js";
import { decodeResponse } from "./bad-response.js";
import {
  EMPTY_RESPONSE_BYTES,
  LENGTH_BYTES,
  REQUEST_HEADER_BYTES,
  writeRequestHeader,
  writeResponseHeader,
} from "./frame.js";
import { putInt64, readInt64 } from "./int64.js";
import { putTopic } from "./topic.js";

/** topic length, partition, ackPolicy, recordCount. */
const FIXED_BYTES = 2 + 4 + 1 + 4;
/** What v2 has more. */
const EXPECTED_BYTES = 8;
/** {@link ProduceHeader.expectedOffset}: whatever offset the batch gets. */
export const ANY_OFFSET = -1;
/** A record's size and its shortest payload. */
const RECORD_BYTES_MIN = 4 + 1;

/** {@link ProduceHeader.ack} when the body ends before that byte. */
export const ACK_NOT_READ = -1;

/** Where things are in a PRODUCE body. One instance is filled again for each request: no object, no string for each. */
export class ProduceHeader {
  topicFrom = 0;
  topicBytes = 0;
  partition = 0;
  /** The byte as it came, {@link ACK_NOT_READ} when it did not. 0: there is no response, whatever the decoder says. */
  ack: number = ACK_NOT_READ;
  /** {@link ANY_OFFSET}, or where the log must end. For what no log can end at: 2^53 − 1, which none does either. */
  expectedOffset: number = ANY_OFFSET;
  records = 0;
  /** The record region: `records × (int32 size | bytes)`. Its inside is checked by the append, in one native walk. */
  regionFrom = 0;
  regionBytes = 0;
}

/**
 * Checks all of a v1 body but the inside of the record region. `[from, end)` is the body. NONE or CORRUPT_REQUEST; in both cases
 * `into.ack` says whether there is a response.
 *
 * The ack byte is read before the topic's name and the partition are judged: a client that sent ackPolicy 0 counts on no
 * response, and one to a bad name would be taken for the answer to its next request.
 */
export function decodeProduce(view: DataView, from: number, end: number, into: ProduceHeader): ErrorCode {
  into.expectedOffset = ANY_OFFSET;
  return decode(view, from, end, into, 0);
}

/** The same for v2. */
export function decodeProduceV2(view: DataView, from: number, end: number, into: ProduceHeader): ErrorCode {
  const error = decode(view, from, end, into, EXPECTED_BYTES);
  if (error !== ErrorCodes.NONE) return error;
  const expected = readInt64(view, into.regionFrom - 4 - EXPECTED_BYTES);
  into.expectedOffset = expected >= ANY_OFFSET ? expected : OFFSET_MAX;
  return error;
}

/** `between`: bytes between the ack byte and the count of records. */
function decode(view: DataView, from: number, end: number, into: ProduceHeader, between: number): ErrorCode {
  into.ack = ACK_NOT_READ;
  if (end - from < 2) return ErrorCodes.CORRUPT_REQUEST;
  const topicBytes = view.getUint16(from);
  const topicFrom = from + 2;
  const ackAt = topicFrom + topicBytes + 4;
  if (ackAt >= end) return ErrorCodes.CORRUPT_REQUEST;
  into.ack = view.getInt8(ackAt);
  const regionFrom = ackAt + 5 + between;
  if (regionFrom > end) return ErrorCodes.CORRUPT_REQUEST;
  const partition = view.getInt32(ackAt - 4);
  const records = view.getInt32(regionFrom - 4);
  const regionBytes = end - regionFrom;
  into.topicFrom = topicFrom;
  into.topicBytes = topicBytes;
  into.partition = partition;
  into.records = records;
  into.regionFrom = regionFrom;
  into.regionBytes = regionBytes;
  if (partition < 0 || records <= 0 || records > regionBytes / RECORD_BYTES_MIN) return ErrorCodes.CORRUPT_REQUEST;
  if (into.ack < AckPolicy.NONE || into.ack > AckPolicy.FORCED) return ErrorCodes.CORRUPT_REQUEST;
  return isTopicNameAt(view, topicFrom, topicBytes) ? ErrorCodes.NONE : ErrorCodes.CORRUPT_REQUEST;
}

/** Size of a whole v1 request frame, for a topic name that has been checked (so that its length is its bytes). */
export function produceRequestBytes(topic: string, regionBytes: number): number {
  return LENGTH_BYTES + REQUEST_HEADER_BYTES + FIXED_BYTES + topic.length + regionBytes;
}

/** The same for v2. */
export function produceV2RequestBytes(topic: string, regionBytes: number): number {
  return produceRequestBytes(topic, regionBytes) + EXPECTED_BYTES;
}

/** Writes everything of a v1 request up to the record region, which the caller puts behind it. Returns where that begins. */
export function writeProduceRequest(
  view: DataView,
  at: number,
  correlationId: number,
  topic: string,
  partition: number,
  ack: AckPolicy,
  records: number,
  regionBytes: number,
): number {
  const bodyBytes = FIXED_BYTES + topic.length + regionBytes;
  let to = writeRequestHeader(view, at, bodyBytes, RequestKind.PRODUCE_V1, correlationId);
  to = putTopic(view, to, topic);
  view.setInt32(to, partition);
  view.setInt8(to + 4, ack);
  view.setInt32(to + 5, records);
  return to + 9;
}

/** The same for v2. */
export function writeProduceV2Request(
  view: DataView,
  at: number,
  correlationId: number,
  topic: string,
  partition: number,
  ack: AckPolicy,
  expectedOffset: number,
  records: number,
  regionBytes: number,
): number {
  const bodyBytes = FIXED_BYTES + EXPECTED_BYTES + topic.length + regionBytes;
  let to = writeRequestHeader(view, at, bodyBytes, RequestKind.PRODUCE_V2, correlationId);
  to = putTopic(view, to, topic);
  view.setInt32(to, partition);
  view.setInt8(to + 4, ack);
  putInt64(view, to + 5, expectedOffset);
  view.setInt32(to + 13, records);
  return to + 17;
}

const RESPONSE_BODY_BYTES = 16;
/** Size of a whole response frame. */
export const PRODUCE_RESPONSE_BYTES = EMPTY_RESPONSE_BYTES + RESPONSE_BODY_BYTES;

/** Writes a whole response, {@link PRODUCE_RESPONSE_BYTES} long. Returns its end. */
export function writeProduceResponse(
  view: DataView,
  at: number,
  correlationId: number,
  baseOffset: number,
  logEndOffset: number,
): number {
  const body = writeResponseHeader(view, at, RESPONSE_BODY_BYTES, correlationId, ErrorCodes.NONE);
  putInt64(view, body, baseOffset);
  putInt64(view, body + 8, logEndOffset);
  return body + RESPONSE_BODY_BYTES;
}

export interface ProduceResult {
  /** The offset of the batch's first record; the others follow without a gap. */
  readonly baseOffset: Offset;
  readonly logEndOffset: Offset;
}

/** Both versions. Throws BAD_RESPONSE. */
export function decodeProduceResponse(view: DataView, from: number, end: number): ProduceResult {
  return decodeResponse("PRODUCE", view, from, end, (reader) => {
    const baseOffset = offset(reader.int64());
    const logEndOffset = offset(reader.int64());
    if (baseOffset < 0 || logEndOffset <= baseOffset) reader.fail();
    return { baseOffset, logEndOffset };
  });
}
