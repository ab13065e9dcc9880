// When segments that nobody forces are sealed. Pure; time is passed in.

import { SEAL_AFTER_MS, UNSEALED_BYTES_MAX } from "../model/limits.js";

export interface RolledSegment {
  readonly bytes: number;
  readonly rolledMs: number;
}

/**
 * How many of the rolled segments, oldest first, should be sealed now: those that have waited long enough, and so many that
 * what waits stays within its bound.
 */
export function sealCount(rolled: readonly RolledSegment[], nowMs: number): number {
  let bytes = 0;
  for (let count = rolled.length; count > 0; count--) {
    const { rolledMs, bytes: own } = rolled[count - 1];
    bytes += own;
    // A clock that was put back must not make it wait for as long.
    const waited = rolledMs > nowMs ? SEAL_AFTER_MS : nowMs - rolledMs;
    if (bytes > UNSEALED_BYTES_MAX || waited >= SEAL_AFTER_MS) return count;
  }
  return 0;
}
