// A cursor over the bytes of one body. It never reads behind its end: a read that would, answers zero and marks the reader
// as failed for good, so a decoder reads its grammar straight through and asks once, at the end. The one thing a decoder
// must not do is loop over a number from the wire: `count` answers only counts that can fit in what follows.

import { isTopicNameAt } from "../model/topic-name.js";
import { readInt64 } from "./int64.js";

const decoder = new TextDecoder("utf-8", { fatal: true });

export class Reader {
  private failed = false;

  constructor(
    private readonly view: DataView,
    private at: number,
    private readonly end: number,
  ) {}

  get position(): number {
    return this.at;
  }

  get remaining(): number {
    return this.end - this.at;
  }

  /** Whether everything so far was there and valid. */
  get ok(): boolean {
    return !this.failed;
  }

  /** Whether the grammar was met and nothing is left over. */
  get finished(): boolean {
    return !this.failed && this.at === this.end;
  }

  /** Marks the body as one that does not parse. */
  fail(): void {
    this.failed = true;
  }

  /** Moves over `bytes` bytes and answers where they begin; fails (and answers −1) when they are not there. */
  skip(bytes: number): number {
    if (this.failed || bytes < 0 || bytes > this.end - this.at) {
      this.failed = true;
      return -1;
    }
    const from = this.at;
    this.at = from + bytes;
    return from;
  }

  int8(): number {
    const from = this.skip(1);
    return from < 0 ? 0 : this.view.getInt8(from);
  }

  int16(): number {
    const from = this.skip(2);
    return from < 0 ? 0 : this.view.getInt16(from);
  }

  int32(): number {
    const from = this.skip(4);
    return from < 0 ? 0 : this.view.getInt32(from);
  }

  /** Fails on a number outside ±(2^53 − 1). */
  int64(): number {
    const from = this.skip(8);
    if (from < 0) return 0;
    const value = readInt64(this.view, from);
    if (Number.isNaN(value)) {
      this.failed = true;
      return 0;
    }
    return value;
  }

  /** A count of items of at least `itemBytes` bytes each: fails unless it is in `0 … remaining / itemBytes`. */
  count(itemBytes: number): number {
    const value = this.int32();
    if (value < 0 || value > Math.floor(this.remaining / itemBytes)) {
      this.failed = true;
      return 0;
    }
    return value;
  }

  /** Fails on bytes that are not UTF-8. */
  string(): string {
    const bytes = this.uint16();
    const from = this.skip(bytes);
    if (from < 0) return "";
    try {
      return decoder.decode(new Uint8Array(this.view.buffer, this.view.byteOffset + from, bytes));
    } catch {
      this.failed = true;
      return "";
    }
  }

  /** Fails on what is not a topic name. */
  topicName(): string {
    const bytes = this.uint16();
    const from = this.skip(bytes);
    if (from < 0) return "";
    if (!isTopicNameAt(this.view, from, bytes)) {
      this.failed = true;
      return "";
    }
    let name = "";
    for (let i = from; i < from + bytes; i++) name += String.fromCharCode(this.view.getUint8(i));
    return name;
  }

  private uint16(): number {
    const from = this.skip(2);
    return from < 0 ? 0 : this.view.getUint16(from);
  }
}
