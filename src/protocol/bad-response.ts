// A response that is not what its grammar says: the other side is not a broker, or another one than it says.

import { MillraceError } from "../model/errors.js";
import { Reader } from "./reader.js";

/** Reads a response's body with `read` and throws BAD_RESPONSE unless that met the grammar with nothing left over. */
export function decodeResponse<T>(
  message: string,
  view: DataView,
  from: number,
  end: number,
  read: (reader: Reader) => T,
): T {
  const reader = new Reader(view, from, end);
  const value = read(reader);
  if (!reader.finished) {
    throw new MillraceError("BAD_RESPONSE", `the answer to ${message} does not parse (${end - from} bytes)`);
  }
  return value;
}
