// Text as bytes, without an object for each: it is laid out where the next one will be, and is copied from there before that.

import { PRODUCER_TEXT_BYTES } from "../../model/limits.js";

/** A character takes at most so many bytes of UTF-8 for each unit of UTF-16. */
const UTF8_BYTES_MAX = 3;
/** Up to here a loop is faster than the call into native code. */
const LOOP_UNITS_MAX = 32;

export class TextBytes {
  /** The text of the last {@link encode}, from 0 to its length. */
  bytes: Uint8Array;
  private readonly scratch = Buffer.allocUnsafeSlow(PRODUCER_TEXT_BYTES);

  constructor() {
    this.bytes = this.scratch;
  }

  /** Lays out the text as UTF-8 in {@link bytes}, and says how many bytes it takes. */
  encode(text: string): number {
    const { scratch } = this;
    this.bytes = scratch;
    const units = text.length;
    if (units <= LOOP_UNITS_MAX) {
      let at = 0;
      for (; at < units; at++) {
        const unit = text.charCodeAt(at);
        if (unit > 0x7f) break;
        scratch[at] = unit;
      }
      if (at === units) return units;
    }
    if (units * UTF8_BYTES_MAX <= scratch.length) return scratch.write(text, 0, "utf8");
    this.bytes = Buffer.from(text);
    return this.bytes.length;
  }
}
