// What a crash leaves and nobody needs: temporary files, indexes without a segment, and segments that retention had let go
// and not removed yet.

import { native } from "../native/binding.js";
import type { Checkpoint } from "./checkpoint.js";
import { isMissing, PartitionDamagedError } from "./damage.js";
import type { StorageEvent } from "./events.js";
import type { FoundSegment } from "./partition-files.js";
import { indexPathOf } from "./segment-store.js";

/**
 * Splits off the segments wholly below the log's start, which the checkpoint got before retention removed anything.
 * Throws PartitionDamagedError when the log does not begin there: its first segment is missing.
 */
export function withoutRetired(
  dir: string,
  segments: readonly FoundSegment[],
  checkpoint: Checkpoint | undefined,
): { readonly kept: readonly FoundSegment[]; readonly retired: readonly string[] } {
  const start = checkpoint?.logStartOffset ?? segments[0].baseOffset;
  const first = segments.findIndex(({ baseOffset }) => baseOffset >= start);
  if (first < 0 || segments[first].baseOffset !== start) {
    const there = first < 0 ? "no segment there" : `the first segment there is ${segments[first].path}`;
    throw new PartitionDamagedError(dir, -1, -1, `the log begins at offset ${start} by its checkpoint, and ${there}`);
  }
  const retired = segments.slice(0, first).flatMap((segment) => [indexPathOf(segment), segment.path]);
  return { kept: segments.slice(first), retired };
}

export async function removeLeftovers(
  dir: string,
  paths: readonly string[],
  tell: (event: StorageEvent) => void,
): Promise<void> {
  for (const path of paths) {
    try {
      await native.unlinkFile(path);
    } catch (cause) {
      if (isMissing(cause)) continue;
      throw cause;
    }
    tell({
      kind: "recovery.leftover-removed",
      level: "info",
      dir,
      message: `${path} was left by a crash and removed`,
      path,
    });
  }
}
