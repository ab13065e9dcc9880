// The record formats as storage needs them: the number the addon knows a format by, and how much longer than on the wire a
// record is as stored. A strategy table; the walk, the sums and the encoding are the addon's rows of the same table.

import { RECORD_FORMATS, type RecordFormat } from "../model/record-format.js";
import { RecordFormatId } from "../native/binding.js";

export interface StoredFormat {
  readonly name: RecordFormat;
  readonly id: RecordFormatId;
  /** Bytes in front of a payload as stored. */
  readonly headerBytes: number;
  /** What a record takes as stored beyond what it takes in a PRODUCE (`int32 size | payload`). */
  readonly extraBytes: number;
  /** The sum that a header at `at` holds; undefined in a format without sums. */
  sum(view: DataView, at: number): number | undefined;
}

const FORMATS: Readonly<Record<RecordFormat, StoredFormat>> = {
  plain: { name: "plain", id: RecordFormatId.plain, headerBytes: 4, extraBytes: 0, sum: () => undefined },
  crc32c: {
    name: "crc32c",
    id: RecordFormatId.crc32c,
    headerBytes: 8,
    extraBytes: 4,
    sum: (view, at) => view.getUint32(at + 4),
  },
};

export const storedFormat = (name: RecordFormat): StoredFormat => FORMATS[name];

export const isRecordFormat = (name: unknown): name is RecordFormat =>
  (RECORD_FORMATS as readonly unknown[]).includes(name);
