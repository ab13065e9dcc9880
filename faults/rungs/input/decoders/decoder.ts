// What a decoder under test is.

export interface Decoder {
  readonly name: string;
  /** Valid ones. */
  readonly samples: readonly Uint8Array[];
  /** Long ones, around a bound: tried as they are. */
  readonly long?: readonly Uint8Array[];
  /**
   * Decodes what lies in `[from, end)` of the view and returns what it found, or throws. `file`: the bytes alone, in memory of their own.
   */
  readonly decode: (at: Range) => unknown;
  /** Codes of errors that it may throw. */
  readonly throws: readonly string[];
  /** What must come out, by another way: compared with what `decode` returned. */
  readonly reference?: (bytes: Uint8Array) => unknown;
  /** Makes sums right again, without which damage never gets behind them. */
  readonly mend?: (bytes: Uint8Array) => void;
  /** Bytes that it may take beyond what is in proportion. */
  readonly takes?: number;
  /** It goes through files: fewer cases. */
  readonly slow?: boolean;
}

export interface Range {
  readonly view: DataView;
  readonly from: number;
  readonly end: number;
  readonly bytes: Uint8Array;
}

const AROUND = 64;

/** The bytes among others: who looks outside answers differently. */
export function among(bytes: Uint8Array, filler: number): Range {
  const buffer = new Uint8Array(bytes.length + 2 * AROUND).fill(filler);
  buffer.set(bytes, AROUND);
  const view = new DataView(buffer.buffer, 16);
  return { view, from: AROUND - 16, end: AROUND - 16 + bytes.length, bytes: bytes.slice() };
}
