// Opens the last segment for writing, and gives a prepared one its name.
//
// What a crash leaves:
// - opened and nothing written: on MAPPED a file of full size whose `.index`, if it is still there, does not match that size
//   and so counts for nothing; recovery scans it. On FILE_CHANNEL the file is as it was and its `.index` still true, unless its
//   removal, which is forced before anything is written, has got that far.
// - after the rename of a prepared segment: see forcer.ts.

import { join } from "node:path";
import { invariant } from "../model/invariant.js";
import { type NativeSegmentWriter, native, SegmentModeId } from "../native/binding.js";
import { isMissing, roomFailure } from "./damage.js";
import type { NextSegment, NextSegments } from "./next-segments.js";
import type { OffsetIndex } from "./offset-index.js";
import type { PartitionState } from "./partition-state.js";
import { reserveTarget } from "./reserve-window.js";
import type { Segment } from "./segment.js";
import { logName } from "./segment-name.js";
import { bringIn, indexPathOf } from "./segment-store.js";
import { takeRoom, takeWantedOrNeeded } from "./take-room.js";

/** The last segment after a start. Its index is in memory and its own afterwards, not the cache's. Rejects LOG_FULL or STORAGE_FAILURE. */
export async function openForWriting(
  state: PartitionState,
  segment: Segment,
  needed: number,
): Promise<{ readonly writer: NativeSegmentWriter; readonly index: OffsetIndex }> {
  const { options, deps, format } = state;
  // The cache may let it go at any time, also between its coming in and this going on: another partition's came in then, in a cache that has no room
  // for both. The one that came in last is still there when its turn comes, so somebody always gets on. Taken before anything else is awaited.
  while (segment.index === undefined && !segment.removed) await bringIn(state, segment);
  const { index } = segment;
  invariant(index !== undefined, "an index that was brought in is there");
  const end = segment.bytes;
  const open = (reserve: number): Promise<NativeSegmentWriter> =>
    takeRoom(state, reserve - end, () =>
      native.openSegmentWriter({
        path: segment.path,
        mode: SegmentModeId[options.mode],
        format: format.id,
        capacity: options.segmentBytes,
        indexIntervalBytes: options.indexIntervalBytes,
        reserve,
        end,
      }),
    );
  const writer = await takeWantedOrNeeded(reserveTarget(end, needed, options.segmentBytes), end + needed, open);
  try {
    await native.unlinkFile(indexPathOf(segment)).catch(unlessMissing);
  } catch (cause) {
    await letGo(writer);
    throw cause;
  }
  if (segment.indexed) await forceReopened(state, writer);
  // Taken from cache and pool and put back in one go: a reader that found neither would bring both in again, as the cache's and the pool's, which
  // would let go of the writer's when others need the room.
  deps.indexCache.forget(segment);
  deps.files.forget(segment);
  segment.index = index;
  segment.file = writer.file;
  segment.indexed = false;
  return { writer, index };
}

/**
 * Before anything is written behind a clean stop: what told of it is gone from the disk, or a segment that it does not know is there. Else a cut
 * of power could bring the clean stop back, and a reader that has seen what came after it would never hear that it is gone. Poisons when that fails, and lets
 * go of the writer, which is nobody's then.
 */
export async function forceReopened(state: PartitionState, writer: NativeSegmentWriter): Promise<void> {
  try {
    await native.syncDirectory(state.dir);
  } catch (cause) {
    const failure = state.poison(cause);
    await letGo(writer);
    throw failure;
  }
}

async function letGo(writer: NativeSegmentWriter): Promise<void> {
  await writer.close().catch(() => undefined);
  writer.file.close();
}

function unlessMissing(cause: unknown): void {
  if (!isMissing(cause)) throw cause;
}

/** Gives a prepared segment its name. Rejects STORAGE_FAILURE; the segment is gone then. */
export async function startNext(
  state: PartitionState,
  next: NextSegment,
  baseOffset: number,
  segments: NextSegments,
): Promise<void> {
  try {
    await next.writer.rename(join(state.dir, logName(baseOffset)));
  } catch (cause) {
    await segments.discard(next);
    throw roomFailure(state.dir, cause);
  }
  state.directoryDirty = true;
}
