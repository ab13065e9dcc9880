// Whether what stands in a log are these records. Asked after a cut, when the log's end says that they may be there.

import { MillraceError } from "../../model/errors.js";
import type { RecordFormat } from "../../model/record-format.js";
import { Found, RecordCursor } from "../../protocol/records.js";
import type { RequestOptions } from "../connection-options.js";
import type { Link } from "../link.js";
import type { RecordRegion } from "../record-region.js";

export interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly format: RecordFormat;
  readonly offset: number;
}

const SIZE_BYTES = 4;
/** What a record takes in the log beside its size and payload, and some room for a second look to be rare. */
const STORED_EXTRA_BYTES = 8;

/**
 * Whether the first `count` records of the region stand from `offset` on. What readers may not see yet, or not any more, is taken
 * for the same: the log's end is then all there is to go by.
 */
export async function hasRecords(
  link: Link,
  place: Place,
  region: RecordRegion,
  count: number,
  request: RequestOptions,
): Promise<boolean> {
  const { topic, partition, format, offset } = place;
  const own = Buffer.from(region.bytes);
  const maxBytes = own.length + count * STORED_EXTRA_BYTES;
  const cursor = new RecordCursor(format);
  let at = 0;
  for (let seen = 0; seen < count; ) {
    const payload = await link.fetch(topic, partition, offset + seen, maxBytes, request).then(
      (answer) => answer.payload,
      (error: unknown) => {
        // Retention was quicker.
        if (error instanceof MillraceError && error.code === "OFFSET_OUT_OF_RANGE") return new Uint8Array(0);
        throw error;
      },
    );
    const stored = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    cursor.reset(new DataView(payload.buffer, payload.byteOffset, payload.byteLength), 0, payload.length);
    const before = seen;
    for (; seen < count && cursor.next() === Found.RECORD; seen++) {
      const end = at + SIZE_BYTES + own.readInt32BE(at);
      if (stored.compare(own, at + SIZE_BYTES, end, cursor.payloadFrom, cursor.payloadEnd) !== 0) return false;
      at = end;
    }
    // Nothing to read, or a record that is larger than any of these: then it is another one.
    if (seen === before) return payload.length === 0;
  }
  return true;
}
