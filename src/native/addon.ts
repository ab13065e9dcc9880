// What the addon exports, as a type. It is loaded in binding.ts alone.

import type { RegionMeasure } from "./append-table.js";
import type { NativeFile, NativeSegmentWriter, RecordFormatId, SegmentWriterOptions } from "./segment-files.js";
import type { NativeSelector, SelectorOptions } from "./selector.js";

/** Held until `release`, and no longer than the object lives: when it is collected the lock goes, so its owner keeps it. */
export interface DirectoryLock {
  release(): void;
}

export interface NativeAddon {
  /** "linux-x64" or the like, as compiled. */
  readonly platform: string;
  /** Which CRC-32C runs here: "avx512" (with VPCLMULQDQ), "sse4.2", "armv8", "armv8-chain" (without PMULL) or "table". */
  readonly crc32cKind: string;
  /** For tests: which implementations this processor can run. */
  readonly crc32cKinds: readonly string[];
  /** CRC-32C (Castagnoli) of a payload. `kind` picks an implementation, for tests. */
  crc32c(bytes: Uint8Array, kind?: string): number;
  /** The numbers of `native/core/abi.h`, for the test that compares them. */
  abi(): Record<string, Record<string, number>>;

  openFile(path: string, options: { writable: boolean; create?: boolean }): Promise<NativeFile>;
  /** Creates the file (it must not exist), sized and reserved. */
  createSegmentWriter(options: SegmentWriterOptions): Promise<NativeSegmentWriter>;
  /**
   * Opens an existing segment whose records end at `end`. The file is cut there first and, for MAPPED, extended again, so
   * that no stale byte can come back as a record. On a full disk it opens with nothing reserved (`reserved` is `end`).
   */
  openSegmentWriter(options: SegmentWriterOptions & { end: number }): Promise<NativeSegmentWriter>;
  /**
   * Appends `rows` batches, in order, in one call: the only copy between socket and log. Checks each region before a byte
   * of it is written. Returns how many rows of `indexOut` were filled (an entry for a batch that starts an index interval,
   * and for each interval inside it; when `indexOut` is full the rest is left out, which is correct, only sparser).
   * The sources must not change meanwhile: where another thread does that to a SharedArrayBuffer nothing outside of them is
   * touched, but what is stored is nonsense, or the writer is broken (EINVAL).
   */
  append(table: Int32Array, rows: number, sources: readonly Uint8Array[], indexOut: Uint32Array): number;
  /** Checks a record region and measures how much of it fits `room` stored bytes. `maxPayload` bounds one record. */
  measureRegion(
    source: Uint8Array,
    offset: number,
    bytes: number,
    records: number,
    format: RecordFormatId,
    room: number,
    maxPayload: number,
  ): RegionMeasure;
  /**
   * Walks over the records of `bytes` from `from` on, verifying sums: writes where each payload begins and ends into `ranges`, at most
   * `room` records, and what it found into `walked`, by `WalkColumn` of model/record-walk.ts. `bytes` may have 2³¹ − 1 at most.
   */
  walkRecords(
    bytes: Uint8Array,
    from: number,
    format: RecordFormatId,
    maxPayload: number,
    ranges: Uint32Array,
    room: number,
    walked: Uint32Array,
  ): void;

  renameFile(from: string, to: string): Promise<void>;
  unlinkFile(path: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
  /** Temporary file, fsync, rename, fsync of the directory. */
  replaceFile(path: string, bytes: Uint8Array): Promise<void>;
  /** Bytes free for this process on the file system of `path` (statvfs), on a maintenance thread. */
  freeBytes(path: string): Promise<number>;
  /** Takes `path` with flock and writes the pid into it. Throws with code "ELOCKED" and `pid` when somebody holds it. */
  lockFile(path: string): DirectoryLock;
  /** True when `path` is on a file system that lives in memory. */
  isMemoryFileSystem(path: string): boolean;
  /** The limit of open files of this process. */
  openFilesLimit(): number;
  /** How many barriers have really been issued by this process's addon (fsync, fdatasync, msync with MS_SYNC). */
  barrierCount(): number;

  /**
   * How many threads the pools may have. What waits already gets new ones at once; threads that run stay. Defaults: barriers 8,
   * reads 4, maintenance 2.
   */
  configurePools(options: { barriers?: number; reads?: number; maintenance?: number }): void;

  readonly Selector: new (
    options: SelectorOptions,
    onTurn: (frames: number, opened: number, closed: number) => void,
  ) => NativeSelector;
}
