// Looks at every byte of one segment, also behind a record whose sum does not match, and at every entry of its index. It
// reads only; what follows from what it finds is decided by verify.ts.

import { type NativeFile, native, ScanStop } from "../native/binding.js";
import { isMissing } from "./damage.js";
import { decodeIndexBody, type IndexHeader } from "./index-file.js";
import { addScanned, OffsetIndex } from "./offset-index.js";
import type { FoundSegment } from "./partition-files.js";
import { indexPathOf } from "./segment-store.js";
import type { StoredFormat } from "./stored-format.js";

export interface Place {
  readonly position: number;
  readonly offset: number;
}

export interface Examined {
  /** Records whose payload does not match its sum, though the records before and behind them are where they should be. */
  readonly wrong: readonly Place[];
  /** Where the chain of records ends, and why. */
  readonly end: Place;
  readonly stop: ScanStop;
  readonly tailBytes: number;
  /** Of the records up to the end, as an `.index` would have it. */
  readonly index: OffsetIndex;
}

/** Between entries of an index that is made here: the default of the setting, which verify is not told. */
const INDEX_INTERVAL_BYTES = 4096;

/**
 * Walks a segment. A record that does not match its sum is stepped over when its length leads on to all `marks` (places
 * that are known to begin a record) and to the end; else the first such record is where the chain ends: a length that is
 * wrong itself makes everything behind it guesswork. From `softFrom` on nothing is stepped over: there a record that does
 * not match is a torn tail.
 */
export async function examineSegment(
  file: NativeFile,
  segment: FoundSegment,
  format: StoredFormat,
  marks: readonly Place[],
  endOffset: number | undefined,
  softFrom: number,
): Promise<Examined> {
  const wrong: Place[] = [];
  const index = OffsetIndex.empty();
  const limits = [...marks.map(({ position }) => position).filter((limit) => limit <= segment.bytes), segment.bytes];
  let at: Place = { position: 0, offset: segment.baseOffset };
  let stop: ScanStop = ScanStop.END;
  let tailBytes = 0;
  for (const [number, limit] of limits.entries()) {
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
    const broken = stop !== ScanStop.END || (number < marks.length && at.offset !== marks[number].offset);
    if (broken) break;
  }
  const reached = marks.every((mark) => mark.position <= at.position && mark.offset <= at.offset);
  const whole = reached && (endOffset === undefined || at.offset === endOffset);
  if (whole || wrong.length === 0) return { wrong, end: at, stop, tailBytes, index };
  const [end] = wrong;
  const stays = OffsetIndex.empty();
  for (let entry = 0; entry < index.count && index.position(entry) < end.position; entry++) {
    stays.add(index.relativeOffset(entry), index.position(entry), index.time(entry));
  }
  return { wrong: [], end, stop: ScanStop.BAD_SUM, tailBytes: segment.bytes - end.position, index: stays };
}

function entryBytes(file: NativeFile, position: number, format: StoredFormat): number {
  const header = new Uint8Array(format.headerBytes);
  file.read(header, position);
  return format.headerBytes + new DataView(header.buffer).getInt32(0);
}

/** What is wrong with an `.index` whose header was found good, or undefined. Each entry must be the place of its record. */
export async function examineIndex(
  file: NativeFile,
  segment: FoundSegment,
  header: IndexHeader,
  format: StoredFormat,
): Promise<string | undefined> {
  const index = await readBody(segment, header);
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

async function readBody(segment: FoundSegment, header: IndexHeader): Promise<OffsetIndex | undefined> {
  try {
    const file = await native.openFile(indexPathOf(segment), { writable: false });
    try {
      const bytes = new Uint8Array(file.size());
      return decodeIndexBody(bytes.subarray(0, await file.readAsync(bytes, 0)), header);
    } finally {
      file.close();
    }
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}
