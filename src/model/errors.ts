// One base error with a literal-union code. Nobody matches message text.

import type { ErrorName } from "./error-codes.js";

/** Failures that are not outcomes of a request: refusals to open or start, misuse, and what the client adds. */
export type LocalErrorCode =
  | "DATA_DIR_IN_USE"
  | "DATA_DIR_UNUSABLE"
  | "LISTEN_FAILED"
  | "PARTITION_DAMAGED"
  | "PARTITION_IN_USE"
  | "BAD_CONFIG"
  | "BAD_ARGUMENT"
  | "CLOSED"
  | "CONNECTION_FAILED"
  | "CONNECTION_LOST"
  | "OUTCOME_UNKNOWN"
  | "QUEUE_FULL"
  | "DELIVERY_TIMEOUT"
  | "REQUEST_TIMEOUT"
  | "BAD_RESPONSE"
  | "RECORD_EXCEEDS_MAX_BYTES"
  | "CORRUPT_RECORD"
  | "BAD_PAYLOAD"
  | "BAD_CHECKPOINT"
  | "CHECKPOINT_FAILED"
  | "ADDON_UNAVAILABLE";

export type MillraceErrorCode = Exclude<ErrorName, "NONE"> | LocalErrorCode;

/** What every failure of millrace is. `code` is stable; `message` is for people. */
export class MillraceError extends Error {
  override readonly name: string = "MillraceError";
  constructor(
    readonly code: MillraceErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
