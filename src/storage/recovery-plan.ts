// Reads what has to be read of a partition and decides where its log ends. It changes nothing: everything is decided before
// anything is done, so that a refusal leaves the directory as it was.

import { type NativeFile, native, ScanStop } from "../native/binding.js";
import type { Checkpoint } from "./checkpoint.js";
import { PartitionDamagedError, storageFailure } from "./damage.js";
import { addScanned, OffsetIndex } from "./offset-index.js";
import type { PartitionOptions } from "./options.js";
import type { FoundSegment } from "./partition-files.js";
import { decideTail, successorOf, type TailDecision, tailShape } from "./recovery-table.js";
import { hasStamp } from "./segment-store.js";
import type { StoredFormat } from "./stored-format.js";

export interface SegmentPlan {
  readonly found: FoundSegment;
  readonly endOffset: number;
  /** Position behind the last record that stays. */
  readonly end: number;
  /** Bytes behind it that are not zero. */
  readonly tailBytes: number;
  /** Of a segment that was scanned; undefined: sealed and trusted. */
  readonly index: OffsetIndex | undefined;
  readonly decision: TailDecision;
}

export interface RecoveryPlan {
  /** What the log is made of, in offset order; the last one may be cut. */
  readonly segments: readonly SegmentPlan[];
  /** Segments behind the end of the log, to be moved away. */
  readonly behind: readonly FoundSegment[];
  readonly scannedBytes: number;
}

interface Floor {
  readonly offset: number;
  readonly checkpoint: Checkpoint | undefined;
}

/** Rejects PartitionDamagedError, or STORAGE_FAILURE when a segment cannot be forced or read. */
export async function planRecovery(
  found: readonly FoundSegment[],
  checkpoint: Checkpoint | undefined,
  format: StoredFormat,
  options: Pick<PartitionOptions, "mode" | "indexIntervalBytes">,
): Promise<RecoveryPlan> {
  const floor: Floor = { offset: durableFloor(found, checkpoint), checkpoint };
  const segments: SegmentPlan[] = [];
  let scannedBytes = 0;
  for (const [at, segment] of found.entries()) {
    const next = found.at(at + 1);
    const trusted = trustedEnd(segment, next === undefined);
    const read = trusted ?? (await scanSegment(segment, floor, format, options.indexIntervalBytes));
    scannedBytes += read.scannedBytes;
    const successor = successorOf(read.endOffset, next?.baseOffset);
    const decision = decideTail({
      mode: options.mode,
      format: format.name,
      sealed: trusted !== undefined,
      shape: tailShape(read.stop, read.tailBytes),
      belowFloor: read.endOffset < Math.min(floor.offset, next?.baseOffset ?? Number.POSITIVE_INFINITY),
      successor,
    });
    if (decision.action === "refuse") {
      throw new PartitionDamagedError(segment.path, read.end, read.endOffset, decision.meaning);
    }
    segments.push({ found: segment, decision, ...read });
    if (decision.action === "cut") return { segments, behind: found.slice(at + 1), scannedBytes };
  }
  return { segments, behind: [], scannedBytes };
}

/** Below it everything was durable once. An index is written after the barrier, so it says so of all up to its segment's end. */
export function durableFloor(found: readonly FoundSegment[], checkpoint: Checkpoint | undefined): number {
  let floor = checkpoint?.durableOffset ?? 0;
  for (const { baseOffset, index } of found) {
    if (typeof index !== "string") floor = Math.max(floor, baseOffset + index.records);
  }
  return floor;
}

interface SegmentRead {
  readonly endOffset: number;
  readonly end: number;
  readonly stop: ScanStop;
  readonly tailBytes: number;
  readonly index: OffsetIndex | undefined;
  readonly scannedBytes: number;
}

/** The end of a sealed segment, unread. The last one is trusted only when nobody has touched its file since it was closed. */
function trustedEnd(segment: FoundSegment, isLast: boolean): SegmentRead | undefined {
  const { index, bytes, baseOffset } = segment;
  if (typeof index === "string") return undefined;
  if (isLast && !hasStamp(segment.mtimeMs, index.closedMtimeSeconds)) return undefined;
  const endOffset = baseOffset + index.records;
  return { endOffset, end: bytes, stop: ScanStop.END, tailBytes: 0, index: undefined, scannedBytes: 0 };
}

async function scanSegment(
  segment: FoundSegment,
  floor: Floor,
  format: StoredFormat,
  indexIntervalBytes: number,
): Promise<SegmentRead> {
  try {
    const file = await native.openFile(segment.path, { writable: true });
    try {
      return await scanFile(file, segment, floor, format, indexIntervalBytes);
    } finally {
      file.close();
    }
  } catch (cause) {
    if (cause instanceof PartitionDamagedError) throw cause;
    throw storageFailure(`${segment.path} cannot be forced and read`, cause);
  }
}

async function scanFile(
  file: NativeFile,
  segment: FoundSegment,
  floor: Floor,
  format: StoredFormat,
  indexIntervalBytes: number,
): Promise<SegmentRead> {
  const { baseOffset, bytes, path } = segment;
  // Where the checkpoint says that a record begins. Beyond the file's end it says nothing that the offsets do not.
  const mark = floor.checkpoint?.segmentBase === baseOffset ? floor.checkpoint : undefined;
  const known = mark !== undefined && mark.position <= bytes ? mark.position : 0;
  // Forced first, or dropping the pages drops nothing; then the disk is read above the checkpoint, and not a cache that may
  // still show what a failed barrier did not write.
  await file.sync();
  await file.dropCache(known);
  const index = OffsetIndex.empty();
  const below = await file.scan(format.id, 0, known, indexIntervalBytes);
  addScanned(index, below.index, 0);
  const reached = baseOffset + below.records;
  if (mark !== undefined && known > 0 && (below.stop !== ScanStop.END || reached !== mark.durableOffset)) {
    if (reached >= mark.durableOffset) {
      const what = `there are more records up to here than up to offset ${mark.durableOffset}, where the checkpoint has this position`;
      throw new PartitionDamagedError(path, below.end, reached, what);
    }
    return { ...below, endOffset: reached, index, scannedBytes: known };
  }
  const above = await file.scan(format.id, known, bytes, indexIntervalBytes);
  addScanned(index, above.index, below.records);
  const records = below.records + above.records;
  return {
    endOffset: baseOffset + records,
    end: above.end,
    stop: above.stop,
    tailBytes: above.tailBytes,
    index,
    scannedBytes: above.end,
  };
}
