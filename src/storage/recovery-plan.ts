// Reads what has to be read of a partition and decides where its log ends. It changes nothing: everything is decided before
// anything is done, so that a refusal leaves the directory as it was.

import { dirname, join } from "node:path";
import { type NativeFile, native, type ScanResult, ScanStop } from "../native/binding.js";
import type { Checkpoint } from "./checkpoint.js";
import {
  fitsSealed,
  judgeScanned,
  markIn,
  miscountedText,
  misfitByEnd,
  misfitByNames,
  misfitByRecords,
  type Place,
} from "./checkpoint-fit.js";
import { PartitionDamagedError, storageFailure } from "./damage.js";
import { addScanned, OffsetIndex } from "./offset-index.js";
import type { PartitionOptions } from "./options.js";
import type { FoundSegment } from "./partition-files.js";
import { decideTail, successorOf, type TailDecision, tailShape } from "./recovery-table.js";
import { CHECKPOINT_FILE } from "./segment-name.js";
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
  const misnamed = checkpoint === undefined ? undefined : misfitByNames(found, checkpoint);
  if (misnamed !== undefined) throw wrongCheckpoint(found[0], misnamed);
  const segments: SegmentPlan[] = [];
  let scannedBytes = 0;
  for (const [at, segment] of found.entries()) {
    const next = found.at(at + 1);
    const trusted = trustedEnd(segment, next === undefined);
    if (trusted !== undefined) await checkSealed(segment, checkpoint, format);
    const read = trusted ?? (await scanSegment(segment, next, floor, format, options.indexIntervalBytes));
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
  const misplaced =
    checkpoint === undefined ? undefined : misfitByEnd(found, checkpoint, segments[segments.length - 1].endOffset);
  if (misplaced !== undefined) throw wrongCheckpoint(found[0], misplaced);
  return { segments, behind: [], scannedBytes };
}

const wrongCheckpoint = ({ path }: FoundSegment, what: string): PartitionDamagedError =>
  new PartitionDamagedError(join(dirname(path), CHECKPOINT_FILE), -1, -1, what);

/** A checkpoint of another partition would else be believed after a clean stop, and judge the next start after a crash. */
async function checkSealed(
  segment: FoundSegment,
  checkpoint: Checkpoint | undefined,
  format: StoredFormat,
): Promise<void> {
  const mark = markIn(segment, checkpoint);
  if (mark === undefined || checkpoint === undefined) return;
  const open = (): Promise<NativeFile> => native.openFile(segment.path, { writable: false });
  if (!(await fitsSealed(open, segment, mark, format))) throw wrongCheckpoint(segment, misfitByRecords(checkpoint));
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
  next: FoundSegment | undefined,
  floor: Floor,
  format: StoredFormat,
  indexIntervalBytes: number,
): Promise<SegmentRead> {
  try {
    const file = await native.openFile(segment.path, { writable: true });
    try {
      return await scanFile(file, segment, next, floor, format, indexIntervalBytes);
    } finally {
      file.close();
    }
  } catch (cause) {
    if (cause instanceof PartitionDamagedError) throw cause;
    throw storageFailure(`${segment.path} cannot be forced and read: ${(cause as Error).message}`, cause);
  }
}

async function scanFile(
  file: NativeFile,
  segment: FoundSegment,
  next: FoundSegment | undefined,
  { checkpoint }: Floor,
  format: StoredFormat,
  indexIntervalBytes: number,
): Promise<SegmentRead> {
  const { baseOffset, bytes } = segment;
  // Where the checkpoint says that a record begins.
  const mark = markIn(segment, checkpoint);
  const known = mark !== undefined && mark.position <= bytes ? mark.position : 0;
  // Forced first, or dropping the pages drops nothing; then the disk is read above the checkpoint, and not a cache that may
  // still show what a failed barrier did not write.
  await file.sync();
  await file.dropCache(known);
  const index = OffsetIndex.empty();
  const below = await file.scan(format.id, 0, known, indexIntervalBytes);
  if (mark !== undefined && checkpoint !== undefined) {
    const { wrong, whole } = await judgeScanned(file, segment, next, mark, below, format, indexIntervalBytes);
    if (wrong === "checkpoint") throw wrongCheckpoint(segment, misfitByRecords(checkpoint));
    if (whole !== undefined) {
      const endOffset = baseOffset + whole.records;
      // Up to the mark they are not what they were, and nobody can say from which one on.
      if (whole.end >= mark.position || endOffset >= mark.offset) throw miscounted(segment, mark, below);
      addScanned(index, whole.index, 0);
      return { ...whole, endOffset, index, scannedBytes: whole.end };
    }
  }
  addScanned(index, below.index, 0);
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

function miscounted({ path, baseOffset, bytes }: FoundSegment, mark: Place, below: ScanResult): PartitionDamagedError {
  const reached = { position: below.end, offset: baseOffset + below.records };
  return new PartitionDamagedError(path, reached.position, reached.offset, miscountedText(mark, reached, bytes));
}
