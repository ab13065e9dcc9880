// Records as a FETCH brings them: the bytes of a segment.
//
//   plain    int32 length | payload
//   crc32c   int32 length | int32 crc32c(payload) | payload
//
// `length` counts the payload and is at least 1. The bytes end on a byte boundary: the last record may be cut anywhere, also
// inside its header. This file walks; what follows from a cut or a wrong record is the consumer's.

import { SEGMENT_BYTES_MAX } from "../model/limits.js";
import type { RecordFormat } from "../model/record-format.js";
import { crc32c } from "./crc32c.js";

/** The one place of the client that knows a header. */
const HEADER_BYTES: Readonly<Record<RecordFormat, number>> = { plain: 4, crc32c: 8 };

/** What a step of the walk found. */
export const Found = {
  /** A whole record, whose sum matches where there is one. */
  RECORD: 0,
  /** Nothing: the bytes end where a record ends. */
  END: 1,
  /** The beginning of a record. */
  CUT: 2,
  /** Bytes that are no record: a length that cannot be. */
  BAD_LENGTH: 3,
  /** A whole record whose sum does not match its payload. */
  BAD_SUM: 4,
} as const;
export type Found = (typeof Found)[keyof typeof Found];

export class RecordCursor {
  /** The record that was found. */
  payloadFrom = 0;
  payloadEnd = 0;
  /** After CUT: how many bytes the whole record takes; 0 when not even its length is there. */
  cutRecordBytes = 0;

  private readonly headerBytes: number;
  private readonly summed: boolean;
  private view: DataView;
  private at = 0;
  private end = 0;

  constructor(format: RecordFormat) {
    this.headerBytes = HEADER_BYTES[format];
    this.summed = format === "crc32c";
    this.view = new DataView(new ArrayBuffer(0));
  }

  /** Where the next record begins. It stays at a record that is cut or wrong. */
  get position(): number {
    return this.at;
  }

  /** Starts at a record boundary. */
  reset(view: DataView, from: number, end: number): void {
    this.view = view;
    this.at = from;
    this.end = end;
  }

  next(): Found {
    const at = this.at;
    const left = this.end - at;
    if (left < 4) {
      this.cutRecordBytes = 0;
      return left === 0 ? Found.END : Found.CUT;
    }
    const length = this.view.getInt32(at);
    if (length <= 0 || length > SEGMENT_BYTES_MAX) return Found.BAD_LENGTH;
    const payloadFrom = at + this.headerBytes;
    const payloadEnd = payloadFrom + length;
    if (payloadEnd > this.end) {
      this.cutRecordBytes = payloadEnd - at;
      return Found.CUT;
    }
    if (this.summed && this.view.getUint32(at + 4) !== crc32c(this.view, payloadFrom, payloadEnd)) return Found.BAD_SUM;
    this.payloadFrom = payloadFrom;
    this.payloadEnd = payloadEnd;
    this.at = payloadEnd;
    return Found.RECORD;
  }
}
