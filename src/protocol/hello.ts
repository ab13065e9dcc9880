// HELLO, apiKey 4, v1
//
//   (empty) → string brokerName | string brokerVersion | int32 maxFrameBytes | int32 maxFetchWaitMillis
//           | int32 count | count × (int16 apiKey | int16 minVersion | int16 maxVersion)
//
// The client asks once for each connection. UNSUPPORTED_VERSION means a broker that speaks OLDEST_VERSIONS (api-keys.ts).

import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { RequestKind, type VersionRange } from "./api-keys.js";
import { decodeResponse } from "./bad-response.js";
import { LENGTH_BYTES } from "./frame.js";
import { Writer } from "./writer.js";

export interface HelloResult {
  readonly brokerName: string;
  readonly brokerVersion: string;
  readonly maxFrameBytes: number;
  readonly maxFetchWaitMillis: number;
  readonly versions: readonly VersionRange[];
}

/** The body `[from, end)` is empty. NONE or CORRUPT_REQUEST. */
export function decodeHello(_view: DataView, from: number, end: number): ErrorCode {
  return from === end ? ErrorCodes.NONE : ErrorCodes.CORRUPT_REQUEST;
}

/** A whole request frame. */
export function encodeHelloRequest(correlationId: number): Uint8Array {
  return new Writer(12).int32(8).int32(RequestKind.HELLO_V1).int32(correlationId).finish();
}

/** A whole response frame. */
export function encodeHelloResponse(correlationId: number, hello: HelloResult): Uint8Array {
  const writer = new Writer();
  writer.int32(0).int32(correlationId).int16(ErrorCodes.NONE);
  writer.string(hello.brokerName).string(hello.brokerVersion);
  writer.int32(hello.maxFrameBytes).int32(hello.maxFetchWaitMillis).int32(hello.versions.length);
  for (const range of hello.versions) writer.int16(range.apiKey).int16(range.minVersion).int16(range.maxVersion);
  writer.patchInt32(0, writer.length - LENGTH_BYTES);
  return writer.finish();
}

/** Throws BAD_RESPONSE. */
export function decodeHelloResponse(view: DataView, from: number, end: number): HelloResult {
  return decodeResponse("HELLO v1", view, from, end, (reader) => {
    const brokerName = reader.string();
    const brokerVersion = reader.string();
    const maxFrameBytes = reader.int32();
    const maxFetchWaitMillis = reader.int32();
    const versions: VersionRange[] = [];
    const count = reader.count(6);
    for (let i = 0; i < count && reader.ok; i++) {
      versions.push({ apiKey: reader.int16(), minVersion: reader.int16(), maxVersion: reader.int16() });
    }
    if (maxFrameBytes <= 0 || maxFetchWaitMillis < 0) reader.fail();
    return { brokerName, brokerVersion, maxFrameBytes, maxFetchWaitMillis, versions };
  });
}
