// Which segments retention lets go. Pure: whole segments, oldest first, never the active one, time passed in.

export interface RetentionPolicy {
  /** The log is kept at or below this size, as far as whole segments allow. */
  readonly retentionBytes?: number | undefined;
  /** A segment goes when its last append is older. */
  readonly retentionMs?: number | undefined;
}

export interface RetentionSegment {
  readonly bytes: number;
  readonly lastAppendMs: number;
}

export type RetentionReason = "bytes" | "age";

/** Why the oldest segment goes, or undefined when it stays. `totalBytes` counts it and everything after it, the active one included. */
export function retentionReason(
  oldest: RetentionSegment,
  totalBytes: number,
  policy: RetentionPolicy,
  nowMs: number,
): RetentionReason | undefined {
  if (policy.retentionMs !== undefined && nowMs - oldest.lastAppendMs > policy.retentionMs) return "age";
  if (policy.retentionBytes !== undefined && totalBytes > policy.retentionBytes) return "bytes";
  return undefined;
}

/**
 * Why each of the segments goes that go: of `segments`, oldest first and all but the newest ones, whose bytes are
 * `laterBytes`. It ends at the first that stays: no holes.
 */
export function retentionReasons(
  segments: readonly RetentionSegment[],
  laterBytes: number,
  policy: RetentionPolicy,
  nowMs: number,
): readonly RetentionReason[] {
  let totalBytes = laterBytes;
  for (const segment of segments) totalBytes += segment.bytes;
  const reasons: RetentionReason[] = [];
  for (const segment of segments) {
    const reason = retentionReason(segment, totalBytes, policy, nowMs);
    if (reason === undefined) break;
    reasons.push(reason);
    totalBytes -= segment.bytes;
  }
  return reasons;
}
