// Records as PRODUCE carries them: count × (int32 size | payload). Built by appending, so that a batch exists only once
// before it is copied into the request.

import { badArgument, shown } from "../model/arguments.js";
import { MillraceError } from "../model/errors.js";
import { CLIENT_REGION_BYTES_MAX } from "../model/limits.js";
import { badText, isWholeText } from "./checks.js";

/** Records ready to be sent. */
export interface RecordRegion {
  readonly records: number;
  readonly bytes: Uint8Array;
}

const SIZE_BYTES = 4;
/** Up to here a loop is no slower than making the view that `set` needs. Words through DataViews won nothing: 68 against 64 ns a line. */
const LOOP_BYTES_MAX = 48;

/**
 * A region of these records; text becomes UTF-8. Throws BAD_ARGUMENT for none, or for an empty one: there are no empty records; and
 * RECORD_TOO_LARGE for more than any broker takes, 256 MiB.
 */
export function recordRegion(records: Iterable<Uint8Array | string>): RecordRegion {
  return regionBuilderOf(records, CLIENT_REGION_BYTES_MAX);
}

/** The same for an owner that goes on with it. Of what would take more than `bytesMax` no more is asked for: it may have no end. */
export function regionBuilderOf(records: Iterable<Uint8Array | string>, bytesMax: number): RegionBuilder {
  // Both can be iterated, and would make a record of each letter or byte.
  if (typeof records === "string" || records instanceof Uint8Array || !isIterable(records)) {
    throw badArgument("records", records, "an array of Uint8Array or text");
  }
  const builder = new RegionBuilder();
  for (const record of records) {
    const bytes = typeof record === "string" ? Buffer.from(record) : record;
    if (typeof record === "string" && !isWholeText(record, bytes.length)) {
      throw badText(`record ${builder.records}`, record);
    }
    if (!(bytes instanceof Uint8Array)) throw badArgument(`record ${builder.records}`, record, "a Uint8Array or text");
    if (bytes.length === 0) {
      throw new MillraceError("BAD_ARGUMENT", `record ${builder.records} is empty: a record has at least one byte`);
    }
    if (builder.length + RegionBuilder.cost(bytes.length) > bytesMax) {
      const text = `a batch of ${builder.records + 1} records or more does not fit one request, which takes ${bytesMax} bytes of them, 4 beside each`;
      throw new MillraceError("RECORD_TOO_LARGE", text);
    }
    builder.append(bytes, 0, bytes.length);
  }
  if (builder.records === 0) throw new MillraceError("BAD_ARGUMENT", "a batch has at least one record");
  return builder;
}

const isIterable = (value: unknown): boolean =>
  typeof value === "object" && value !== null && typeof (value as Iterable<unknown>)[Symbol.iterator] === "function";

export class RegionBuilder implements RecordRegion {
  private buffer: Buffer;
  private end = 0;
  private count = 0;

  constructor(initialBytes = 1024) {
    this.buffer = Buffer.allocUnsafeSlow(initialBytes);
  }

  get records(): number {
    return this.count;
  }

  /** What was appended. Valid until the next append or clear. */
  get bytes(): Uint8Array {
    return this.buffer.subarray(0, this.end);
  }

  get length(): number {
    return this.end;
  }

  /** How many bytes the region grows by with a record of `payloadBytes`. */
  static cost(payloadBytes: number): number {
    return SIZE_BYTES + payloadBytes;
  }

  /** Appends the record `[from, end)` of `source`. Throws BAD_ARGUMENT when that is empty or not inside of it. */
  append(source: Uint8Array, from: number, end: number): void {
    const size = end - from;
    if (!(size > 0 && from >= 0 && source instanceof Uint8Array && end <= source.length)) {
      throw badArgument("record", source, `at least one byte, from ${shown(from)} to ${shown(end)} of a Uint8Array`);
    }
    let to = this.end;
    if (to + SIZE_BYTES + size > this.buffer.length) this.grow(to + SIZE_BYTES + size);
    const buffer = this.buffer;
    buffer[to] = size >>> 24;
    buffer[to + 1] = size >>> 16;
    buffer[to + 2] = size >>> 8;
    buffer[to + 3] = size;
    to += SIZE_BYTES;
    if (size <= LOOP_BYTES_MAX) {
      for (let at = from; at < end; at++) buffer[to++] = source[at];
    } else {
      // A view costs as much as copying a hundred bytes.
      buffer.set(size === source.length ? source : source.subarray(from, end), to);
      to += size;
    }
    this.end = to;
    this.count++;
  }

  /** Appends a record of text that takes so many bytes as UTF-8, at least one. */
  appendText(text: string, size: number): void {
    let to = this.end;
    if (to + SIZE_BYTES + size > this.buffer.length) this.grow(to + SIZE_BYTES + size);
    const buffer = this.buffer;
    buffer[to] = size >>> 24;
    buffer[to + 1] = size >>> 16;
    buffer[to + 2] = size >>> 8;
    buffer[to + 3] = size;
    to += SIZE_BYTES;
    // A byte for each unit: it is ASCII.
    if (size <= LOOP_BYTES_MAX && size === text.length) {
      for (let at = 0; at < size; at++) buffer[to + at] = text.charCodeAt(at);
    } else buffer.write(text, to, "utf8");
    this.end = to + size;
    this.count++;
  }

  /** Appends the records of another region. */
  appendRegion({ records, bytes }: RecordRegion): void {
    if (this.end + bytes.length > this.buffer.length) this.grow(this.end + bytes.length);
    this.buffer.set(bytes, this.end);
    this.end += bytes.length;
    this.count += records;
  }

  /** Empties it and keeps its memory. */
  clear(): void {
    this.end = 0;
    this.count = 0;
  }

  private grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.buffer.length * 2));
    larger.set(this.buffer.subarray(0, this.end));
    this.buffer = larger;
  }
}
