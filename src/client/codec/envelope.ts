// The envelope: what belongs to a record besides its value, inside the payload. Brokers do not look into it.
//
//   0        1                       9                 13          13+k
//   +--------+-----------------------+-----------------+-----------+--------------+-------------+-----------+
//   | u8     | i64 timestamp         | i32 key length  | key       | u16 count    | headers     | value     |
//   | F9     | ms since 1970         | k, or −1: none  | k bytes   | of headers   | count of …  | the rest  |
//   +--------+-----------------------+-----------------+-----------+--------------+-------------+-----------+
//
//   header:  u16 length of the name (at least 1) | name, UTF-8 | i32 length of the value | value, UTF-8
//
// Big-endian, like everything else here. The first byte is F8 plus the version, 1: such a byte begins no UTF-8 text, so what is
// plain JSON or text is told from an envelope by its first byte. A name stands once. The timestamp is at most 8.64·10¹⁵ away
// from 1970, as a Date is. The value may be empty.

import { badArgument, shown } from "../../model/arguments.js";
import { systemClock } from "../../model/clock.js";
import { MillraceError } from "../../model/errors.js";
import type { Codec } from "./codec.js";
import { badPayload } from "./payload-error.js";
import { bytesOfText, checkText, textOf } from "./plain-codecs.js";

const VERSION_BASE = 0xf8;
const VERSION_BYTE = VERSION_BASE + 1;
const HEAD_BYTES = 1 + 8 + 4;
const NO_KEY = -1;
const UINT16_MAX = 0xffff;
const TIME_MAX = 8.64e15;
const TWO_32 = 0x1_0000_0000;
/** Up to here a loop over ASCII is faster than a decoder, which must be called outside of the engine. */
const LOOP_BYTES_MAX = 48;

const NO_HEADERS: ReadonlyMap<string, string> = new Map();

/** Names and texts. */
export type RecordHeaders = ReadonlyMap<string, string>;
/** As they are given: an object or a map. */
export type RecordHeadersInput = Readonly<Record<string, string>> | RecordHeaders;

/** What an envelope says of a value. */
export interface EnvelopeHead {
  /** When it was made, in milliseconds since 1970. */
  readonly timestampMs: number;
  readonly key: Uint8Array | undefined;
  readonly headers: RecordHeaders;
}

/** A value with what belongs to it. */
export interface Envelope<T> extends EnvelopeHead {
  readonly value: T;
}

/** What is put into an envelope. */
export interface EnvelopeInput<T> {
  readonly value: T;
  /** Text is taken as UTF-8. */
  readonly key?: string | Uint8Array | undefined;
  readonly headers?: RecordHeadersInput | undefined;
  /** In milliseconds since 1970. Default: now. */
  readonly timestampMs?: number | undefined;
}

/** From {@link envelope}: for `client.topic`, and by itself for whoever reads and writes payloads without one. */
export class EnvelopeCodec<T> {
  constructor(private readonly inner: Codec<T>) {}

  /** Throws BAD_ARGUMENT, and as the inner codec. */
  seal({ value, key, headers, timestampMs = systemClock.now() }: EnvelopeInput<T>): Uint8Array {
    if (!(Number.isInteger(timestampMs) && Math.abs(timestampMs) <= TIME_MAX)) {
      throw badArgument("timestampMs", timestampMs, "whole milliseconds since 1970");
    }
    const keyBytes = key === undefined || key instanceof Uint8Array ? key : bytesOfText("key", key);
    const texts = headerTexts(headers);
    const payload = this.inner.encode(value);
    if (!(payload instanceof Uint8Array)) throw badArgument("what the inner codec made", payload, "a Uint8Array");
    let size = HEAD_BYTES + (keyBytes?.length ?? 0) + 2 + payload.length;
    for (const { nameBytes, valueBytes } of texts) size += 2 + nameBytes + 4 + valueBytes;

    // From Node's pool: what is written now is copied by whoever sends it. Every byte of it is set below.
    const bytes = Buffer.allocUnsafe(size);
    bytes[0] = VERSION_BYTE;
    const high = Math.floor(timestampMs / TWO_32);
    bytes.writeInt32BE(high, 1);
    bytes.writeUInt32BE(timestampMs - high * TWO_32, 5);
    bytes.writeInt32BE(keyBytes?.length ?? NO_KEY, 9);
    let at = HEAD_BYTES;
    if (keyBytes !== undefined) bytes.set(keyBytes, at);
    at = bytes.writeUInt16BE(texts.length, at + (keyBytes?.length ?? 0));
    for (const { name, nameBytes, value: text, valueBytes } of texts) {
      at = bytes.writeUInt16BE(nameBytes, at);
      at += bytes.write(name, at);
      at = bytes.writeInt32BE(valueBytes, at);
      at += bytes.write(text, at);
    }
    bytes.set(payload, at);
    return bytes;
  }

  /** Throws BAD_PAYLOAD, and as the inner codec. */
  open(payload: Uint8Array): Envelope<T> {
    const { timestampMs, key, headers, valueBytes } = this.openHead(payload);
    return { timestampMs, key, headers, value: this.inner.decode(valueBytes) };
  }

  /** What is around the value, and its bytes. Throws BAD_PAYLOAD. */
  openHead(payload: Uint8Array): EnvelopeHead & { readonly valueBytes: Uint8Array } {
    const from = new Opening(payload);
    const version = from.uint8("the version");
    if (version !== VERSION_BYTE) throw badPayload(wrongVersion(version));
    const timestampMs = from.int64("the timestamp");
    // Beyond 2^53 it is not exact, and out of this range all the same.
    if (!(Math.abs(timestampMs) <= TIME_MAX)) throw badPayload(`its timestamp is ${timestampMs}, which no date has`);
    const keyBytes = from.int32("the length of the key");
    const key = keyBytes === NO_KEY ? undefined : from.bytes(keyBytes, "the key");
    const count = from.uint16("the count of headers");
    if (count === 0) return { timestampMs, key, headers: NO_HEADERS, valueBytes: from.rest() };
    const headers = new Map<string, string>();
    for (let i = 0; i < count; i++) {
      const nameBytes = from.uint16("the length of a header's name");
      if (nameBytes === 0) throw badPayload("a header of its envelope has no name");
      const name = from.text(nameBytes, "a header's name");
      if (headers.has(name)) throw badPayload(`the header ${shown(name)} stands twice in its envelope`);
      const valueBytes = from.int32("the length of a header");
      headers.set(name, from.text(valueBytes, "a header"));
    }
    return { timestampMs, key, headers, valueBytes: from.rest() };
  }

  /** The value of what {@link openHead} gave. */
  valueOf(valueBytes: Uint8Array): T {
    return this.inner.decode(valueBytes);
  }
}

/**
 * Puts key, headers and a timestamp around a value, inside the payload. The layout is in docs/envelope.md, for readers in other
 * languages.
 *
 * ```ts
 * import { envelope, json } from "millrace/client";
 *
 * const orders = client.topic("orders", { codec: envelope(json<{ readonly apples: number }>()) });
 *
 * // The key chooses the partition, and readers see it.
 * await orders.send({ apples: 3 }, { key: "fruit", headers: { trace: "4711" } });
 * for await (const { value, keyText, headers } of orders.replay().records()) {
 *   console.log(value.apples, keyText, headers.get("trace"));
 * }
 * ```
 */
export function envelope<T>(inner: Codec<T>): EnvelopeCodec<T> {
  if (typeof (inner as Partial<Codec<T>> | undefined)?.encode !== "function") {
    throw badArgument("inner", inner, "the codec of the value, for instance json()");
  }
  return new EnvelopeCodec(inner);
}

interface HeaderText {
  readonly name: string;
  readonly nameBytes: number;
  readonly value: string;
  readonly valueBytes: number;
}

const NO_TEXTS: readonly HeaderText[] = [];

function headerTexts(headers: RecordHeadersInput | undefined): readonly HeaderText[] {
  if (headers === undefined) return NO_TEXTS;
  if (typeof headers !== "object" || headers === null) throw badArgument("headers", headers, "an object of texts");
  // A map of another realm is none of this one's, and as an object it would have nothing in it.
  const entries = isMap(headers) ? [...headers.entries()] : Object.entries(headers);
  if (entries.length > UINT16_MAX) {
    throw new MillraceError(
      "BAD_ARGUMENT",
      `headers: there are ${entries.length}, and an envelope takes ${UINT16_MAX}`,
    );
  }
  return entries.map(([name, value]) => {
    checkText("the name of a header", name);
    const nameBytes = Buffer.byteLength(name);
    if (nameBytes === 0 || nameBytes > UINT16_MAX) {
      throw badArgument("the name of a header", name, `1 to ${UINT16_MAX} bytes`);
    }
    checkText(`the header ${name}`, value);
    return { name, nameBytes, value, valueBytes: Buffer.byteLength(value) };
  });
}

const isMap = (headers: RecordHeadersInput): headers is RecordHeaders => typeof headers.entries === "function";

function wrongVersion(byte: number): string {
  if (byte < VERSION_BASE) return "it is no envelope";
  return `its envelope has version ${byte - VERSION_BASE}, and this client knows version 1`;
}

/**
 * Reads from the front. Every length is checked against what is left before it is used. Bytes by hand: a DataView for each record
 * took longer than all that was read with it.
 */
class Opening {
  private at = 0;

  constructor(private readonly payload: Uint8Array) {}

  uint8(what: string): number {
    return this.payload[this.take(1, what)];
  }

  uint16(what: string): number {
    const at = this.take(2, what);
    return (this.payload[at] << 8) | this.payload[at + 1];
  }

  int32(what: string): number {
    return this.word(this.take(4, what));
  }

  int64(what: string): number {
    const at = this.take(8, what);
    return this.word(at) * TWO_32 + (this.word(at + 4) >>> 0);
  }

  bytes(length: number, what: string): Uint8Array {
    const from = this.take(length, what);
    return this.payload.subarray(from, from + length);
  }

  text(length: number, what: string): string {
    const { payload } = this;
    const from = this.take(length, what);
    const end = from + length;
    if (length > LOOP_BYTES_MAX) return textOf(payload.subarray(from, end));
    let text = "";
    for (let at = from; at < end; at++) {
      if (payload[at] >= 0x80) return textOf(payload.subarray(from, end));
      text += String.fromCharCode(payload[at]);
    }
    return text;
  }

  rest(): Uint8Array {
    return this.payload.subarray(this.at);
  }

  private word(at: number): number {
    const { payload } = this;
    return (payload[at] << 24) | (payload[at + 1] << 16) | (payload[at + 2] << 8) | payload[at + 3];
  }

  private take(length: number, what: string): number {
    const left = this.payload.length - this.at;
    if (length < 0 || length > left) {
      throw badPayload(`its envelope is cut or wrong: ${what} takes ${length} bytes where ${left} are left`);
    }
    const from = this.at;
    this.at += length;
    return from;
  }
}
