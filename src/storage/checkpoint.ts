// One slot of the `checkpoint` file: its layout, both directions, and which of two counts. Pure; the file is checkpoint-file.ts.
//
//   0   u32  magic "MRCP"
//   4   u32  CRC-32C of [8, bytes)
//   8   u32  bytes from 0 on that are used
//   12  u32  version; all that stands before it is the same in every version, so that a newer one is told from a damaged one
//   16  u64  sequence: of two whole slots the higher one counts
//   24  u64  durable offset
//   32  u64  base offset of the segment it lies in
//   40  u32  position in that segment
//   44  u32  number of epochs
//   48  u64  log start offset: segments wholly below it are what retention did not get to remove
//   56  16 bytes  boot of the machine in which the log was last opened for writing; zeros = unknown
//   72       epochs × (u32 epoch | u64 start)
//
// Big-endian. A slot has a block of the file for itself, so that a torn write of one leaves the other.

import { EPOCHS_MAX, OFFSET_MAX, SEGMENT_BYTES_MAX } from "../model/limits.js";
import { native } from "../native/binding.js";
import type { EpochEntry } from "./epochs.js";

const MAGIC = 0x4d524350;
const VERSION = 1;
const SUMMED_FROM = 8;
const HEADER_BYTES = 72;
const EPOCH_BYTES = 12;
const BOOT_BYTES = 16;
/** A block of the page cache and of every disk's sectors. */
export const SLOT_BYTES = 4096;
export const SLOTS = 2;

export interface Checkpoint {
  /** Everything below was durable, in this segment and at this position. */
  readonly durableOffset: number;
  readonly segmentBase: number;
  readonly position: number;
  readonly logStartOffset: number;
  /** 32 hexadecimal digits, or empty. */
  readonly bootId: string;
  readonly epochs: readonly EpochEntry[];
}

export interface Slot {
  readonly sequence: number;
  readonly checkpoint: Checkpoint;
}

export function encodeSlot(sequence: number, checkpoint: Checkpoint): Uint8Array {
  const bytes = new Uint8Array(SLOT_BYTES);
  const view = new DataView(bytes.buffer);
  const used = HEADER_BYTES + checkpoint.epochs.length * EPOCH_BYTES;
  view.setUint32(0, MAGIC);
  view.setUint32(12, VERSION);
  view.setUint32(8, used);
  view.setBigUint64(16, BigInt(sequence));
  view.setBigUint64(24, BigInt(checkpoint.durableOffset));
  view.setBigUint64(32, BigInt(checkpoint.segmentBase));
  view.setUint32(40, checkpoint.position);
  view.setUint32(44, checkpoint.epochs.length);
  view.setBigUint64(48, BigInt(checkpoint.logStartOffset));
  for (let at = 0; at < checkpoint.bootId.length / 2; at++) {
    bytes[56 + at] = Number.parseInt(checkpoint.bootId.slice(at * 2, at * 2 + 2), 16);
  }
  checkpoint.epochs.forEach((entry, at) => {
    view.setUint32(HEADER_BYTES + at * EPOCH_BYTES, entry.epoch);
    view.setBigUint64(HEADER_BYTES + at * EPOCH_BYTES + 4, BigInt(entry.start));
  });
  view.setUint32(4, native.crc32c(bytes.subarray(SUMMED_FROM, used)));
  return bytes;
}

/** "newer": whole, but of a version this broker does not know. Undefined: empty, torn or damaged. */
export function decodeSlot(bytes: Uint8Array): Slot | "newer" | undefined {
  if (bytes.length < SLOT_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, SLOT_BYTES);
  const used = view.getUint32(8);
  if (view.getUint32(0) !== MAGIC || used < HEADER_BYTES || used > SLOT_BYTES) return undefined;
  if (view.getUint32(4) !== native.crc32c(bytes.subarray(SUMMED_FROM, used))) return undefined;
  if (view.getUint32(12) !== VERSION) return "newer";
  const count = view.getUint32(44);
  if (count > EPOCHS_MAX || used !== HEADER_BYTES + count * EPOCH_BYTES) return undefined;
  const epochs: EpochEntry[] = [];
  for (let at = HEADER_BYTES; at < used; at += EPOCH_BYTES) {
    epochs.push({ epoch: view.getUint32(at), start: Number(view.getBigUint64(at + 4)) });
  }
  const boot = Array.from(bytes.subarray(56, 56 + BOOT_BYTES), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const checkpoint: Checkpoint = {
    durableOffset: Number(view.getBigUint64(24)),
    segmentBase: Number(view.getBigUint64(32)),
    position: view.getUint32(40),
    logStartOffset: Number(view.getBigUint64(48)),
    bootId: /^0*$/.test(boot) ? "" : boot,
    epochs,
  };
  const sane =
    checkpoint.durableOffset <= OFFSET_MAX &&
    checkpoint.segmentBase <= checkpoint.durableOffset &&
    checkpoint.logStartOffset <= checkpoint.segmentBase &&
    checkpoint.position <= SEGMENT_BYTES_MAX;
  return sane ? { sequence: Number(view.getBigUint64(16)), checkpoint } : undefined;
}

/** A boot's name as the checkpoint keeps it: the hexadecimal digits of a UUID. */
export function bootDigits(bootId: string | undefined): string {
  const digits = (bootId ?? "").toLowerCase().replaceAll("-", "");
  return /^[0-9a-f]{32}$/.test(digits) ? digits : "";
}
