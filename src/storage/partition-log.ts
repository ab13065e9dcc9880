// One partition on disk: what the layers above see of storage. It puts the parts together and decides nothing itself.
//
//   Appender   room, rows of a turn, roll            Reader   from offsets to bytes of files
//   Forcer     barriers, the durable offset          Keeper   `.index` files, checkpoint, retention
//
// All state belongs to the event loop; appends come from one caller, the partition's writer.

import type { MillraceError } from "../model/errors.js";
import { type Offset, offset as offsetOf } from "../model/ids.js";
import type { RecordFormat } from "../model/record-format.js";
import type { DirectoryLock } from "../native/binding.js";
import type { AppendTurn } from "./append-turn.js";
import { Appender } from "./appender.js";
import { currentEpoch, currentEpochStart, type EpochEntry, truncatedAt } from "./epochs.js";
import { Forcer } from "./forcer.js";
import { Keeper } from "./keeper.js";
import type { PartitionOptions, StorageDeps } from "./options.js";
import { type OpenedPartition, openPartition } from "./partition-opening.js";
import type { PartitionState } from "./partition-state.js";
import type { ReadPlan } from "./read-plan.js";
import { Reader } from "./reader.js";
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
  /** Wall-clock times of its first and its last append; 0 for an empty segment, or where it is not known. */
  readonly firstAppendMs: number;
  readonly lastAppendMs: number;
}

export class PartitionLog {
  readonly dir: string;
  readonly recordFormat: RecordFormat;
  readonly recovery: RecoveryReport;
  /** The largest payload that fits an empty segment. */
  readonly maxRecordBytes: number;
  /** What an empty segment holds, as stored. A larger batch is for `appendSpanning`. */
  readonly segmentBytes: number;

  readonly #state: PartitionState;
  readonly #lock: DirectoryLock;
  readonly #forcer: Forcer;
  readonly #keeper: Keeper;
  readonly #appender: Appender;
  readonly #reader: Reader;
  #closing: Promise<void> | undefined;

  private constructor({ state, report, lock }: OpenedPartition) {
    this.dir = state.dir;
    this.recordFormat = state.format.name;
    this.recovery = report;
    this.segmentBytes = state.options.segmentBytes;
    this.maxRecordBytes = this.segmentBytes - state.format.headerBytes;
    this.#state = state;
    this.#lock = lock;
    this.#keeper = new Keeper(state);
    this.#forcer = new Forcer(state, (segment) => this.#keeper.sealed(segment));
    this.#appender = new Appender(state, this.#forcer, this.#keeper);
    this.#reader = new Reader(state);
  }

  /**
   * Takes `<dir>/.lock`, makes the partition or recovers it. Rejects PARTITION_IN_USE, PARTITION_DAMAGED (file, position and
   * offset in the message), BAD_CONFIG (another record format than the partition's), STORAGE_FAILURE.
   */
  static async open(dir: string, options: PartitionOptions, deps: StorageDeps): Promise<PartitionLog> {
    return new PartitionLog(await openPartition(dir, options, deps));
  }

  get logStartOffset(): Offset {
    return offsetOf(this.#state.list.startOffset);
  }
  /** Written. */
  get logEndOffset(): Offset {
    return offsetOf(this.#state.logEndOffset);
  }
  /** Forced. */
  get durableOffset(): Offset {
    return offsetOf(this.#state.durable.offset);
  }
  get epoch(): number {
    return currentEpoch(this.#state.epochs);
  }
  get epochStart(): Offset {
    return offsetOf(currentEpochStart(this.#state.epochs));
  }
  /** Later epochs, oldest first, as far as an answer can need them. */
  get epochs(): readonly EpochEntry[] {
    return this.#state.epochs;
  }
  /** Where the log was cut below an offset since a reader's epoch, or undefined: nothing that such a reader saw is gone. */
  truncatedAt(epoch: number, offset: number): Offset | undefined {
    const start = truncatedAt(this.#state.epochs, epoch, offset);
    return start === undefined ? undefined : offsetOf(start);
  }

  storedBytes(regionBytes: number, records: number): number {
    return this.#appender.storedBytes(regionBytes, records);
  }
  /**
   * Stored bytes that can be written now. Rows of this partition that wait in a turn count as written; once the turn has
   * run, those that were refused do not.
   */
  room(): number {
    return this.#appender.room();
  }
  /**
   * Makes room: reserves the next window, or rolls. Rejects LOG_FULL (nothing has changed), STORAGE_FAILURE, CLOSED. Only
   * for what fits an empty segment, and not while rows of this partition wait in a turn that has not run.
   */
  makeRoom(storedBytes: number): Promise<void> {
    return this.#appender.makeRoom(storedBytes);
  }
  /** Adds a batch to a turn; only what fits `room()`. Returns its row. */
  addTo(turn: AppendTurn, source: Uint8Array, offset: number, bytes: number, records: number): number {
    return this.#appender.addTo(turn, source, offset, bytes, records);
  }
  /**
   * After `turn.run()`, for this partition's rows in their order, also those that failed: index entries, then the log's end,
   * last. Returns the base offset, or −1 when the row's status is not OK (IO_ERROR has poisoned the partition then).
   */
  accept(turn: AppendTurn, row: number): Offset {
    return offsetOf(this.#appender.accept(turn, row));
  }
  /**
   * A batch that does not fit one segment: checked, all its room reserved, written by one native call, published at once.
   * `source` must stay as it is until it settles. Rejects RECORD_TOO_LARGE, CORRUPT_REQUEST, LOG_FULL, STORAGE_FAILURE.
   */
  async appendSpanning(source: Uint8Array, offset: number, bytes: number, records: number): Promise<Offset> {
    return offsetOf(await this.#appender.appendSpanning(source, offset, bytes, records));
  }
  /** Forces what is written when it is called. A failure poisons. Resolves to `durableOffset`. */
  async force(): Promise<Offset> {
    return offsetOf(await this.#forcer.force());
  }
  /** Something should be done soon: call `upkeep` (without waiting for it before the next append). */
  get needsUpkeep(): boolean {
    return this.#appender.needsUpkeep;
  }
  /**
   * Reserves and prepares ahead, rolls by age, moves the populate window; starts to seal, and to write the checkpoint, when
   * that is due, and does not wait for it. Never rejects.
   */
  async upkeep(): Promise<void> {
    if (this.#state.poisoned !== undefined || this.#state.closed) return;
    this.#forcer.upkeep();
    this.#keeper.upkeep();
    await this.#appender.upkeep();
  }
  get poisoned(): MillraceError | undefined {
    return this.#state.poisoned;
  }
  poison(cause: unknown): void {
    this.#state.poison(cause);
  }

  /** Fills `plan` for a read from one segment: at most `maxBytes`, never above `ceiling`. Pure; no I/O. */
  plan(offset: number, maxBytes: number, ceiling: number, plan: ReadPlan): void {
    this.#reader.plan(offset, maxBytes, ceiling, plan);
  }
  /** Brings in what `plan` lacked for this offset. Rejects STORAGE_FAILURE when it cannot be read. */
  load(offset: number): Promise<void> {
    return this.#reader.load(offset);
  }
  /** Where the active segment begins: it moves with every roll. */
  get activeBaseOffset(): Offset {
    return offsetOf(this.#state.list.active.baseOffset);
  }
  /** Whether the offset lies in the active segment, or at its end. */
  isActive(offset: number): boolean {
    return offset >= this.#state.list.active.baseOffset;
  }
  /** Bytes of log between two offsets; −1 when that takes I/O (`load` both). */
  bytesBetween(from: number, to: number): number {
    return this.#reader.bytesBetween(from, to);
  }
  /** How far the log has been written, in bytes from a beginning that lies somewhere at its opening: only differences count. */
  get writtenBytes(): number {
    const { active } = this.#state.list;
    return active.bytesBefore + active.bytes;
  }
  /** How far it has been forced, in the same count. */
  get durableBytes(): number {
    const { segment, position } = this.#state.durable;
    return segment.bytesBefore + position;
  }
  /** The fewest bytes that a record takes as stored. */
  get recordBytesMin(): number {
    return this.#state.format.headerBytes + 1;
  }
  /** Where to start reading for records of that time on (LIST_OFFSETS); undefined when all is older. */
  offsetAtTime(ms: number): Promise<{ readonly offset: Offset; readonly timestampMs: number } | undefined> {
    return this.#reader.offsetAtTime(ms);
  }

  /** Bytes of records in all segments. */
  get bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#state.list.all) sum += bytes;
    return sum;
  }
  get segmentCount(): number {
    return this.#state.list.all.length;
  }

  segments(): readonly SegmentInfo[] {
    return this.#state.list.all.map((segment) => ({
      baseOffset: offsetOf(segment.baseOffset),
      endOffset: offsetOf(segment.endOffset),
      bytes: segment.bytes,
      allocatedBytes: segment.writer?.file.allocatedBytes() ?? segment.allocatedBytes,
      sealed: segment.indexed,
      firstAppendMs: segment.bytes === 0 ? 0 : segment.firstAppendMs,
      lastAppendMs: segment.bytes === 0 ? 0 : segment.lastAppendMs,
    }));
  }

  /**
   * Removes what retention lets go, whole segments, oldest first, never the active one. Resolves to how many. Rejects
   * STORAGE_FAILURE when one of them cannot be forced before.
   */
  applyRetention(): Promise<number> {
    return this.#keeper.applyRetention((last) => this.#forcer.sealUpTo(last));
  }

  /** Resolves when what was started in the background (seals, indexes, the checkpoint) has ended. */
  async settled(): Promise<void> {
    await this.#appender.idle();
    await this.#forcer.idle();
    await this.#keeper.idle();
  }

  /**
   * Forces, seals, writes the checkpoint: the start after it costs nothing that grows with the bytes stored. Idempotent.
   * Rejects STORAGE_FAILURE when the last barrier fails; everything is let go all the same.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const state = this.#state;
    state.closed = true;
    try {
      await this.#appender.close();
      if (state.poisoned === undefined) {
        await this.#forcer.sealAll();
        await this.#keeper.closeCleanly();
      }
    } finally {
      await this.#forcer.abandonAll();
      await this.#keeper.idle();
      for (const segment of state.list.all) {
        segment.removed = true;
        state.deps.indexCache.forget(segment);
        state.deps.files.forget(segment);
      }
      this.#lock.release();
    }
  }
}
