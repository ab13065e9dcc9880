// Records as producers send them and as they lie on disk, written and read by hand: a second opinion on the addon's.

import type { RecordFormat } from "../../../src/model/record-format.js";
import { native } from "../../../src/native/binding.js";

export const headerBytes = (format: RecordFormat): number => (format === "plain" ? 4 : 8);

/** `count × (int32 size | payload)`. */
export function region(payloads: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(payloads.reduce((sum, { length }) => sum + 4 + length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const payload of payloads) {
    view.setInt32(at, payload.length);
    bytes.set(payload, at + 4);
    at += 4 + payload.length;
  }
  return bytes;
}

/** A record as it lies in a segment. */
export function stored(payload: Uint8Array, format: RecordFormat): Uint8Array {
  const bytes = new Uint8Array(headerBytes(format) + payload.length);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, payload.length);
  if (format === "crc32c") view.setUint32(4, native.crc32c(payload));
  bytes.set(payload, headerBytes(format));
  return bytes;
}

/** The whole records in stored bytes, or the first few. Throws when a sum does not match. */
export function recordsIn(bytes: Uint8Array, format: RecordFormat, most = Number.POSITIVE_INFINITY): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const header = headerBytes(format);
  const payloads: Uint8Array[] = [];
  for (let at = 0; at + header <= bytes.length && payloads.length < most; ) {
    const length = view.getInt32(at);
    if (length <= 0) throw new Error(`length ${length} at ${at}`);
    if (at + header + length > bytes.length) break;
    const payload = bytes.subarray(at + header, at + header + length);
    if (format === "crc32c" && view.getUint32(at + 4) !== native.crc32c(payload)) throw new Error(`sum at ${at}`);
    payloads.push(payload);
    at += header + length;
  }
  return payloads;
}

/** A payload that tells which record it is, of any size from 1 on. */
export function payload(number: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at++) bytes[at] = (number * 31 + at * 7 + 1) & 0xff;
  return bytes;
}

export const payloads = (from: number, count: number, size: number): Uint8Array[] =>
  Array.from({ length: count }, (_, at) => payload(from + at, size));
