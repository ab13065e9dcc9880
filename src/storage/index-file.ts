// The `.index` file of a sealed segment: its layout, and both directions. It must not know when one is written or trusted.
//
//   0   u32  magic "MRIX"
//   4   u32  version
//   8   u32  CRC-32C of the header from byte 12 on
//   12  u32  CRC-32C of everything behind the header
//   16  f64  base offset
//   24  f64  records in the segment
//   32  f64  size of the segment in bytes
//   40  f64  entries
//   48  f64  wall-clock time of the first append, 0 = unknown
//   56  f64  wall-clock time of the last append, 0 = empty
//   64  f64  modification time that the segment was given when it was closed cleanly, in whole seconds; 0 = none
//   72       entries × f64 append time
//            entries × u32 offset relative to the base
//            entries × u32 position
//
// Little-endian, unlike the log: nobody but us reads it, and it is searched as it lies in memory. Two sums, because a start
// reads only the 72 bytes of each header: half a megabyte for each segment would make it grow with the bytes stored. What
// follows the header is checked when it is first needed.

import { OFFSET_MAX, SEGMENT_BYTES_MAX } from "../model/limits.js";
import { native } from "../native/binding.js";
import { INDEX_ENTRY_BYTES, OffsetIndex } from "./offset-index.js";

const MAGIC = 0x5849524d;
const VERSION = 1;
export const INDEX_HEADER_BYTES = 72;
const SUMMED_FROM = 12;

export interface IndexHeader {
  readonly baseOffset: number;
  readonly records: number;
  readonly segmentBytes: number;
  readonly entries: number;
  readonly firstAppendMs: number;
  readonly lastAppendMs: number;
  readonly closedMtimeSeconds: number;
  readonly bodySum: number;
}

export type HeaderOutcome = { readonly header: IndexHeader } | { readonly problem: string };

export function encodeIndex(header: Omit<IndexHeader, "entries" | "bodySum">, index: OffsetIndex): Uint8Array {
  const { times, offsets, positions } = index.columns();
  const entries = index.count;
  const file = new Uint8Array(INDEX_HEADER_BYTES + entries * INDEX_ENTRY_BYTES);
  new Float64Array(file.buffer, INDEX_HEADER_BYTES, entries).set(times);
  new Uint32Array(file.buffer, INDEX_HEADER_BYTES + entries * 8, entries).set(offsets);
  new Uint32Array(file.buffer, INDEX_HEADER_BYTES + entries * 12, entries).set(positions);
  const view = new DataView(file.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, VERSION, true);
  view.setUint32(12, native.crc32c(file.subarray(INDEX_HEADER_BYTES)), true);
  view.setFloat64(16, header.baseOffset, true);
  view.setFloat64(24, header.records, true);
  view.setFloat64(32, header.segmentBytes, true);
  view.setFloat64(40, entries, true);
  view.setFloat64(48, header.firstAppendMs, true);
  view.setFloat64(56, header.lastAppendMs, true);
  view.setFloat64(64, header.closedMtimeSeconds, true);
  view.setUint32(8, native.crc32c(file.subarray(SUMMED_FROM, INDEX_HEADER_BYTES)), true);
  return file;
}

/** Reads a header. `fileBytes` is the size of the `.index` file, `segmentBytes` that of the segment beside it. */
export function decodeIndexHeader(
  bytes: Uint8Array,
  baseOffset: number,
  fileBytes: number,
  segmentBytes: number,
): HeaderOutcome {
  if (bytes.length < INDEX_HEADER_BYTES)
    return { problem: `it has ${fileBytes} bytes, a header has ${INDEX_HEADER_BYTES}` };
  const view = new DataView(bytes.buffer, bytes.byteOffset, INDEX_HEADER_BYTES);
  if (view.getUint32(0, true) !== MAGIC) return { problem: "it does not begin as an index does" };
  const version = view.getUint32(4, true);
  if (version !== VERSION) return { problem: `it has version ${version}, this is for version ${VERSION}` };
  if (view.getUint32(8, true) !== native.crc32c(bytes.subarray(SUMMED_FROM, INDEX_HEADER_BYTES))) {
    return { problem: "its header does not match its sum" };
  }
  const header: IndexHeader = {
    bodySum: view.getUint32(12, true),
    baseOffset: view.getFloat64(16, true),
    records: view.getFloat64(24, true),
    segmentBytes: view.getFloat64(32, true),
    entries: view.getFloat64(40, true),
    firstAppendMs: view.getFloat64(48, true),
    lastAppendMs: view.getFloat64(56, true),
    closedMtimeSeconds: view.getFloat64(64, true),
  };
  if (header.baseOffset !== baseOffset) return { problem: `it is of the segment at ${header.baseOffset}` };
  if (header.segmentBytes !== segmentBytes) {
    return { problem: `it is of a segment of ${header.segmentBytes} bytes, the file has ${segmentBytes}` };
  }
  // The sum says that we wrote this; the bounds are looked at nevertheless, because they size what is read next.
  const sane =
    header.records >= 0 &&
    Number.isInteger(header.records) &&
    header.records <= SEGMENT_BYTES_MAX &&
    baseOffset + header.records <= OFFSET_MAX &&
    Number.isInteger(header.entries) &&
    header.entries >= 0 &&
    fileBytes === INDEX_HEADER_BYTES + header.entries * INDEX_ENTRY_BYTES;
  return sane ? { header } : { problem: "its figures contradict each other" };
}

/** The index in a whole file whose header was decoded, or undefined when it does not match its sum. The file's memory is used as it is. */
export function decodeIndexBody(file: Uint8Array, header: IndexHeader): OffsetIndex | undefined {
  const entries = header.entries;
  if (file.length !== INDEX_HEADER_BYTES + entries * INDEX_ENTRY_BYTES) return undefined;
  if (native.crc32c(file.subarray(INDEX_HEADER_BYTES)) !== header.bodySum) return undefined;
  const from = file.byteOffset + INDEX_HEADER_BYTES;
  return new OffsetIndex(
    new Float64Array(file.buffer, from, entries),
    new Uint32Array(file.buffer, from + entries * 8, entries),
    new Uint32Array(file.buffer, from + entries * 12, entries),
    entries,
  );
}
