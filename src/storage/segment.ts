// One segment as the log knows it. Data only: who writes, forces, reads and removes it is elsewhere.
//
//   active, no writer ──► active, writer ──► retired ──► forced ──► sealed ──► removed
//     (after a start,       (first append)     (roll)     (barrier,   (.index     (retention)
//      nothing appended)                                   cut)        written)
//
// Its index is in memory while it has no `.index`; then it is the cache's. Its file is the writer's while it has one; then it
// is the pool's. Both may be undefined at any other time.

import type { NativeFile, NativeSegmentWriter } from "../native/binding.js";
import type { FileHolder } from "./file-pool.js";
import type { IndexHolder } from "./index-cache.js";
import type { OffsetIndex } from "./offset-index.js";

export class Segment implements IndexHolder, FileHolder {
  /** The offset behind its last record. */
  endOffset: number;
  /** Bytes of records; the position behind the last one. */
  bytes = 0;
  /** Bytes of the log since its opening that lie in segments before this one; what was there at the opening counts nothing. */
  bytesBefore = 0;
  /** Wall-clock times; 0 while empty or unknown. */
  firstAppendMs = 0;
  lastAppendMs = 0;
  /** Blocks on the disk when that was last looked at. */
  allocatedBytes = 0;
  /** When it was rolled; 0 while it is the active one. */
  rolledMs = 0;
  /** A valid `.index` lies beside it. */
  indexed = false;
  /** No longer of an open log: retention took it, or the log was closed. Nothing of it is brought into memory any more. */
  removed = false;
  writer: NativeSegmentWriter | undefined = undefined;
  /** Index and file are on their way into memory. */
  loading: Promise<void> | undefined = undefined;

  index: OffsetIndex | undefined = undefined;
  indexTick = 0;
  file: NativeFile | undefined = undefined;
  fileTick = 0;

  constructor(
    readonly baseOffset: number,
    readonly path: string,
  ) {
    this.endOffset = baseOffset;
  }
}
