// Takes the records out of a piece of a segment and checks them. The one place in log/ that looks into stored bytes: how long
// a header is and whether it has a sum comes from storage's table of formats.

import { MillraceError } from "../model/errors.js";
import { type Offset, offset } from "../model/ids.js";
import { native } from "../native/binding.js";
import type { StoredFormat } from "../storage/stored-format.js";

/** A record of a log. */
export interface LogRecord {
  readonly offset: Offset;
  /** The record's bytes. Records of one read share memory: copy those that are kept for long, or they keep all of it. */
  readonly payload: Uint8Array;
}

/** A stored record is damaged: what is on the disk is not what was appended. `code` is CORRUPT_RECORD. */
export class DamagedRecordError extends MillraceError {
  override readonly name = "DamagedRecordError";
  constructor(
    /** The offset of the damaged record. */
    readonly offset: Offset,
    /** The segment file it lies in. */
    readonly path: string,
    /** Where its header begins in that file, in bytes. */
    readonly position: number,
    what: string,
  ) {
    super("CORRUPT_RECORD", `the record at offset ${offset} is damaged: ${what} (${path}, position ${position})`);
  }
}

/** Where a piece of a segment comes from: for the errors. */
export interface StoredPiece {
  readonly bytes: Uint8Array;
  /** The offset of its first record. */
  readonly offset: Offset;
  readonly path: string;
  readonly position: number;
}

export interface TakenRecords {
  readonly records: LogRecord[];
  /** Bytes of the whole records. */
  readonly bytes: number;
  /** What the record that was cut at the end takes as stored; 0: none was, or its header was cut. */
  readonly cutBytes: number;
}

/**
 * The whole records of a piece, `countMax` of them at most. Throws {@link DamagedRecordError} at the first that is damaged;
 * `recordMax` bounds a payload.
 */
export function takeRecords(
  piece: StoredPiece,
  format: StoredFormat,
  recordMax: number,
  countMax = Number.POSITIVE_INFINITY,
): TakenRecords {
  const { bytes } = piece;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const records: LogRecord[] = [];
  const header = format.headerBytes;
  let at = 0;
  let next = piece.offset as number;
  while (at + header <= bytes.length && records.length < countMax) {
    const length = view.getInt32(at);
    if (length < 1 || length > recordMax) {
      throw new DamagedRecordError(offset(next), piece.path, piece.position + at, `its length is ${length}`);
    }
    const end = at + header + length;
    if (end > bytes.length) return { records, bytes: at, cutBytes: header + length };
    const payload = bytes.subarray(at + header, end);
    const sum = format.sum(view, at);
    if (sum !== undefined && sum !== native.crc32c(payload)) {
      throw new DamagedRecordError(offset(next), piece.path, piece.position + at, "its sum does not match");
    }
    records.push({ offset: offset(next), payload });
    next++;
    at = end;
  }
  return { records, bytes: at, cutBytes: 0 };
}
