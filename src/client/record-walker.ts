// Finds the whole records of an answer and verifies their sums. There are two that do the same: this one, in JavaScript, which runs
// everywhere, and one in the addon, which an entry of the package offers where it can (src/native-walker.ts).

import type { RecordFormat } from "../model/record-format.js";
import { WalkColumn, WalkStop } from "../model/record-walk.js";
import { Found, RecordCursor } from "../protocol/records.js";

export interface RecordWalker {
  /** Which one it is. */
  readonly verification: "native" | "javascript";
  /**
   * Walks over the records of `bytes` from `from` on, a record boundary. Writes where each payload begins and ends into `ranges`, at
   * most `room` records, and what it found into `walked`, by {@link WalkColumn}.
   */
  walk(
    bytes: Uint8Array,
    from: number,
    format: RecordFormat,
    ranges: Uint32Array,
    room: number,
    walked: Uint32Array,
  ): void;
}

const cursors: Readonly<Record<RecordFormat, RecordCursor>> = {
  plain: new RecordCursor("plain"),
  crc32c: new RecordCursor("crc32c"),
};
const nothing = new DataView(new ArrayBuffer(0));

const stopOf = {
  [Found.END]: WalkStop.END,
  [Found.CUT]: WalkStop.CUT,
  [Found.BAD_LENGTH]: WalkStop.BAD_LENGTH,
  [Found.BAD_SUM]: WalkStop.BAD_SUM,
} as const;

export const javascriptWalker: RecordWalker = {
  verification: "javascript",
  walk(bytes, from, format, ranges, room, walked) {
    const end = bytes.length;
    const cursor = cursors[format];
    cursor.reset(new DataView(bytes.buffer, bytes.byteOffset, end), from, end);
    let stop: WalkStop = WalkStop.FULL;
    let records = 0;
    for (; records < room; records++) {
      const found = cursor.next();
      if (found !== Found.RECORD) {
        stop = stopOf[found];
        break;
      }
      ranges[2 * records] = cursor.payloadFrom;
      ranges[2 * records + 1] = cursor.payloadEnd;
    }
    if (cursor.position === end) stop = WalkStop.END;
    walked[WalkColumn.RECORDS] = records;
    walked[WalkColumn.STOP] = stop;
    walked[WalkColumn.POSITION] = cursor.position;
    walked[WalkColumn.CUT_RECORD_BYTES] = stop === WalkStop.CUT ? cursor.cutRecordBytes : 0;
    // The cursors stay; the answer must not stay with them.
    cursor.reset(nothing, 0, 0);
  },
};
