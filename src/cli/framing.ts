// Cuts a stream of bytes into records: lines, encoded lines, or sizes and payloads. It is fed as the bytes come; a record that
// comes in pieces is put together, never more of it than a record may have.

import { Failed } from "./failure.js";

export const FRAMINGS = ["line", "hex", "base64", "length"] as const;
export type Framing = (typeof FRAMINGS)[number];

export interface RecordTarget {
  /** The record `[from, end)`, its number in the input from 1 on. Not empty. The bytes are valid during the call. */
  record(bytes: Uint8Array, from: number, end: number, number: number): void;
}

export interface RecordSource {
  /** Throws {@link Failed} for input that is no record, naming its number; those before it were handed over. */
  push(chunk: Uint8Array): void;
  /** The input is over. */
  end(): void;
}

export interface FramingOptions {
  /** No record may be longer. */
  readonly recordBytesMax: number;
  /** Lines: drop empty ones instead of refusing them. */
  readonly skipEmpty: boolean;
}

export function recordsOf(framing: Framing, options: FramingOptions, target: RecordTarget): RecordSource {
  switch (framing) {
    case "line":
      return new Lines(options, target, undefined);
    case "hex":
      return new Lines(options, target, fromHex);
    case "base64":
      return new Lines(options, target, fromBase64);
    case "length":
      return new LengthPrefixed(options, target);
  }
}

const LF = 0x0a;
/** An encoded line is longer than its record: twice for hex, and room for a line's end. */
const ENCODED_FACTOR = 2;

class Lines implements RecordSource {
  private number = 0;
  /** The beginning of a line whose end did not come yet. */
  private carry = Buffer.alloc(0);
  private carried = 0;
  private readonly lineBytesMax: number;

  constructor(
    private readonly options: FramingOptions,
    private readonly target: RecordTarget,
    private readonly decode: ((line: Buffer) => Buffer | string) | undefined,
  ) {
    this.lineBytesMax = decode === undefined ? options.recordBytesMax : ENCODED_FACTOR * options.recordBytesMax + 1;
  }

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (;;) {
      const end = bytes.indexOf(LF, from);
      if (end < 0) break;
      if (this.carried > 0) {
        this.keep(bytes, from, end);
        this.endCarried();
      } else {
        this.line(bytes, from, end);
      }
      from = end + 1;
    }
    this.keep(bytes, from, bytes.length);
  }

  end(): void {
    // A last line without its line feed is a line.
    if (this.carried > 0) this.endCarried();
  }

  private endCarried(): void {
    const { carry, carried } = this;
    this.carried = 0;
    this.line(carry, 0, carried);
  }

  private keep(bytes: Buffer, from: number, end: number): void {
    const needed = this.carried + end - from;
    if (needed > this.lineBytesMax) this.refuse(this.number + 1, this.tooLong());
    if (needed > this.carry.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.carry.length * 2));
      this.carry.copy(larger, 0, 0, this.carried);
      this.carry = larger;
    }
    bytes.copy(this.carry, this.carried, from, end);
    this.carried = needed;
  }

  private line(bytes: Buffer, from: number, end: number): void {
    const number = ++this.number;
    if (from === end) {
      if (this.options.skipEmpty) return;
      this.refuse(number, "is empty, and a record has at least one byte: --skip-empty drops empty lines");
    }
    if (end - from > this.lineBytesMax) this.refuse(number, this.tooLong());
    if (this.decode === undefined) {
      this.target.record(bytes, from, end, number);
      return;
    }
    const decoded = this.decode(bytes.subarray(from, end));
    if (typeof decoded === "string") this.refuse(number, decoded);
    if (decoded.length > this.options.recordBytesMax) this.refuse(number, this.tooLong());
    this.target.record(decoded, 0, decoded.length, number);
  }

  private tooLong(): string {
    return `has more than ${this.options.recordBytesMax} bytes, which is all that a request to this broker can hold`;
  }

  private refuse(number: number, why: string): never {
    throw new Failed(`input line ${number} ${why}`);
  }
}

/** The line's bytes, or what is wrong with it. */
function fromHex(line: Buffer): Buffer | string {
  const text = line.toString("latin1").trimEnd();
  return /^(?:[0-9a-fA-F]{2})+$/.test(text) ? Buffer.from(text, "hex") : "is not hex: expected pairs of 0-9 and a-f";
}

function fromBase64(line: Buffer): Buffer | string {
  const text = line.toString("latin1").trimEnd();
  const valid = text !== "" && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  return valid
    ? Buffer.from(text, "base64")
    : "is not base64: expected groups of four of A-Z a-z 0-9 + / with = at the end";
}

const SIZE_BYTES = 4;

/** int32 size, big-endian, and then so many bytes: what PRODUCE carries and `plain` stores. */
class LengthPrefixed implements RecordSource {
  private number = 0;
  private rest = Buffer.alloc(0);
  private kept = 0;

  constructor(
    private readonly options: FramingOptions,
    private readonly target: RecordTarget,
  ) {}

  push(chunk: Uint8Array): void {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.kept > 0) {
      this.keep(bytes);
      if (this.kept < this.neededBytes()) return;
      bytes = this.rest.subarray(0, this.kept);
      this.rest = Buffer.alloc(0);
      this.kept = 0;
    }
    let at = 0;
    while (bytes.length - at >= SIZE_BYTES) {
      const size = this.checked(bytes.readInt32BE(at));
      if (bytes.length - at < SIZE_BYTES + size) break;
      this.target.record(bytes, at + SIZE_BYTES, at + SIZE_BYTES + size, ++this.number);
      at += SIZE_BYTES + size;
    }
    this.keep(bytes.subarray(at));
  }

  end(): void {
    if (this.kept > 0) throw new Failed(`input record ${this.number + 1} is cut: the input ends in the middle of it`);
  }

  /** How much is needed before the kept bytes give a record. */
  private neededBytes(): number {
    return this.kept < SIZE_BYTES ? SIZE_BYTES : SIZE_BYTES + this.checked(this.rest.readInt32BE(0));
  }

  private keep(bytes: Buffer): void {
    const needed = this.kept + bytes.length;
    if (needed > this.rest.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.rest.length * 2));
      this.rest.copy(larger, 0, 0, this.kept);
      this.rest = larger;
    }
    bytes.copy(this.rest, this.kept);
    this.kept = needed;
  }

  private checked(size: number): number {
    if (size >= 1 && size <= this.options.recordBytesMax) return size;
    throw new Failed(
      `input record ${this.number + 1} has a size of ${size}: expected 1 to ${this.options.recordBytesMax}, as a big-endian int32`,
    );
  }
}
