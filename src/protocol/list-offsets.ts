// LIST_OFFSETS, apiKey 5, v1
//
//   string topic | int32 partition | int64 timestampMillis   (−2 earliest, −1 latest, else wall-clock time)
//   → int64 offset | int64 timestampMillis
//
// A start for reading from that time on: never too late, early by at most an index interval. Where all is older: the high
// watermark and −1. `earliest` is the log's start, `latest` the high watermark; both come with −1.

import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { type Offset, offset } from "../model/ids.js";
import { isTopicNameAt } from "../model/topic-name.js";
import { RequestKind } from "./api-keys.js";
import { decodeResponse } from "./bad-response.js";
import { EMPTY_RESPONSE_BYTES, REQUEST_HEADER_BYTES, writeResponseHeader } from "./frame.js";
import { putInt64, readInt64, readOffset } from "./int64.js";
import { Writer } from "./writer.js";

/** Instead of a time. */
export const ListedTime = { EARLIEST: -2, LATEST: -1 } as const;

/** topic length, partition, timestampMillis. */
const FIXED_BYTES = 2 + 4 + 8;

/** What a LIST_OFFSETS asks. One instance is filled again for each request. */
export class ListOffsetsHeader {
  topicFrom = 0;
  topicBytes = 0;
  partition = 0;
  /** One of {@link ListedTime}, or milliseconds since 1970; 2^53 − 1 for anything above it: nothing is that new. */
  timestampMs = 0;
}

/**
 * Checks the whole body, `[from, end)`. NONE or CORRUPT_REQUEST, the latter also for a time below −2: a later protocol may
 * give such a number a meaning, and its client must not take an answer to something else for one.
 */
export function decodeListOffsets(view: DataView, from: number, end: number, into: ListOffsetsHeader): ErrorCode {
  if (end - from < FIXED_BYTES) return ErrorCodes.CORRUPT_REQUEST;
  const topicBytes = view.getUint16(from);
  if (end - from !== FIXED_BYTES + topicBytes) return ErrorCodes.CORRUPT_REQUEST;
  const topicFrom = from + 2;
  const at = topicFrom + topicBytes;
  into.topicFrom = topicFrom;
  into.topicBytes = topicBytes;
  into.partition = view.getInt32(at);
  into.timestampMs = view.getInt32(at + 4) < 0 ? readInt64(view, at + 4) : readOffset(view, at + 4);
  if (into.partition < 0 || !(into.timestampMs >= ListedTime.EARLIEST)) return ErrorCodes.CORRUPT_REQUEST;
  return isTopicNameAt(view, topicFrom, topicBytes) ? ErrorCodes.NONE : ErrorCodes.CORRUPT_REQUEST;
}

/** A whole request frame, for a topic name that has been checked. */
export function encodeListOffsetsRequest(
  correlationId: number,
  topic: string,
  partition: number,
  timestampMs: number,
): Uint8Array {
  const writer = new Writer(64 + topic.length);
  writer.int32(REQUEST_HEADER_BYTES + FIXED_BYTES + topic.length);
  writer.int32(RequestKind.LIST_OFFSETS_V1).int32(correlationId);
  return writer.string(topic).int32(partition).int64(timestampMs).finish();
}

const RESPONSE_BODY_BYTES = 16;
/** Size of a whole response frame. */
export const LIST_OFFSETS_RESPONSE_BYTES = EMPTY_RESPONSE_BYTES + RESPONSE_BODY_BYTES;

/** Writes a whole response, {@link LIST_OFFSETS_RESPONSE_BYTES} long. Returns its end. */
export function writeListOffsetsResponse(
  view: DataView,
  at: number,
  correlationId: number,
  listedOffset: number,
  timestampMs: number,
): number {
  const body = writeResponseHeader(view, at, RESPONSE_BODY_BYTES, correlationId, ErrorCodes.NONE);
  putInt64(view, body, listedOffset);
  putInt64(view, body + 8, timestampMs);
  return body + RESPONSE_BODY_BYTES;
}

export interface ListOffsetsResult {
  readonly offset: Offset;
  /** −1: no record is that new, or none was asked for by time. */
  readonly timestampMs: number;
}

/** Throws BAD_RESPONSE. */
export function decodeListOffsetsResponse(view: DataView, from: number, end: number): ListOffsetsResult {
  return decodeResponse("LIST_OFFSETS v1", view, from, end, (reader) => {
    const listed = offset(reader.int64());
    const timestampMs = reader.int64();
    if (listed < 0 || timestampMs < -1) reader.fail();
    return { offset: listed, timestampMs };
  });
}
