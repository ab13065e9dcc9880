// A record whose payload is not what its codec takes.

import { MillraceError } from "../../model/errors.js";
import type { Offset, PartitionId } from "../../model/ids.js";

/**
 * A record came whole and its codec does not take it: somebody wrote something else into the topic, or in another version.
 * `cause` is what the codec said. The record itself is as it was appended; a damaged one is a `CorruptRecordError`.
 */
export class PayloadError extends MillraceError {
  override readonly name = "PayloadError";
  constructor(
    readonly topic: string,
    readonly partition: PartitionId,
    readonly offset: Offset,
    /** What could not be decoded. */
    readonly payload: Uint8Array,
    cause: unknown,
  ) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super("BAD_PAYLOAD", `the record at offset ${offset} of ${topic}-${partition} cannot be decoded: ${why}`, {
      cause,
    });
  }
}

/** For codecs: these bytes are none of mine. */
export const badPayload = (text: string, cause?: unknown): MillraceError =>
  new MillraceError("BAD_PAYLOAD", text, cause === undefined ? undefined : { cause });
