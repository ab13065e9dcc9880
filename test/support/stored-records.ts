// Records as they lie in a segment, for brokers that are played by a test. Written apart from src/ on purpose: a codec that is
// only tested against itself agrees with itself.

import type { RecordFormat } from "../../src/model/record-format.js";
import { concat, int32 } from "./bytes.js";

function sum(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** The records one after the other, as a segment has them; no more of them than make `bytesMax` bytes, the last one whole. */
export function storedRecords(
  format: RecordFormat,
  payloads: readonly Uint8Array[],
  bytesMax = Number.POSITIVE_INFINITY,
): Uint8Array {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (const payload of payloads) {
    if (bytes >= bytesMax) break;
    const header = format === "plain" ? [int32(payload.length)] : [int32(payload.length), int32(sum(payload))];
    parts.push(...header, payload);
    bytes += payload.length + 4 * header.length;
  }
  return concat(parts);
}
