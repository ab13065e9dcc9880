// FETCH, apiKey 2, of one partition. Several in one request: fetch-multi.ts.
//
//   v1  string topic | int32 partition | int64 fetchOffset | int32 maxBytes
//   v2  string topic | int32 partition | int64 fetchOffset | int32 maxBytes | int32 maxWaitMillis | int32 minBytes
//       → int64 highWatermark | int32 payloadBytes | payload
//
// `maxBytes > 0`, the others `>= 0`, `minBytes <= maxBytes`. `payload` is the records from fetchOffset on as they lie in the segment: it ends on a
// byte boundary, at the latest at maxBytes. What is inside it is records.ts.

import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { type Offset, offset } from "../model/ids.js";
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
import { putInt64, readOffset } from "./int64.js";
import { putTopic } from "./topic.js";

/** topic length, partition, fetchOffset, maxBytes. */
const FIXED_BYTES = 2 + 4 + 8 + 4;
/** maxWaitMillis and minBytes: what v2 has behind a v1 body. */
const WAIT_BYTES = 4 + 4;

/** What a FETCH asks. One instance is filled again for each request. */
export class FetchHeader {
  topicFrom = 0;
  topicBytes = 0;
  partition = 0;
  /** 2^53 − 1 for anything above it: no log ends there. */
  fetchOffset = 0;
  maxBytes = 0;
  /** As it was asked; the broker has a limit. 0 in v1: it answers at once. */
  maxWaitMillis = 0;
  /** 0 and 1 both mean anything. */
  minBytes = 0;
}

/** Checks the whole v1 body, `[from, end)`. NONE or CORRUPT_REQUEST. */
export function decodeFetch(view: DataView, from: number, end: number, into: FetchHeader): ErrorCode {
  if (end - from < FIXED_BYTES) return ErrorCodes.CORRUPT_REQUEST;
  const topicBytes = view.getUint16(from);
  if (end - from !== FIXED_BYTES + topicBytes) return ErrorCodes.CORRUPT_REQUEST;
  const topicFrom = from + 2;
  const at = topicFrom + topicBytes;
  into.topicFrom = topicFrom;
  into.topicBytes = topicBytes;
  into.partition = view.getInt32(at);
  into.fetchOffset = readOffset(view, at + 4);
  into.maxBytes = view.getInt32(at + 12);
  into.maxWaitMillis = 0;
  into.minBytes = 0;
  if (into.partition < 0 || into.fetchOffset < 0 || into.maxBytes <= 0) return ErrorCodes.CORRUPT_REQUEST;
  return isTopicNameAt(view, topicFrom, topicBytes) ? ErrorCodes.NONE : ErrorCodes.CORRUPT_REQUEST;
}

/** The same for v2. */
export function decodeFetchV2(view: DataView, from: number, end: number, into: FetchHeader): ErrorCode {
  const waitFrom = end - WAIT_BYTES;
  const error = decodeFetch(view, from, waitFrom, into);
  if (error !== ErrorCodes.NONE) return error;
  into.maxWaitMillis = view.getInt32(waitFrom);
  into.minBytes = view.getInt32(waitFrom + 4);
  const sound = into.maxWaitMillis >= 0 && into.minBytes >= 0 && into.minBytes <= into.maxBytes;
  return sound ? ErrorCodes.NONE : ErrorCodes.CORRUPT_REQUEST;
}

/** Size of a whole v1 request frame, for a topic name that has been checked. */
export function fetchRequestBytes(topic: string): number {
  return LENGTH_BYTES + REQUEST_HEADER_BYTES + FIXED_BYTES + topic.length;
}

/** The same for v2. */
export function fetchV2RequestBytes(topic: string): number {
  return fetchRequestBytes(topic) + WAIT_BYTES;
}

/** Writes a whole v1 request. Returns its end. */
export function writeFetchRequest(
  view: DataView,
  at: number,
  correlationId: number,
  topic: string,
  partition: number,
  fetchOffset: number,
  maxBytes: number,
): number {
  const to = writeRequestHeader(view, at, FIXED_BYTES + topic.length, RequestKind.FETCH_V1, correlationId);
  return putBody(view, to, topic, partition, fetchOffset, maxBytes);
}

/** Writes a whole v2 request. Returns its end. */
export function writeFetchV2Request(
  view: DataView,
  at: number,
  correlationId: number,
  topic: string,
  partition: number,
  fetchOffset: number,
  maxBytes: number,
  maxWaitMillis: number,
  minBytes: number,
): number {
  const bodyBytes = FIXED_BYTES + topic.length + WAIT_BYTES;
  const body = writeRequestHeader(view, at, bodyBytes, RequestKind.FETCH_V2, correlationId);
  const to = putBody(view, body, topic, partition, fetchOffset, maxBytes);
  view.setInt32(to, maxWaitMillis);
  view.setInt32(to + 4, minBytes);
  return to + WAIT_BYTES;
}

function putBody(
  view: DataView,
  at: number,
  topic: string,
  partition: number,
  fetchOffset: number,
  maxBytes: number,
): number {
  const to = putTopic(view, at, topic);
  view.setInt32(to, partition);
  putInt64(view, to + 4, fetchOffset);
  view.setInt32(to + 12, maxBytes);
  return to + 16;
}

const RESPONSE_FIXED_BYTES = 8 + 4;
/** Everything of a response frame before its payload. */
export const FETCH_RESPONSE_HEAD_BYTES = EMPTY_RESPONSE_BYTES + RESPONSE_FIXED_BYTES;

/** Writes a response up to its payload, {@link FETCH_RESPONSE_HEAD_BYTES}; the payload follows as a file slice. Returns its end. */
export function writeFetchResponseHead(
  view: DataView,
  at: number,
  correlationId: number,
  highWatermark: number,
  payloadBytes: number,
): number {
  const body = writeResponseHeader(view, at, RESPONSE_FIXED_BYTES + payloadBytes, correlationId, ErrorCodes.NONE);
  putInt64(view, body, highWatermark);
  view.setInt32(body + 8, payloadBytes);
  return body + RESPONSE_FIXED_BYTES;
}

export interface FetchResult {
  readonly highWatermark: Offset;
  /** Where the payload lies in the bytes that were decoded. */
  readonly payloadFrom: number;
  readonly payloadBytes: number;
}

/** Both versions. Throws BAD_RESPONSE. */
export function decodeFetchResponse(view: DataView, from: number, end: number): FetchResult {
  return decodeResponse("FETCH", view, from, end, (reader) => {
    const highWatermark = offset(reader.int64());
    const payloadBytes = reader.int32();
    const payloadFrom = reader.skip(payloadBytes);
    if (highWatermark < 0) reader.fail();
    return { highWatermark, payloadFrom, payloadBytes };
  });
}
