// Bytes for tests: written by hand in hex, put in the middle of other bytes, cut at every place.

/** "0001 ff" → bytes. Blanks and line breaks are for the eye. */
export function hex(text: string): Uint8Array {
  const digits = text.replaceAll(/\s/g, "");
  if (digits.length % 2 !== 0 || /[^0-9a-f]/i.test(digits)) throw new Error(`not hex: ${text}`);
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

export function concat(...given: readonly Uint8Array[] | [readonly Uint8Array[]]): Uint8Array {
  const parts = given.flat() as Uint8Array[];
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const int32 = (value: number): Uint8Array =>
  Uint8Array.of((value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);

export interface Embedded {
  readonly view: DataView;
  readonly from: number;
  readonly end: number;
}

/** The bytes inside a larger buffer, with `filler` around them: a decoder that looks outside its range answers differently. */
export function embed(bytes: Uint8Array, filler = 0): Embedded {
  const around = 64;
  const buffer = new Uint8Array(bytes.length + 2 * around).fill(filler);
  buffer.set(bytes, around);
  // A view that does not begin at its buffer's start, as the views of an arena do not.
  return { view: new DataView(buffer.buffer, 16), from: around - 16, end: around - 16 + bytes.length };
}

/** Every proper prefix. */
export function* prefixes(bytes: Uint8Array): Generator<Uint8Array> {
  for (let length = 0; length < bytes.length; length++) yield bytes.subarray(0, length);
}

/** The bytes with an int32 at `at` replaced, once for each extreme that is not what stands there. */
export function* withExtremes(bytes: Uint8Array, at: number): Generator<Uint8Array> {
  const now = new DataView(bytes.buffer, bytes.byteOffset).getInt32(at);
  const extremes = [-0x80000000, -1, 0, 1, now - 1, now + 1, 0x7ffffffe, 0x7fffffff];
  for (const extreme of extremes) {
    if (extreme === now) continue;
    const changed = bytes.slice();
    changed.set(int32(extreme), at);
    yield changed;
  }
}
