// What a read will do: which bytes of which file. Filled by PartitionLog.plan(), reused by its caller so that planning
// makes no object. It must not know what is done with the bytes.

import type { NativeFile } from "../native/binding.js";

export const ReadOutcome = {
  /** `file`, `position` and `bytes` (at least 1) say what to send. */
  DATA: 0,
  /** At the ceiling, or between it and the log's end: nothing to read yet. */
  EMPTY: 1,
  /** Outside `[logStartOffset, logEndOffset]`. */
  OUT_OF_RANGE: 2,
  /** An index, a descriptor or a page is not in memory: await `load(offset)` and plan again. */
  NEEDS_IO: 3,
  /** The partition is poisoned and the offset lies at or above what is durable. */
  STORAGE_FAILURE: 4,
} as const;
export type ReadOutcome = (typeof ReadOutcome)[keyof typeof ReadOutcome];

export class ReadPlan {
  outcome: ReadOutcome = ReadOutcome.EMPTY;
  /**
   * With DATA. It may be closed by the pool once control has gone back to the event loop: hand it to the addon (a slice, a
   * read) in the same step; what was handed over is finished in any case, also when the segment is removed meanwhile.
   */
  file: NativeFile | undefined = undefined;
  position = 0;
  bytes = 0;
}
