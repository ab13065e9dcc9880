// The typed face of the selector: the tables in which it brings frames and takes answers, and the sockets behind them. Types
// and numbers alone: what a frame asks for it does not know, and of files only that slices of them are sent.

import type { NativeFile } from "./segment-files.js";

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

/** Slots of the shared counters (Float64Array). The selector writes all but the two that begin with EXTERNAL, which TypeScript writes. */
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
  /**
   * What of EXTERNAL_QUEUED_BYTES requests take that wait for nothing but records, each its connection's next: they are in nobody's way, and
   * no reason to give others fewer requests or to close them.
   */
  EXTERNAL_WAITING_BYTES: 17,
} as const;
export const SELECTOR_COUNTERS = 18;

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
