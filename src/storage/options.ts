// What a partition's storage is told, and what it is given to work with. Everything that several partitions share (clock,
// caches, the room on the disk) is passed in, so that a bound holds for all of them together and a test can replace it.
// It must not know settings' names, defaults or where they came from: that is ops/.

import type { Clock } from "../model/clock.js";
import type { RecordFormat } from "../model/record-format.js";
import type { SegmentModeId } from "../native/binding.js";
import type { DiskSpace } from "./disk-space.js";
import type { StorageEvent } from "./events.js";
import type { FilePool } from "./file-pool.js";
import type { IndexCache } from "./index-cache.js";
import type { PopulateBudget } from "./populate-window.js";

export type SegmentMode = keyof typeof SegmentModeId;

export interface PartitionOptions {
  /** The write path. It may change between two openings. */
  readonly mode: SegmentMode;
  /** What a segment may hold, in bytes as stored. */
  readonly segmentBytes: number;
  /** Undefined: an existing partition keeps its own, a new one gets `crc32c`. One that differs from the partition's is a refusal. */
  readonly recordFormat?: RecordFormat | undefined;
  /** An index entry for each so many bytes of log. */
  readonly indexIntervalBytes: number;
  /** A segment whose first record is older than this is rolled, so that retention by time works on a slow topic. */
  readonly segmentRollMs?: number | undefined;
  readonly retentionBytes?: number | undefined;
  /** By the age of a segment's last append. */
  readonly retentionMs?: number | undefined;
}

export interface StorageDeps {
  readonly clock: Clock;
  /** Offset indexes of sealed segments, shared by all partitions. */
  readonly indexCache: IndexCache;
  /** Descriptors of sealed segments, shared by all partitions. */
  readonly files: FilePool;
  readonly space: DiskSpace;
  /** What all partitions together may have populated ahead of their writers. */
  readonly populate: PopulateBudget;
  /** What an operator should read. Never called for each append. */
  readonly log: (event: StorageEvent) => void;
  /** Names this boot of the machine; undefined where the system has no name for it. Tests pass another one to be "after a power cut". */
  readonly bootId?: string | undefined;
}
