// How much a reader asks for at once, and which bounds of it contradict each other. Refused at the call: a broker would answer such a
// request with no more than that it does not parse, or let it wait for what never comes.

import { badArgument } from "../model/arguments.js";
import type { MillraceError } from "../model/errors.js";
import { CLIENT_FETCH_BYTES_MIN } from "../model/limits.js";
import { badMinBytes, INT32_MAX, outOfRange } from "./checks.js";

/** How much a reader asks for, in bytes as stored. */
export interface ReadBounds {
  /**
   * At most so many bytes of a partition at a time, at least 16. Default 1 MiB, or less where another bound is. A subscription that has
   * much to read asks for more than that, up to `answerBytes`, while its reader is so quick that he has handled that much within a tenth
   * of a second, and so do the polls of a {@link Client.consumer}, up to 4 MiB; with a number here they never do.
   */
  readonly maxBytes?: number | undefined;
  /**
   * When the next record is larger than `maxBytes`, ask for as much as it takes, up to this; what is larger ends the reading with
   * {@link RecordExceedsMaxBytesError}. Default for subscriptions and {@link Client.consumer}: the largest request that the broker takes
   * (8 MiB unless it is set otherwise), so that whatever a producer can write is read, and one such record more than `maxBytes` is in
   * memory. For {@link Consumer.open}: `maxBytes`.
   */
  readonly maxBytesLimit?: number | undefined;
}

/** The same with what all partitions together may bring, and what is waited for. */
export interface AnswerBounds extends ReadBounds {
  readonly answerBytes?: number | undefined;
  readonly minBytes?: number | undefined;
}

const MAX_BYTES = 1024 * 1024;

/** What is asked for of a partition, unless its next record is larger. */
export function maxBytesOf({ maxBytes, maxBytesLimit = INT32_MAX, answerBytes = INT32_MAX }: AnswerBounds): number {
  return maxBytes ?? Math.min(MAX_BYTES, maxBytesLimit, answerBytes);
}

/** BAD_ARGUMENT, or undefined. */
export function badBounds(bounds: AnswerBounds): MillraceError | undefined {
  for (const name of ["maxBytes", "maxBytesLimit", "answerBytes"] as const) {
    const value = bounds[name];
    const bad = value === undefined ? undefined : outOfRange(name, value, CLIENT_FETCH_BYTES_MIN, INT32_MAX);
    if (bad !== undefined) return bad;
  }
  const maxBytes = maxBytesOf(bounds);
  const { maxBytesLimit = maxBytes, answerBytes = maxBytes, minBytes = 0 } = bounds;
  const atLeast = `maxBytes, ${maxBytes}, or more`;
  if (maxBytesLimit < maxBytes) return badArgument("maxBytesLimit", maxBytesLimit, atLeast);
  if (answerBytes < maxBytes) return badArgument("answerBytes", answerBytes, atLeast);
  return badMinBytes(minBytes, maxBytes);
}
