// Names of the files in a partition's directory, and nothing about what is in them.
//
//   <base offset, 20 digits>.log               records
//   <base offset, 20 digits>.index             of a sealed segment
//   <base offset, 20 digits>.log.<position>.torn   what a recovery or a repair moved away, from that position on; with a number
//                                              before `.torn` when something else had the name already
//   next.tmp, next-<n>.tmp                     prepared segments that have no offset yet
//   .lock, partition.json, checkpoint
//
// Twenty digits hold every uint64, so names sort as offsets do and `ls` shows the log in its order.

import { OFFSET_MAX } from "../model/limits.js";

export const LOCK_FILE = ".lock";
export const META_FILE = "partition.json";
export const CHECKPOINT_FILE = "checkpoint";

const OFFSET_DIGITS = 20;

const digits = (offset: number): string => String(offset).padStart(OFFSET_DIGITS, "0");
export const logName = (baseOffset: number): string => `${digits(baseOffset)}.log`;
export const indexName = (baseOffset: number): string => `${digits(baseOffset)}.index`;
/** A batch that spans segments prepares several; the first has the plain name. */
export const nextName = (number: number): string => (number === 0 ? "next.tmp" : `next-${number}.tmp`);
export const tornName = (baseOffset: number, position: number, attempt: number): string =>
  `${logName(baseOffset)}.${position}${attempt === 0 ? "" : `.${attempt}`}.torn`;

export type PartitionFile =
  | { readonly kind: "log" | "index"; readonly baseOffset: number }
  /** Ours, and of no use after a crash: prepared segments, files that were being replaced. */
  | { readonly kind: "leftover" }
  /** Ours, and in place: the lock, partition.json, the checkpoint, what was moved away. */
  | { readonly kind: "own" }
  | { readonly kind: "foreign" };

const SEGMENT_FILE = /^(\d{20})\.(log|index)$/;
const TORN_FILE = /^\d{20}\.log\.\d+(\.\d+)?\.torn$/;
const LEFTOVER = /^(next(-\d+)?|\d{20}\.index|partition\.json|checkpoint|\d{20}\.log\.\d+(\.\d+)?\.torn)\.tmp$/;

/** What a file is, by its name. A number that no offset can have is a foreign file. */
export function classifyFile(name: string): PartitionFile {
  const segment = SEGMENT_FILE.exec(name);
  if (segment !== null) {
    const baseOffset = Number(segment[1]);
    if (baseOffset > OFFSET_MAX) return { kind: "foreign" };
    return { kind: segment[2] as "log" | "index", baseOffset };
  }
  if (name === LOCK_FILE || name === META_FILE || name === CHECKPOINT_FILE || TORN_FILE.test(name))
    return { kind: "own" };
  return { kind: LEFTOVER.test(name) ? "leftover" : "foreign" };
}
