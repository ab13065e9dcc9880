// The typed face of files and segment writers: what `native/wrap/` makes of `native/core/`. Types and numbers alone, and
// nothing of offsets, partitions or sockets: a file knows positions, a segment writer where its records end.

export const SegmentModeId = { FILE_CHANNEL: 0, MAPPED: 1 } as const;
export type SegmentModeId = (typeof SegmentModeId)[keyof typeof SegmentModeId];
export const RecordFormatId = { plain: 0, crc32c: 1 } as const;
export type RecordFormatId = (typeof RecordFormatId)[keyof typeof RecordFormatId];

/** Why a scan ended. */
export const ScanStop = {
  /** The limit was reached at a record boundary. */
  END: 0,
  /** A zero length prefix. */
  ZERO_PREFIX: 1,
  /** A header or body that goes beyond the limit. */
  TORN: 2,
  /** A negative length. */
  BAD_LENGTH: 3,
  /** `crc32c` only: the sum does not match the payload. */
  BAD_SUM: 4,
} as const;
export type ScanStop = (typeof ScanStop)[keyof typeof ScanStop];

export interface ScanResult {
  readonly stop: ScanStop;
  /** Whole, matching records from the start on. */
  readonly records: number;
  /** The position behind the last of them. */
  readonly end: number;
  /** Bytes from `end` to the last byte that is not zero: 0 when nothing was cut. */
  readonly tailBytes: number;
  /** (record counted from the start, position) for each index interval, as pairs. */
  readonly index: Uint32Array;
}

/**
 * An open file of a partition. It is shared: slices in output queues hold it, and its descriptor closes when the last of
 * them is done, so removing a segment never disturbs a reader.
 */
export interface NativeFile {
  readonly path: string;
  readonly isOpen: boolean;
  /** The file's size in bytes now (fstat). */
  size(): number;
  /** Blocks used on the disk, in bytes (fstat). */
  allocatedBytes(): number;
  /** Reads at a position, at once. For start-up, tools and pages known to be in the cache. Returns the bytes read. */
  read(into: Uint8Array, position: number): number;
  /** The same on a reading thread. */
  readAsync(into: Uint8Array, position: number): Promise<number>;
  /** Writes at a position and, with `sync`, `fdatasync`s; on a maintenance thread. */
  write(bytes: Uint8Array, position: number, sync: boolean): Promise<void>;
  /**
   * The position after `records` records from `from`, by their length prefixes, never beyond `limit`.
   * −1: `limit` comes first. −2: pages are not in the cache, use {@link walkAsync}. `likelyBytes`: what they take about, and
   * 0 when nobody knows; no more than that is read at first.
   */
  walk(format: RecordFormatId, from: number, records: number, limit: number, likelyBytes: number): number;
  walkAsync(format: RecordFormatId, from: number, records: number, limit: number): Promise<number>;
  /** Checks structure and, in `crc32c`, every sum of `[from, limit)`; on a maintenance thread. */
  scan(format: RecordFormatId, from: number, limit: number, indexIntervalBytes: number): Promise<ScanResult>;
  /** `fsync` (on macOS `F_FULLFSYNC`); on a barrier thread. */
  sync(): Promise<void>;
  /** Drops cached pages from a position on, so that the next read sees the disk; on a maintenance thread. */
  dropCache(from: number): Promise<void>;
  truncate(size: number): Promise<void>;
  /** Gives up this reference. Idempotent. */
  close(): void;
}

export interface SegmentWriterOptions {
  readonly path: string;
  readonly mode: SegmentModeId;
  readonly format: RecordFormatId;
  /** What the segment may hold, in bytes; with MAPPED the file's size while it is active. */
  readonly capacity: number;
  readonly indexIntervalBytes: number;
  /** Blocks to reserve at once, in bytes from the start (at most `capacity`). */
  readonly reserve: number;
  /** Leaves forcing the creation to the first barrier or the seal: for a segment that is filled fast. False when it is left out. */
  readonly forceLater?: boolean;
}

/** The writing end of an active segment. All appends come from one thread; the barrier runs on another beside them. */
export interface NativeSegmentWriter {
  /** For `AppendColumn.WRITER`. */
  readonly id: number;
  /** The same file for reading; stays open after `seal` and `close` until it is closed itself. */
  readonly file: NativeFile;
  /** Written up to here, in bytes. */
  readonly end: number;
  /** Blocks are reserved up to here. An append beyond it is NO_ROOM. */
  readonly reserved: number;
  /**
   * Reserves blocks up to `upTo` (clamped to the capacity) on a maintenance thread; resolves to `reserved`. ENOSPC rejects.
   * With `filled` (false when it is left out) MAPPED fills them with zeros first, so that their pages are in the cache; that
   * gives way to a reservation without, and to the end, and then less is reserved than was asked for.
   */
  reserve(upTo: number, filled?: boolean): Promise<number>;
  /** Asks the populating thread to fault pages in up to `upTo`; MAPPED only, a hint, returns at once. */
  populate(upTo: number): void;
  /**
   * Forces everything that was written when it was called; resolves to that end. Barriers of one writer run one after the
   * other; with nothing new to force none is issued. Creating a segment forces it; the first barrier after opening one, or
   * after a creation with `forceLater`, is an `fsync`, the others force what was written since the last. A failure breaks the writer: it is never tried again and
   * called good. After a few small ones in a row MAPPED has the blocks ahead written once, which halves the next ones.
   */
  barrier(): Promise<number>;
  /** Renames the file, on a maintenance thread (a prepared segment gets its name at the roll). */
  rename(path: string): Promise<void>;
  /**
   * Cuts to the records, unmaps and forces all of it. The writer cannot be used afterwards; when this fails, only `close` is
   * left. Resolves to the final size.
   */
  seal(): Promise<number>;
  /** As `seal` without the barrier: for a broken writer, or when the caller has just forced. */
  close(): Promise<void>;
}
