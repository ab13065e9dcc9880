// Looks at every byte of one segment, also behind a record whose sum does not match, and at every entry of its index. It
// reads only; what follows from what it finds is decided by segment-verdict.ts.

import { type NativeFile, ScanStop } from "../native/binding.js";
import { miscountedText, type Place } from "./checkpoint-fit.js";
import { addScanned, OffsetIndex } from "./offset-index.js";
import type { FoundSegment } from "./partition-files.js";
import type { StoredFormat } from "./stored-format.js";

export interface Examined {
  /** Records whose payload does not match its sum, though the records before and behind them are where they should be. */
  readonly wrong: readonly Place[];
  /** Where the chain of records ends, and why. */
  readonly end: Place;
  readonly stop: ScanStop;
  /** From there to the last byte of the file that is not zero. */
  readonly tailBytes: number;
  /** Why it ends there when nothing is wrong with the bytes at that place. */
  readonly why: string | undefined;
  /** Of the records up to the end, as an `.index` would have it. */
  readonly index: OffsetIndex;
}

/** Between entries of an index that is made here: the default of the setting, which verify is not told. */
const INDEX_INTERVAL_BYTES = 4096;
const CHUNK_BYTES = 1024 * 1024;

/**
 * Walks a segment. A record that does not match its sum is stepped over when its length leads on to the `mark` (a place that
 * is known to begin a record) and to the end; else the first such record is where the chain ends: a length that is
 * wrong itself makes everything behind it guesswork. From `softFrom` on nothing is stepped over: there a record that does
 * not match is a torn tail.
 */
export async function examineSegment(
  file: NativeFile,
  segment: FoundSegment,
  format: StoredFormat,
  mark: Place | undefined,
  endOffset: number | undefined,
  softFrom: number,
): Promise<Examined> {
  const walk = (limits: readonly number[]): Promise<Walked> => walkChain(file, segment, format, limits, softFrom);
  const known = mark !== undefined && mark.position <= segment.bytes ? [mark.position] : [];
  const walked = await walk([...known, segment.bytes]);
  const isReached =
    mark === undefined || walked.passed.some((at) => at.position === mark.position && at.offset === mark.offset);
  const isWhole = isReached && (endOffset === undefined || walked.end.offset === endOffset);
  if (isReached && (isWhole || walked.wrong.length === 0)) return { ...walked, why: undefined };
  // Where a limit cut it off says nothing of the record that lies there.
  const free = mark === undefined ? walked : await walk([segment.bytes]);
  const [bad] = free.wrong;
  if (bad !== undefined && (isReached || bad.position < mark.position)) {
    return endedAt(file, free, bad, ScanStop.BAD_SUM, undefined);
  }
  if (mark === undefined) return { ...free, why: undefined };
  if (free.end.position < mark.position && free.end.offset < mark.offset) return { ...free, why: undefined };
  // The lengths go on behind the mark, and not by it: the last place before it is the last that nothing speaks against.
  const below = known.length === 0 ? { position: 0, offset: segment.baseOffset } : (walked.passed.at(0) ?? walked.end);
  return endedAt(file, walked, below, ScanStop.BAD_LENGTH, miscountedText(mark, below, segment.bytes));
}

interface Walked extends Omit<Examined, "why"> {
  /** The places at the limits. */
  readonly passed: readonly Place[];
}

async function walkChain(
  file: NativeFile,
  segment: FoundSegment,
  format: StoredFormat,
  limits: readonly number[],
  softFrom: number,
): Promise<Walked> {
  const wrong: Place[] = [];
  const passed: Place[] = [];
  const index = OffsetIndex.empty();
  let at: Place = { position: 0, offset: segment.baseOffset };
  let stop: ScanStop = ScanStop.END;
  let tailBytes = 0;
  for (const limit of limits) {
    while (at.position < limit) {
      const scan = await file.scan(format.id, at.position, limit, INDEX_INTERVAL_BYTES);
      addScanned(index, scan.index, at.offset - segment.baseOffset);
      at = { position: scan.end, offset: at.offset + scan.records };
      ({ stop, tailBytes } = scan);
      if (stop !== ScanStop.BAD_SUM || at.offset >= softFrom) break;
      wrong.push(at);
      at = { position: at.position + entryBytes(file, at.position, format), offset: at.offset + 1 };
      stop = ScanStop.END;
      tailBytes = 0;
    }
    if (stop !== ScanStop.END) break;
    passed.push(at);
  }
  return { wrong, end: at, stop, tailBytes, index, passed };
}

/** The same, ended earlier. */
async function endedAt(
  file: NativeFile,
  { index }: Walked,
  end: Place,
  stop: ScanStop,
  why: string | undefined,
): Promise<Examined> {
  const stays = OffsetIndex.empty();
  for (let entry = 0; entry < index.count && index.position(entry) < end.position; entry++) {
    stays.add(index.relativeOffset(entry), index.position(entry), index.time(entry));
  }
  const tailBytes = (await usedBytes(file, end.position)) - end.position;
  return { wrong: [], end, stop, tailBytes, why, index: stays };
}

/** The position behind the last byte of the file that is not zero, not below `from`. */
export async function usedBytes(file: NativeFile, from: number): Promise<number> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const zeros = Buffer.alloc(CHUNK_BYTES);
  for (let end = file.size(); end > from; ) {
    const start = Math.max(from, end - CHUNK_BYTES);
    const read = await file.readAsync(chunk.subarray(0, end - start), start);
    if (!chunk.subarray(0, read).equals(zeros.subarray(0, read))) {
      return start + chunk.subarray(0, read).findLastIndex((byte) => byte !== 0) + 1;
    }
    end = start;
  }
  return from;
}

function entryBytes(file: NativeFile, position: number, format: StoredFormat): number {
  const header = new Uint8Array(format.headerBytes);
  file.read(header, position);
  return format.headerBytes + new DataView(header.buffer).getInt32(0);
}

/** What is wrong with the entries of an `.index`, or undefined. Each must be the place of its record. */
export async function examineIndex(
  file: NativeFile,
  segment: FoundSegment,
  index: OffsetIndex | undefined,
  format: StoredFormat,
): Promise<string | undefined> {
  if (index === undefined) return "its entries do not match their sum";
  let record = 0;
  let position = 0;
  for (let entry = 0; entry < index.count; entry++) {
    const steps = index.relativeOffset(entry) - record;
    const there = steps < 0 ? -1 : await file.walkAsync(format.id, position, steps, segment.bytes);
    record = index.relativeOffset(entry);
    position = index.position(entry);
    const named = `its entry for offset ${segment.baseOffset + record}`;
    if (steps < 0) return `${named} stands behind one for a later offset`;
    if (there < 0) return `${named} says position ${position}, and the records of the segment do not go that far`;
    if (there !== position) return `${named} says position ${position}, the record is at ${there}`;
    if (entry > 0 && index.time(entry) < index.time(entry - 1))
      return `its times go back at offset ${segment.baseOffset + record}`;
  }
  return undefined;
}
