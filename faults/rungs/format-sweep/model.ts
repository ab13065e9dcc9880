// What must come of a partition's files, worked out a second time from docs/storage-format.md alone: slowly, from bytes in memory, and sharing nothing
// with the product but the sum's polynomial.

import type { RecordFormat } from "../../../src/model/record-format.js";
import { crc32c } from "../../../src/protocol/crc32c.js";
import { baseOf, type KeptFile, logsOf, type Snapshot } from "./snapshot.js";

export interface WalkedSegment {
  /** Where each record begins. */
  readonly positions: readonly number[];
  readonly end: number;
}

const headerOf = (format: RecordFormat): number => (format === "plain" ? 4 : 8);

export function walkSegment(bytes: Uint8Array, format: RecordFormat): WalkedSegment {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const header = headerOf(format);
  const positions: number[] = [];
  let at = 0;
  while (at + header <= bytes.length) {
    const length = view.getInt32(at);
    const end = at + header + length;
    if (length < 1 || end > bytes.length) break;
    if (format === "crc32c" && view.getUint32(at + 4) !== crc32c(view, at + header, end)) break;
    positions.push(at);
    at = end;
  }
  return { positions, end: at };
}

export function payloadsOfSegment(bytes: Uint8Array, format: RecordFormat): Uint8Array[] {
  const { positions, end } = walkSegment(bytes, format);
  const header = headerOf(format);
  return positions.map((at, index) => bytes.subarray(at + header, positions[index + 1] ?? end));
}

export interface CheckpointClaim {
  readonly sequence: number;
  readonly durableOffset: number;
  readonly segmentBase: number;
  readonly position: number;
}

const SLOT_BYTES = 4096;
const SLOTS = 2;

/** The same file, its newer slot with another position and the sum of that. */
export function withPlace(bytes: Uint8Array, position: number): Uint8Array {
  const changed = Uint8Array.from(bytes);
  const slots = [0, SLOT_BYTES].map((from) => changed.subarray(from, from + SLOT_BYTES));
  const sequences = slots.map((slot) => readCheckpoint({ bytes: slot, mtime: 0 })?.sequence ?? -1);
  const newer = slots[sequences[1] > sequences[0] ? 1 : 0];
  const view = new DataView(newer.buffer, newer.byteOffset, newer.length);
  view.setUint32(40, position);
  view.setUint32(4, crc32c(view, 8, view.getUint32(8)));
  return changed;
}

/** The newer of the whole slots of a checkpoint file. */
export function readCheckpoint(file: KeptFile | undefined): CheckpointClaim | undefined {
  if (file === undefined) return undefined;
  let newest: CheckpointClaim | undefined;
  for (let slot = 0; slot < SLOTS; slot++) {
    const bytes = file.bytes.subarray(slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES);
    if (bytes.length < 72) continue;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const used = view.getUint32(8);
    if (view.getUint32(0) !== 0x4d524350 || used > bytes.length || view.getUint32(4) !== crc32c(view, 8, used))
      continue;
    const sequence = Number(view.getBigUint64(16));
    if (newest !== undefined && sequence <= newest.sequence) continue;
    newest = {
      sequence,
      durableOffset: Number(view.getBigUint64(24)),
      segmentBase: Number(view.getBigUint64(32)),
      position: view.getUint32(40),
    };
  }
  return newest;
}

export const indexOf = (log: string): string => log.replace(/\.log$/, ".index");

/** Whether a segment counts as sealed: its index is there and says its size. A damaged index does not. */
export function isSealed(snapshot: Snapshot, log: string): boolean {
  const index = snapshot.get(indexOf(log))?.bytes;
  if (index === undefined || index.length < 72) return false;
  const view = new DataView(index.buffer, index.byteOffset, index.length);
  return view.getFloat64(32, true) === snapshot.get(log)?.bytes.length;
}

export interface Modelled {
  /** The log ends here if every segment is read. */
  readonly end: number;
  /** Two segments claim one offset. */
  readonly overlaps: boolean;
}

/** Follows the segments as far as they adjoin. */
export function modelLog(snapshot: Snapshot, format: RecordFormat): Modelled {
  const logs = logsOf(snapshot);
  let end = logs.length === 0 ? 0 : baseOf(logs[0]);
  for (const log of logs) {
    if (baseOf(log) > end) return { end, overlaps: false };
    if (baseOf(log) < end) return { end, overlaps: true };
    end += walkSegment(snapshot.get(log)!.bytes, format).positions.length;
  }
  return { end, overlaps: false };
}
