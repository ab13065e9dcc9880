// The outcomes that a broker can tell a client: one row for each, and nothing else in the code base knows the numbers.
// The numbers are the wire's (docs/protocol.md); they stand in the model because the log settles batches with them.

const rows = [
  [0, "NONE", false, "no error"],
  [
    1,
    "UNKNOWN_TOPIC_OR_PARTITION",
    false,
    "there is no such topic or partition; the broker's setting `topics` makes them",
  ],
  [2, "OFFSET_OUT_OF_RANGE", false, "the offset lies before the log's start or after its end"],
  [3, "RECORD_TOO_LARGE", false, "a record does not fit an empty segment"],
  [4, "UNSUPPORTED_VERSION", false, "the broker does not know this request or this version of it"],
  [5, "CORRUPT_REQUEST", false, "the request's body does not parse"],
  [
    6,
    "STORAGE_FAILURE",
    false,
    "the partition refused to open, a write or a barrier failed, or what lies there cannot be read; the broker's log says which",
  ],
  [7, "LOG_FULL", true, "there is no room on the disk; nothing of the batch was kept"],
  [8, "OVERLOADED", true, "the broker's bound on queued bytes is reached"],
  [9, "SHUTTING_DOWN", true, "the broker is stopping"],
  [10, "LOG_TRUNCATED", false, "records before this offset were cut by a recovery and others took their place"],
  [11, "OFFSET_MISMATCH", false, "the log does not end at the expected offset; nothing was written"],
] as const;

export type ErrorName = (typeof rows)[number][1];
export type ErrorCode = (typeof rows)[number][0];

export interface ErrorRow {
  readonly code: ErrorCode;
  readonly name: ErrorName;
  /** Whether a client may send the same request again. */
  readonly retriable: boolean;
  readonly sentence: string;
}

export const ERROR_ROWS: readonly ErrorRow[] = rows.map(([code, name, retriable, sentence]) => ({
  code,
  name,
  retriable,
  sentence,
}));

/** Numbers by name: `ErrorCodes.LOG_FULL === 7`. */
export const ErrorCodes = Object.fromEntries(rows.map(([code, name]) => [name, code])) as {
  readonly [Row in (typeof rows)[number] as Row[1]]: Row[0];
};

/** The row of a number from the wire, or undefined for a number that a newer broker might send. */
export function errorRow(code: number): ErrorRow | undefined {
  return ERROR_ROWS[code];
}
