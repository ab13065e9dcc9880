// What the writer needs of a partition's storage and of the append call. `PartitionLog` and `AppendTurn` of storage/ are
// these; tests put others in their place, so that a failing barrier or a full disk is one call away. Must not know how
// records lie in a file.

import type { Offset } from "../model/ids.js";
import type { AppendStatus } from "../native/binding.js";

/** One native call for many batches of many partitions. */
export interface AppendTable {
  readonly maxRows: number;
  readonly rows: number;
  readonly full: boolean;
  run(): void;
  reset(): void;
  status(row: number): AppendStatus;
  errno(row: number): number;
}

/** One partition's storage, as its only writer sees it. */
export interface AppendTarget {
  readonly logStartOffset: Offset;
  readonly logEndOffset: Offset;
  readonly durableOffset: Offset;
  /** Where the active segment begins. */
  readonly activeBaseOffset: Offset;
  /** What an empty segment holds, as stored. */
  readonly segmentBytes: number;
  readonly poisoned: Error | undefined;
  /** Whether `upkeep` has something to do that should not wait for the next tick (the active segment is nearly full). */
  readonly needsUpkeep: boolean;

  storedBytes(regionBytes: number, records: number): number;
  /** Stored bytes that can be written now. */
  room(): number;
  /** Rejects LOG_FULL when there is none. Only for what fits an empty segment, and without rows in a turn. */
  makeRoom(storedBytes: number): Promise<void>;
  /** Only what fits `room()`. */
  addTo(turn: AppendTable, source: Uint8Array, offset: number, bytes: number, records: number): number;
  /** For each row, in order: index entries, then the log end, last. −1 when the row failed. */
  accept(turn: AppendTable, row: number): Offset;
  /** For what does not fit a segment. `source` must stay as it is until it settles. */
  appendSpanning(source: Uint8Array, offset: number, bytes: number, records: number): Promise<Offset>;
  force(): Promise<Offset>;
  /** Appends may go on meanwhile; makeRoom and appendSpanning wait for it. */
  upkeep(): Promise<void>;
  poison(cause: unknown): void;
  close(): Promise<void>;
}
