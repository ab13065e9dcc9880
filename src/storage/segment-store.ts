// Brings the index and the file of a segment into memory, and writes `.index` files. It does not decide when.

import { stat, utimes } from "node:fs/promises";
import { invariant } from "../model/invariant.js";
import { type NativeFile, native, ScanStop } from "../native/binding.js";
import { isMissing, storageFailure } from "./damage.js";
import { decodeIndexBody, decodeIndexHeader, encodeIndex } from "./index-file.js";
import { addScanned, OffsetIndex } from "./offset-index.js";
import type { PartitionState } from "./partition-state.js";
import type { Segment } from "./segment.js";

export const indexPathOf = (segment: { readonly path: string }): string => segment.path.replace(/\.log$/, ".index");

/** Index and file of a segment are in memory afterwards, unless it was removed meanwhile. Callers that come together share one load. */
export function bringIn(state: PartitionState, segment: Segment): Promise<void> {
  segment.loading ??= bringInNow(state, segment).finally(() => {
    segment.loading = undefined;
  });
  return segment.loading;
}

async function bringInNow(state: PartitionState, segment: Segment): Promise<void> {
  const { files, indexCache } = state.deps;
  let opened: NativeFile | undefined;
  try {
    if (segment.file === undefined) opened = await native.openFile(segment.path, { writable: false });
    if (segment.index === undefined) {
      const index = await readIndex(state, segment, segment.file ?? opened);
      // The segment may have become active meanwhile, with an index that grows.
      if (segment.index === undefined && !segment.removed) indexCache.admit(segment, index);
    }
    if (opened === undefined || segment.file !== undefined || segment.removed) return;
    files.admit(segment, opened);
    opened = undefined;
  } catch (cause) {
    // Retention was faster: whoever waits plans again and finds the offset out of range.
    if (!(segment.removed && isMissing(cause))) throw cause;
  } finally {
    opened?.close();
  }
}

/** The index of a sealed segment: from its file, or by a scan when that does not match its sum. */
export async function readIndex(
  state: PartitionState,
  segment: Segment,
  file: NativeFile | undefined,
): Promise<OffsetIndex> {
  const found = await readIndexFile(segment);
  if (found instanceof OffsetIndex) return found;
  invariant(file !== undefined, "a segment without index has its file open");
  const scan = await file.scan(state.format.id, 0, segment.bytes, state.options.indexIntervalBytes);
  const index = OffsetIndex.empty();
  addScanned(index, scan.index, 0);
  if (scan.stop !== ScanStop.END || scan.records !== segment.endOffset - segment.baseOffset) {
    // The rest is reached by walking on from the last entry, as far as the lengths go; who reads finds the damage itself.
    state.tell({
      kind: "segment.damaged",
      level: "error",
      message: `${segment.path} is damaged at position ${scan.end}; run \`millrace verify\``,
      path: segment.path,
      position: scan.end,
      offset: segment.baseOffset + scan.records,
    });
    return index;
  }
  state.tell({
    kind: "index.rebuilt",
    level: "warn",
    message: `the index of ${segment.path} was rebuilt: ${found}`,
    path: segment.path,
    reason: found,
  });
  await writeIndex(segment, index, 0).catch((cause: unknown) => {
    state.tell({
      kind: "index.write-failed",
      level: "warn",
      message: `the index of ${segment.path} could not be written`,
      path: segment.path,
      cause,
    });
  });
  return index;
}

/** Returns what is wrong with the file when it cannot be used. */
async function readIndexFile(segment: Segment): Promise<OffsetIndex | string> {
  try {
    const file = await native.openFile(indexPathOf(segment), { writable: false });
    try {
      const bytes = new Uint8Array(file.size());
      const read = await file.readAsync(bytes, 0);
      const outcome = decodeIndexHeader(bytes.subarray(0, read), segment.baseOffset, read, segment.bytes);
      if ("problem" in outcome) return outcome.problem;
      return decodeIndexBody(bytes.subarray(0, read), outcome.header) ?? "its entries do not match their sum";
    } finally {
      file.close();
    }
  } catch (cause) {
    if (isMissing(cause)) return "it is missing";
    throw storageFailure(`the index of ${segment.path} cannot be read`, cause);
  }
}

/** Writes the `.index` of a forced segment: temporary file, fsync, rename, fsync of the directory. */
export async function writeIndex(segment: Segment, index: OffsetIndex, closedMtimeSeconds: number): Promise<void> {
  const header = {
    baseOffset: segment.baseOffset,
    records: segment.endOffset - segment.baseOffset,
    segmentBytes: segment.bytes,
    firstAppendMs: segment.firstAppendMs,
    lastAppendMs: segment.lastAppendMs,
    closedMtimeSeconds,
  };
  await native.replaceFile(indexPathOf(segment), encodeIndex(header, index));
  segment.indexed = true;
}

/**
 * Gives the file of the last segment a time that its `.index` then holds: a start trusts that segment unread when the file
 * still has it, so whatever was done to the file since, shows. The time lies in the past, because a write within the same
 * tick of the system's clock would otherwise leave it as it is. Whole seconds: not every file system keeps finer ones.
 */
export async function stampClosed(segment: Segment, nowMs: number): Promise<number> {
  const file = await native.openFile(segment.path, { writable: true });
  try {
    const seconds = Math.max(1, Math.floor(nowMs / 1000) - CLOSED_SECONDS_AGO);
    await utimes(segment.path, seconds, seconds);
    await file.sync();
    return seconds;
  } finally {
    file.close();
  }
}

/** More than the coarsest tick of a file system's clock. */
const CLOSED_SECONDS_AGO = 2;

/** Whether the file still has the time that `stampClosed` gave it. */
export const hasStamp = (mtimeMs: number, closedMtimeSeconds: number): boolean =>
  closedMtimeSeconds > 0 && mtimeMs === closedMtimeSeconds * 1000;

/** Size and times of a segment file. */
export async function statSegment(
  path: string,
): Promise<{ readonly bytes: number; readonly mtimeMs: number; readonly allocatedBytes: number }> {
  const { size, mtimeMs, blocks } = await stat(path);
  return { bytes: size, mtimeMs, allocatedBytes: blocks * 512 };
}
