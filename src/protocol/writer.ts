// A buffer that grows, for messages whose size is not known beforehand. The hot messages have a fixed size and are written
// straight into an arena by their own files; this is for METADATA, HELLO and the client's requests.

import { invariant } from "../model/invariant.js";
import { putInt64 } from "./int64.js";

const encoder = new TextEncoder();
const STRING_BYTES_MAX = 0xffff;

export class Writer {
  private buffer: Uint8Array;
  private view: DataView;
  private at = 0;

  constructor(initialBytes = 256) {
    this.buffer = new Uint8Array(initialBytes);
    this.view = new DataView(this.buffer.buffer);
  }

  get length(): number {
    return this.at;
  }

  int8(value: number): this {
    const at = this.room(1);
    this.view.setInt8(at, value);
    return this;
  }

  int16(value: number): this {
    const at = this.room(2);
    this.view.setInt16(at, value);
    return this;
  }

  int32(value: number): this {
    const at = this.room(4);
    this.view.setInt32(at, value);
    return this;
  }

  int64(value: number): this {
    const at = this.room(8);
    putInt64(this.view, at, value);
    return this;
  }

  string(text: string): this {
    const bytes = encoder.encode(text);
    invariant(bytes.length <= STRING_BYTES_MAX, `a string on the wire has at most ${STRING_BYTES_MAX} bytes`);
    const at = this.room(2);
    this.view.setUint16(at, bytes.length);
    return this.bytes(bytes);
  }

  bytes(bytes: Uint8Array): this {
    const from = this.room(bytes.length);
    this.buffer.set(bytes, from);
    return this;
  }

  /** Overwrites an int32 that was written before: a length that is known only at the end. */
  patchInt32(at: number, value: number): void {
    invariant(at >= 0 && at + 4 <= this.at, "what is patched was written before");
    this.view.setInt32(at, value);
  }

  /** What was written. It belongs to the caller: the writer is not used afterwards. */
  finish(): Uint8Array {
    return this.buffer.subarray(0, this.at);
  }

  /** Takes `bytes` bytes and answers where. It may replace `view`, so it comes before anything that uses that. */
  private room(bytes: number): number {
    const from = this.at;
    const needed = from + bytes;
    if (needed > this.buffer.length) {
      const larger = new Uint8Array(Math.max(needed, this.buffer.length * 2));
      larger.set(this.buffer.subarray(0, from));
      this.buffer = larger;
      this.view = new DataView(larger.buffer);
    }
    this.at = needed;
    return from;
  }
}
