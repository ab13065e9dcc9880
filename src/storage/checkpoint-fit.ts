// Whether a checkpoint is of the segments it lies beside. A start and verify ask the same questions here, so that they agree:
// a file that was copied over from another partition, or from another time, is what is damaged then, and not the records.
//
// The checkpoint names a place: at this position of this segment a record of this offset begins, or the records end. Where the
// records say otherwise one of the two is wrong. Sums that match speak for the records; so does the next segment or an `.index`
// that ends where they do. Else the records are below what was durable, and it is the segment that is damaged.

import { type NativeFile, type ScanResult, ScanStop } from "../native/binding.js";
import type { Checkpoint } from "./checkpoint.js";
import { type FoundSegment, readIndexBody } from "./partition-files.js";
import { tailShape } from "./recovery-table.js";
import type { StoredFormat } from "./stored-format.js";

export interface Place {
  readonly position: number;
  readonly offset: number;
}

/** What the records of a segment, read from its start, say of the checkpoint's place in it. */
export interface ReadChain {
  readonly mark: Place;
  /** Where they end. */
  readonly end: Place;
  /** The offset of the record that begins at the mark's position, or of the end there. */
  readonly atMark: number | undefined;
  /** Every payload was compared with its sum. */
  readonly summed: boolean;
  /** Nothing but zeros follows. */
  readonly sound: boolean;
  /** Its index says that they end there. */
  readonly indexAgrees: boolean;
  /** The next segment begins there. */
  readonly adjoins: boolean;
}

export type Wrong = "nothing" | "checkpoint" | "segment";

export function judgeMark({ mark, end, atMark, summed, sound, indexAgrees, adjoins }: ReadChain): Wrong {
  if (atMark === mark.offset) return "nothing";
  if (adjoins) return "checkpoint";
  const goesBeyond = end.position >= mark.position || end.offset >= mark.offset;
  if (goesBeyond && summed) return "checkpoint";
  // Without sums a length that was changed can lead to another record, and then every place is right and the count wrong.
  const isCount = atMark !== undefined && !indexAgrees;
  return sound && (goesBeyond ? !isCount : indexAgrees) ? "checkpoint" : "segment";
}

/** The place in a segment that a checkpoint names, when it names one that can be compared. */
export function markIn(segment: FoundSegment, checkpoint: Checkpoint | undefined): Place | undefined {
  if (checkpoint?.segmentBase !== segment.baseOffset || checkpoint.position === 0) return undefined;
  return { position: checkpoint.position, offset: checkpoint.durableOffset };
}

export interface MarkVerdict {
  readonly wrong: Wrong;
  /** Read to the end without regard to the mark; undefined: the mark fits. */
  readonly whole: ScanResult | undefined;
}

/** `below` is what a scan up to the mark found. */
export async function judgeScanned(
  file: NativeFile,
  segment: FoundSegment,
  next: FoundSegment | undefined,
  mark: Place,
  below: ScanResult,
  format: StoredFormat,
  indexIntervalBytes: number,
): Promise<MarkVerdict> {
  const { baseOffset, bytes, index } = segment;
  const isAt = below.stop === ScanStop.END && below.end === mark.position;
  const atMark = isAt ? baseOffset + below.records : undefined;
  if (atMark === mark.offset) return { wrong: "nothing", whole: undefined };
  const whole = await file.scan(format.id, 0, bytes, indexIntervalBytes);
  const shape = tailShape(whole.stop, whole.tailBytes);
  const offset = baseOffset + whole.records;
  const wrong = judgeMark({
    mark,
    end: { position: whole.end, offset },
    atMark,
    summed: format.name === "crc32c",
    sound: shape === "whole" || shape === "zeros",
    indexAgrees: typeof index !== "string" && index.records === whole.records,
    adjoins: next?.baseOffset === offset,
  });
  return { wrong, whole };
}

/** Of a segment that is trusted unread: by its index, and the few lengths between two of its entries. */
export async function fitsSealed(
  open: () => Promise<NativeFile>,
  segment: FoundSegment,
  mark: Place,
  format: StoredFormat,
): Promise<boolean> {
  const { index: header, bytes, baseOffset } = segment;
  if (typeof header === "string") return true;
  const relative = mark.offset - baseOffset;
  if (relative > header.records || mark.position > bytes) return false;
  if (relative === header.records || mark.position === bytes)
    return relative === header.records && mark.position === bytes;
  const index = await readIndexBody(segment, header);
  // Damage of the index or of a length is not the checkpoint's.
  if (index === undefined) return true;
  const entry = index.floor(relative);
  const known = entry < 0 ? 0 : index.relativeOffset(entry);
  const position = entry < 0 ? 0 : index.position(entry);
  if (known === relative) return position === mark.position;
  const file = await open();
  try {
    const there = await file.walkAsync(format.id, position, relative - known, bytes);
    return there < 0 || there === mark.position;
  } finally {
    file.close();
  }
}

/** What cannot be by the names of the files and by the checkpoint itself, or undefined. */
export function misfitByNames(found: readonly FoundSegment[], checkpoint: Checkpoint): string | undefined {
  const { segmentBase, durableOffset, position } = checkpoint;
  if ((position === 0) !== (durableOffset === segmentBase)) return misfit(checkpoint, "those are two places");
  const at = found.findIndex(({ baseOffset }) => baseOffset === segmentBase);
  const next = at < 0 ? undefined : found.at(at + 1);
  if (next === undefined || durableOffset <= next.baseOffset) return undefined;
  return misfit(checkpoint, `the next segment begins at offset ${next.baseOffset}`);
}

/** The same once it is known where the log ends, and that it has no gap. */
export function misfitByEnd(
  found: readonly FoundSegment[],
  checkpoint: Checkpoint,
  endOffset: number,
): string | undefined {
  const { segmentBase, durableOffset } = checkpoint;
  if (found.some(({ baseOffset }) => baseOffset === segmentBase)) return undefined;
  // Retention was faster than whoever reads without the lock. Or the last segment is not there, and was empty.
  if (segmentBase < found[0].baseOffset || segmentBase >= endOffset || durableOffset > endOffset) return undefined;
  return misfit(checkpoint, "no segment begins there");
}

export function misfitByRecords(checkpoint: Checkpoint): string {
  return misfit(checkpoint, "the records there say otherwise");
}

const misfit = (checkpoint: Checkpoint, but: string): string =>
  `${claimOf(checkpoint)}, and ${but}: it is of another partition or of another time`;

export const claimOf = ({ segmentBase, durableOffset, position }: Checkpoint): string =>
  `it says that offset ${durableOffset} is at position ${position} of the segment that begins at offset ${segmentBase}`;

/** Without sums: the lengths before the mark lead to it with another count of records, or past it. */
export function miscountedText(mark: Place, reached: Place, bytes: number): string {
  const there = `the checkpoint has offset ${mark.offset} at position ${mark.position}`;
  if (mark.position > bytes) return `${there}, and the file ends before that`;
  return reached.position === mark.position
    ? `the records up to here are too ${reached.offset > mark.offset ? "many" : "few"}: ${there}`
    : `a length leads past a place that is known: ${there}`;
}
