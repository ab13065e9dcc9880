// The one place that loads the addon, and the typed face of everything it exports. TypeScript decides, C++ moves bytes:
// nothing here holds policy. Calls that return a value never block on a disk; whatever can block returns a promise and
// runs on the addon's own threads (pools for barriers, reads, maintenance and population; never libuv's).
//
// A failed system call is an `Error` with `code` ("ENOSPC"), `errno`, `syscall` and, where there is one, `path`.

import { loadAddon } from "./load.js";

/** Numbers that cross the boundary. `native/core/abi.h` has the same; a test compares them. */
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

/** Columns of a row of the append table (Int32Array, {@link APPEND_COLUMNS} wide). The first five go in, the rest come out. */
export const AppendColumn = {
  /** {@link NativeSegmentWriter.id}. */
  WRITER: 0,
  /** Which of `sources` holds the record region. */
  SOURCE: 1,
  /** Where the region `count × (int32 size | payload)` begins in it. */
  OFFSET: 2,
  /** The region's length in bytes. */
  BYTES: 3,
  /** How many records the request says it has. */
  RECORDS: 4,
  /** An {@link AppendStatus}. */
  STATUS: 5,
  /** The segment's end after this row, in bytes. Unchanged when the status is not OK. */
  END: 6,
  /** With IO_ERROR the errno, else 0. */
  ERRNO: 7,
} as const;
export const APPEND_COLUMNS = 8;

export const AppendStatus = {
  OK: 0,
  /** The region does not hold exactly `RECORDS` records of at least one byte. Nothing was written. */
  CORRUPT: 1,
  /** A record does not fit an empty segment of this capacity. Nothing was written. */
  TOO_LARGE: 2,
  /**
   * It does not fit between the end and the reserved blocks. Nothing was written; the caller reserves or rolls first. Every
   * later row of that writer in the same call gets it as well, so that no batch overtakes an earlier one.
   */
  NO_ROOM: 3,
  /** The write failed (FILE_CHANNEL). The writer is broken from here on: it refuses every later row with the same status. */
  IO_ERROR: 4,
} as const;
export type AppendStatus = (typeof AppendStatus)[keyof typeof AppendStatus];

/** A row of the index output of an append (Uint32Array): row of the append table, record inside that batch, position. */
export const INDEX_OUT_COLUMNS = 3;

/** Results of {@link NativeAddon.measureRegion}. */
export interface RegionMeasure {
  readonly status: AppendStatus;
  /** How many leading records fit `room` bytes as stored. */
  readonly records: number;
  /** How many bytes of the region they take. */
  readonly regionBytes: number;
  /** How many bytes they take as stored. */
  readonly storedBytes: number;
}

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
  /** For {@link AppendColumn.WRITER}. */
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

/** Columns of a row of the selector's frame table (Int32Array). Frames of one connection are adjacent and in order. */
export const FrameColumn = {
  CONNECTION: 0,
  /** Where the frame's contents begin in the arena: behind the length prefix. */
  OFFSET: 1,
  /** What the prefix said: bytes of contents, 1 … `maxFrameBytes`. */
  LENGTH: 2,
} as const;
export const FRAME_COLUMNS = 3;

/** Columns of a row of the flush table (Int32Array). Rows of one connection are adjacent and in the order of its answers. */
export const FlushColumn = {
  CONNECTION: 0,
  /** Bytes in the reply arena: where they begin and how many. May be none. */
  OFFSET: 1,
  LENGTH: 2,
  /** How many requests of this connection are done with this row (gives the connection room for as many new ones). */
  COMPLETED: 3,
  /** Index into `files` of a slice that follows the bytes, or −1. */
  FILE: 4,
  POSITION: 5,
  SLICE_BYTES: 6,
  /** So many bytes of the row, its last, begin the slice's answer; 0 when INSTEAD is. */
  HEAD: 7,
  /**
   * So many bytes behind the row's in the reply arena are sent instead of the whole answer when its slice cannot be read and
   * nothing of the answer has left. 0: then the connection is closed.
   */
  INSTEAD: 8,
  /** 1: all of the row belongs to the answer of the row before. */
  CONTINUES: 9,
} as const;
export const FLUSH_COLUMNS = 10;

/** Why a connection went away. */
export const CloseReason = {
  PEER: 0,
  BAD_FRAME_LENGTH: 1,
  FRAME_TIMEOUT: 2,
  WRITE_STALL: 3,
  IDLE: 4,
  SOCKET_ERROR: 5,
  LOCAL: 6,
  /** A slice's file ended before the slice did: somebody cut it behind our back. To be logged. */
  FILE_SHORT: 7,
  /** A slice's file could not be read (EIO). To be logged. */
  FILE_ERROR: 8,
  /**
   * No end: the peer sends nothing more (or nothing more of it can be taken), and requests of it are open. It may be gone or
   * may want its answers still; reported once, before its end.
   */
  INPUT_ENDED: 9,
  /** Reading was paused by `queuedBytesMax`, it held more than its part of it, and its peer took nothing. */
  SHED: 10,
} as const;
export type CloseReason = (typeof CloseReason)[keyof typeof CloseReason];

/** Slots of the shared counters (Float64Array). The selector writes all but EXTERNAL_QUEUED_BYTES, which TypeScript writes. */
export const SelectorCounter = {
  /** Bytes that TypeScript holds for later (batches that could not be written in their turn). Counts towards `queuedBytesMax`. */
  EXTERNAL_QUEUED_BYTES: 0,
  /** Memory that frames take which are being gathered or held back. */
  GATHERED_BYTES: 1,
  /** Bytes in output queues (file slices do not count). */
  OUTPUT_BYTES: 2,
  CONNECTIONS: 3,
  ACCEPTED: 4,
  BYTES_IN: 5,
  BYTES_OUT: 6,
  SENDFILE_CALLS: 7,
  SENDFILE_BYTES: 8,
  HEAP_BYTES: 9,
  /** Chunks of slices whose pages had to be read in by a worker first. */
  COLD_READS: 10,
  /** Times connections were paused because `queuedBytesMax`, or what gathered frames may take of it, was reached. */
  PAUSES: 11,
  /** Times the listener was disarmed for want of descriptors or because of `connectionsMax`. */
  LISTENER_PAUSES: 12,
  TURNS: 13,
  /** The longest turn, in microseconds. Reset by writing 0. */
  LONGEST_TURN_US: 14,
  /** Slices that could not be read when they were to be sent. */
  FILE_FAILURES: 15,
  /** Connections that were closed with {@link CloseReason} SHED. */
  SHED: 16,
} as const;
export const SELECTOR_COUNTERS = 17;

/** A slice that could not be read when it was to be sent. */
export interface FileFailure {
  readonly path: string;
  readonly position: number;
  /** What was still to be sent of it. */
  readonly bytes: number;
  /** Undefined: the file ended before it, since somebody cut it behind our back. */
  readonly error: Error | undefined;
  /** Part of its answer had left, so the connection is closed. Else the peer got what was to be sent instead. */
  readonly closes: boolean;
}

export interface SelectorOptions {
  /** Frames of a turn lie here. At least `maxFrameBytes + 4` and a turn's worth more. */
  readonly arena: Uint8Array;
  /** Replies are written here by TypeScript and sent by `flush`. */
  readonly replies: Uint8Array;
  /** Rows of {@link FRAME_COLUMNS}. */
  readonly frames: Int32Array;
  /** Connection ids that were accepted since the last turn. */
  readonly opened: Int32Array;
  /**
   * (connection, {@link CloseReason}) pairs. An id that was reported here is not used again before the next turn; after
   * INPUT_ENDED it is still in use.
   */
  readonly closed: Int32Array;
  /** Rows of {@link FLUSH_COLUMNS}. */
  readonly flushes: Int32Array;
  readonly counters: Float64Array;
  readonly maxFrameBytes: number;
  readonly connectionsMax: number;
  /** Frames of one connection that may be open (cut and not COMPLETED); at the bound it is not read. At most 65 536. */
  readonly requestsMax: number;
  /** What one connection may bring in and send in a turn. */
  readonly turnBytesIn: number;
  readonly turnBytesOut: number;
  readonly queuedBytesMax: number;
  readonly connectionQueuedBytesMax: number;
  readonly frameTimeoutMs: number;
  readonly writeStallMs: number;
  /** 0 = never. */
  readonly idleMs: number;
  /** false: slices are read into memory and sent (the heap path). */
  readonly zeroCopy: boolean;
}

/**
 * All sockets of a broker. `onTurn` is called from the event loop with how many rows of `frames`, `opened` and `closed`
 * (pairs) are filled, to be handled in this order: opened, frames, closed. The arena's contents are valid until it returns.
 * It is also called with nothing after `wake()`. An exception out of it ends the process.
 *
 * A connection id is 20 bits of slot below 11 bits of generation: a late reply never reaches the next owner of a slot,
 * it is dropped. `id & 0xFFFFF` is dense, for arrays.
 */
export interface NativeSelector {
  /** Binds and listens; resolves the port for 0. Throws (EADDRINUSE, …). */
  listen(host: string, port: number): number;
  /** Unix socket, mode 0600; a stale socket file nobody listens on is replaced. */
  listenUnix(path: string): void;
  stopListening(): void;
  /** Sends the first `rows` rows of `flushes`. What a socket does not take is copied and queued. */
  flush(rows: number, files: readonly NativeFile[]): void;
  /** Asks for a turn soon even if no socket is ready (from a completion, when there is work that a turn does). */
  wake(): void;
  /** Closes after what is queued was sent; with `now`, at once. */
  close(connection: number, now: boolean): void;
  /** Stops reading from all, sends what is queued, shuts down the sending side, reads what still comes for `lingerMs`, closes. */
  finish(lingerMs: number): Promise<void>;
  /**
   * Closes connections that outstayed a time limit, and those whose peers take nothing while that keeps everybody from being
   * read. Called about once a second.
   */
  sweep(): void;
  /** Bytes waiting to be sent on a connection (for tests and the console). */
  queuedBytes(connection: number): number;
  /** Those since it was asked last, 64 at most; the counter FILE_FAILURES has all. A turn is called when there are some. */
  takeFileFailures(): FileFailure[];
  /** Releases everything at once. */
  destroy(): void;
}

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

/** The addon of this platform. Throws `ADDON_UNAVAILABLE` with what was looked for and the command that builds it. */
export const native: NativeAddon = loadAddon();
