// How the two walks over stored records, in JavaScript and in the addon, say what they found. `native/core/abi.h` has the same
// numbers; a test compares them.

/** Why a walk stopped. */
export const WalkStop = {
  /** There is no room for another range. */
  FULL: 0,
  /** The bytes end where a record ends. */
  END: 1,
  /** The beginning of a record is all there is of it. */
  CUT: 2,
  /** Bytes that are no record: a length that cannot be. */
  BAD_LENGTH: 3,
  /** A whole record whose sum does not match its payload. */
  BAD_SUM: 4,
} as const;
export type WalkStop = (typeof WalkStop)[keyof typeof WalkStop];

/** What a walk found, in a Uint32Array of {@link WALK_COLUMNS}. */
export const WalkColumn = {
  /** How many whole records. */
  RECORDS: 0,
  /** A {@link WalkStop}. */
  STOP: 1,
  /** Behind the last whole record: where the next walk begins. */
  POSITION: 2,
  /** With CUT: what the whole record takes; 0 when not even its length is there. */
  CUT_RECORD_BYTES: 3,
} as const;
export const WALK_COLUMNS = 4;
