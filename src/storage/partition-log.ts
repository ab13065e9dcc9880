// Signatures first; the class follows.
import type { MillraceError } from "../model/errors.js";
import type { Offset } from "../model/ids.js";
import type { RecordFormat } from "../model/record-format.js";
import type { AppendTurn } from "./append-turn.js";
import type { PartitionOptions, StorageDeps } from "./options.js";
import type { ReadPlan } from "./read-plan.js";
import type { RecoveryReport } from "./recovery-report.js";

export interface SegmentInfo {
  readonly baseOffset: Offset;
  readonly endOffset: Offset;
  /** Bytes of records. */
  readonly bytes: number;
  /** Blocks used on the disk, in bytes. */
  readonly allocatedBytes: number;
  /** It has its `.index`. */
  readonly sealed: boolean;
  /** Wall-clock time of the last append; 0 for an empty segment. */
  readonly lastAppendMs: number;
}

/** One later epoch: a recovery cut records, and the log went on from `start`. */
export interface EpochEntry {
  readonly epoch: number;
  readonly start: Offset;
}

export declare class PartitionLog {
  /**
   * Takes `<dir>/.lock`, makes the partition or recovers it. Rejects PARTITION_IN_USE, PARTITION_DAMAGED (file, position and
   * offset in the message), BAD_CONFIG (another record format than the partition's), STORAGE_FAILURE.
   */
  static open(dir: string, options: PartitionOptions, deps: StorageDeps): Promise<PartitionLog>;

  readonly dir: string;
  readonly recordFormat: RecordFormat;
  readonly recovery: RecoveryReport;
  get logStartOffset(): Offset;
  /** Written. */
  get logEndOffset(): Offset;
  /** Forced. */
  get durableOffset(): Offset;
  get epoch(): number;
  get epochStart(): Offset;
  /** Later epochs, oldest first, as far as they are remembered. */
  get epochs(): readonly EpochEntry[];
  /** The largest payload that fits an empty segment. */
  get maxRecordBytes(): number;
  /** What an empty segment holds, as stored. A larger batch is for `appendSpanning`. */
  get segmentBytes(): number;

  storedBytes(regionBytes: number, records: number): number;
  /**
   * Stored bytes that can be written now. Rows of this partition that wait in a turn count as written; once the turn has
   * run, those that were refused do not.
   */
  room(): number;
  /**
   * Makes room: reserves the next window, or rolls. Rejects LOG_FULL (nothing has changed), STORAGE_FAILURE, CLOSED. Only
   * for what fits an empty segment, and not while rows of this partition wait in a turn that has not run.
   */
  makeRoom(storedBytes: number): Promise<void>;
  /** Adds a batch to a turn; only what fits `room()`. Returns its row. */
  addTo(turn: AppendTurn, source: Uint8Array, offset: number, bytes: number, records: number): number;
  /**
   * After `turn.run()`, for this partition's rows in their order, also those that failed: index entries, then the log's end,
   * last. Returns the base offset, or −1 when the row's status is not OK (IO_ERROR has poisoned the partition then).
   */
  accept(turn: AppendTurn, row: number): Offset;
  /**
   * A batch that does not fit one segment: checked, all its room reserved, written by one native call, published at once.
   * `source` must stay as it is until it settles. Rejects RECORD_TOO_LARGE, CORRUPT_REQUEST, LOG_FULL, STORAGE_FAILURE.
   */
  appendSpanning(source: Uint8Array, offset: number, bytes: number, records: number): Promise<Offset>;
  /** Forces what is written when it is called. One at a time. A failure poisons. Resolves to `durableOffset`. */
  force(): Promise<Offset>;
  /** Something should be done soon: call `upkeep` (without waiting for it before the next append). */
  get needsUpkeep(): boolean;
  /** Reserves and prepares ahead, seals, rolls by age, moves the populate window, writes the checkpoint when due. Never rejects. */
  upkeep(): Promise<void>;
  get poisoned(): MillraceError | undefined;
  poison(cause: unknown): void;

  plan(offset: number, maxBytes: number, ceiling: Offset, plan: ReadPlan): void;
  /** Brings in what `plan` lacked for this offset. */
  load(offset: number): Promise<void>;
  /** Whether the offset lies in the active segment, or at its end. */
  isActive(offset: number): boolean;
  /** Bytes of log between two offsets; −1 when that takes I/O (`load` both). */
  bytesBetween(from: Offset, to: Offset): number;
  /** Where to start reading for records of that time on (LIST_OFFSETS); undefined when all is older. */
  offsetAtTime(ms: number): Promise<{ readonly offset: Offset; readonly timestampMs: number } | undefined>;
  segments(): readonly SegmentInfo[];

  /** Removes what retention lets go, whole sealed segments, oldest first. Resolves to how many. */
  applyRetention(): Promise<number>;
  /** Forces, seals, writes the checkpoint: the start after it costs nothing that grows with the bytes stored. Idempotent. */
  close(): Promise<void>;
}
