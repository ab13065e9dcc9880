// The rows that an append call writes, and what it says of them. Types and numbers alone: it knows writers by their ids, and
// neither their files nor who offered a batch.

/** Columns of a row of the append table (Int32Array, {@link APPEND_COLUMNS} wide). The first five go in, the rest come out. */
export const AppendColumn = {
  /** The `id` of a `NativeSegmentWriter`. */
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

/** What `measureRegion` says. */
export interface RegionMeasure {
  readonly status: AppendStatus;
  /** How many leading records fit `room` bytes as stored. */
  readonly records: number;
  /** How many bytes of the region they take. */
  readonly regionBytes: number;
  /** How many bytes they take as stored. */
  readonly storedBytes: number;
}
