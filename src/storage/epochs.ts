// Epochs of a partition: a number that goes up whenever a recovery cut records, and where the log went on then. A reader
// that says under which epoch it got its position learns whether what it read before is still there. Pure.
//
// Kept is what an answer can need: the lowest start of all epochs later than a reader's. An entry whose start is not below
// that of a later one is never that lowest start of anybody, so starts ascend as epochs do, and the list is short.

import { EPOCHS_MAX } from "../model/limits.js";

export interface EpochEntry {
  readonly epoch: number;
  /** The offset at which it began. */
  readonly start: number;
}

export const currentEpoch = (entries: readonly EpochEntry[]): number => entries.at(-1)?.epoch ?? 0;
export const currentEpochStart = (entries: readonly EpochEntry[]): number => entries.at(-1)?.start ?? 0;

/** The entries after a recovery at whose end the log went on from `start`. */
export function raiseEpoch(entries: readonly EpochEntry[], start: number): readonly EpochEntry[] {
  const kept = entries.filter((entry) => entry.start < start);
  kept.push({ epoch: currentEpoch(entries) + 1, start });
  if (kept.length > EPOCHS_MAX) {
    // Two become one with the later number and the earlier start: a reader from long ago may be told without need that
    // records were cut, and never misses that they were.
    const [first, second, ...rest] = kept;
    return [{ epoch: second.epoch, start: first.start }, ...rest];
  }
  return kept;
}

/**
 * Where the log was cut below `offset` since `epoch`, or undefined: nothing that such a reader saw is gone. A reader that does
 * not know its epoch sends −1, and then nobody can tell.
 */
export function truncatedAt(entries: readonly EpochEntry[], epoch: number, offset: number): number | undefined {
  if (epoch < 0) return undefined;
  for (const entry of entries) if (entry.epoch > epoch) return entry.start < offset ? entry.start : undefined;
  return undefined;
}
