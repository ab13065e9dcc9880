// The frame around every message. What is inside a body is the message's own file.
//
//   request:   int32 length | int16 apiKey | int16 apiVersion | int32 correlationId | body
//   response:  int32 length | int32 correlationId | int16 errorCode | body
//
// `length` counts what follows it. An error response has no body. Big-endian throughout.

import type { ErrorCode } from "../model/error-codes.js";

/** The length prefix itself. */
export const LENGTH_BYTES = 4;
/** apiKey, apiVersion, correlationId: a frame with fewer bytes behind its prefix is CORRUPT_REQUEST with correlation id 0. */
export const REQUEST_HEADER_BYTES = 8;
/** correlationId, errorCode. */
export const RESPONSE_HEADER_BYTES = 6;
/** A whole response without a body: what an error is. */
export const EMPTY_RESPONSE_BYTES = LENGTH_BYTES + RESPONSE_HEADER_BYTES;

/** The request's kind (see api-keys.ts) of the frame whose contents, behind the length prefix, begin at `from`. */
export function requestKindAt(view: DataView, from: number): number {
  return view.getInt32(from);
}

/** The correlation id of the frame whose contents, behind the length prefix, begin at `from`. */
export function correlationIdAt(view: DataView, from: number): number {
  return view.getInt32(from + 4);
}

/** Writes length and header of a response whose body has `bodyBytes`. Returns where the body begins. */
export function writeResponseHeader(
  view: DataView,
  at: number,
  bodyBytes: number,
  correlationId: number,
  error: ErrorCode,
): number {
  view.setInt32(at, RESPONSE_HEADER_BYTES + bodyBytes);
  view.setInt32(at + 4, correlationId);
  view.setInt16(at + 8, error);
  return at + EMPTY_RESPONSE_BYTES;
}

/** Writes a whole error response, {@link EMPTY_RESPONSE_BYTES} long. Returns its end. */
export function writeErrorResponse(view: DataView, at: number, correlationId: number, error: ErrorCode): number {
  return writeResponseHeader(view, at, 0, correlationId, error);
}

/** Writes length and header of a request whose body has `bodyBytes`. Returns where the body begins. */
export function writeRequestHeader(
  view: DataView,
  at: number,
  bodyBytes: number,
  kind: number,
  correlationId: number,
): number {
  view.setInt32(at, REQUEST_HEADER_BYTES + bodyBytes);
  view.setInt32(at + 4, kind);
  view.setInt32(at + 8, correlationId);
  return at + LENGTH_BYTES + REQUEST_HEADER_BYTES;
}
