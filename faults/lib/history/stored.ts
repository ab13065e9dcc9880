// Records as they come from a FETCH, read by hand: a second opinion on the addon's and the client's.

import type { RecordFormat } from "../../../src/model/record-format.js";
import { crc32c } from "../../../src/protocol/crc32c.js";

export interface Walked {
  readonly payloads: Uint8Array[];
  /** Bytes of whole records; what follows is the beginning of one. */
  readonly bytes: number;
  /** A length or a sum that cannot be. */
  readonly wrong?: string;
}

/** With `most`, no more than so many records. */
export function walkStored(bytes: Uint8Array, format: RecordFormat, most = Number.POSITIVE_INFINITY): Walked {
  const header = format === "plain" ? 4 : 8;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const payloads: Uint8Array[] = [];
  let at = 0;
  while (at + header <= bytes.length && payloads.length < most) {
    const length = view.getInt32(at);
    if (length < 1) return { payloads, bytes: at, wrong: `a length of ${length} at byte ${at} of the answer` };
    const end = at + header + length;
    if (end > bytes.length) break;
    const payload = bytes.subarray(at + header, end);
    if (format === "crc32c" && view.getUint32(at + 4) !== crc32c(view, at + header, end)) {
      return { payloads, bytes: at, wrong: `a sum that does not match at byte ${at} of the answer` };
    }
    payloads.push(payload);
    at = end;
  }
  return { payloads, bytes: at };
}
