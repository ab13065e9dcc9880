// int64 as JavaScript numbers: two int32 and a check against 2^53. No BigInt, which would be an allocation for each number.

const TWO_32 = 0x1_0000_0000;

/** High halves from here on are numbers that a double cannot hold exactly. */
const HIGH_LIMIT = 0x20_0000;

/** What {@link readInt64} answers for a number outside ±(2^53 − 1). */
export const NOT_SAFE = Number.NaN;

/** The number at `at`, or NaN when it is outside ±(2^53 − 1). */
export function readInt64(view: DataView, at: number): number {
  const value = view.getInt32(at) * TWO_32 + view.getUint32(at + 4);
  return Number.isSafeInteger(value) ? value : NOT_SAFE;
}

/**
 * An offset that a client named: −1 when it is negative, and 2^53 − 1 when it is larger than that. No log ends there, so a
 * larger number keeps its meaning (behind the end: OFFSET_OUT_OF_RANGE) instead of becoming a body that does not parse.
 */
export function readOffset(view: DataView, at: number): number {
  const high = view.getInt32(at);
  if (high < 0) return -1;
  if (high >= HIGH_LIMIT) return Number.MAX_SAFE_INTEGER;
  return high * TWO_32 + view.getUint32(at + 4);
}

/** Writes a safe integer. */
export function putInt64(view: DataView, at: number, value: number): void {
  view.setInt32(at, Math.floor(value / TWO_32));
  view.setUint32(at + 4, value >>> 0);
}
