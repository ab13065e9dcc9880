// What a client can fail with beyond the base error: the broker's refusals and what is wrong with records that came.

import { ErrorCodes, errorRow } from "../model/error-codes.js";
import { MillraceError, type MillraceErrorCode } from "../model/errors.js";
import type { Offset } from "../model/ids.js";

/** The broker refused a request. `code` is the name of the wire's error. */
export class BrokerError extends MillraceError {
  override readonly name: string = "BrokerError";
  constructor(
    code: MillraceErrorCode,
    message: string,
    /** Whether the same request may be sent again. */
    readonly retriable: boolean,
  ) {
    super(code, message);
  }
}

/** The error of a number from the wire. `what` names the request. A number from a newer broker is not retriable. */
export function brokerError(code: number, what: string): BrokerError {
  const row = errorRow(code);
  if (row === undefined || row.name === "NONE") {
    return new BrokerError(
      "BAD_RESPONSE",
      `${what}: refused with error ${code}, which this client does not know`,
      false,
    );
  }
  return new BrokerError(row.name, `${what}: ${row.name}, ${row.sentence}`, row.retriable);
}

/** A reader's position is not in the log: retention has removed it, or the log never came so far. */
export class OffsetOutOfRangeError extends BrokerError {
  override readonly name = "OffsetOutOfRangeError";
  constructor(
    readonly topic: string,
    readonly partition: number,
    /** The reader's position. */
    readonly offset: Offset,
    /** Where the log starts and where it ends for readers. Undefined: the broker did not say. */
    readonly logStartOffset: Offset | undefined,
    readonly highWatermark: Offset | undefined,
  ) {
    const row = brokerError(ErrorCodes.OFFSET_OUT_OF_RANGE, `FETCH from ${topic}-${partition} at ${offset}`);
    const range =
      logStartOffset === undefined ? "" : `: it starts at ${logStartOffset} and ends for readers at ${highWatermark}`;
    super("OFFSET_OUT_OF_RANGE", row.message + range, row.retriable);
  }
}

/** The log does not end where an append expected it: somebody else has written since, or the program has read another state. Nothing was written. */
export class OffsetMismatchError extends BrokerError {
  override readonly name = "OffsetMismatchError";
  constructor(
    readonly topic: string,
    readonly partition: number,
    readonly expectedOffset: Offset,
    /** Where the log ended when it was asked after that. Undefined: it could not be asked. */
    readonly logEndOffset: Offset | undefined,
  ) {
    const ends = logEndOffset === undefined ? "does not end" : `ends at ${logEndOffset}, not`;
    super(
      "OFFSET_MISMATCH",
      `${topic}-${partition} ${ends} at the expected offset ${expectedOffset}; nothing was written`,
      false,
    );
  }
}

/** Using a topic does not make it, which is what a first program may expect. */
const MADE_BY = "the broker's setting `topics` makes them";

export function unknownTopic(topic: string): MillraceError {
  return new MillraceError("UNKNOWN_TOPIC_OR_PARTITION", `there is no topic ${topic}; ${MADE_BY}`);
}

export function unknownPartition(topic: string, partition: number): MillraceError {
  return new MillraceError(
    "UNKNOWN_TOPIC_OR_PARTITION",
    `there is no partition ${partition} of topic ${topic}; ${MADE_BY}`,
  );
}

/** A reader's next record is larger than it may ask for: asking again would be the same request for ever. */
export class RecordExceedsMaxBytesError extends MillraceError {
  override readonly name = "RecordExceedsMaxBytesError";
  constructor(
    readonly topic: string,
    readonly partition: number,
    readonly offset: Offset,
    /** What the record takes as it is stored, in bytes. */
    readonly recordBytes: number,
    /** The most that the reader may ask for: its `maxBytesLimit`. */
    readonly maxBytes: number,
  ) {
    super(
      "RECORD_EXCEEDS_MAX_BYTES",
      `the record at offset ${offset} of ${topic}-${partition} takes ${recordBytes} bytes and maxBytesLimit is ${maxBytes}: ` +
        (recordBytes > maxBytes
          ? `raise maxBytesLimit to at least ${recordBytes}`
          : "the broker answers with less, raise its fetch.max.bytes"),
    );
  }
}

/** A record that came is not what was stored: its sum does not match, or its length cannot be. */
export class CorruptRecordError extends MillraceError {
  override readonly name = "CorruptRecordError";
  constructor(
    readonly topic: string,
    readonly partition: number,
    readonly offset: Offset,
    what: string,
  ) {
    super("CORRUPT_RECORD", `the record at offset ${offset} of ${topic}-${partition} is damaged: ${what}`);
  }
}

/**
 * Records that this reader has read were cut by a recovery of the broker, and others may have taken their places: what was
 * read before is no longer what the log says. Where to go on from is the program's decision: `epochStart` is the first offset
 * at which the log may differ from what was read.
 */
export class LogTruncatedError extends MillraceError {
  override readonly name = "LogTruncatedError";
  constructor(
    readonly topic: string,
    readonly partition: number,
    /** The reader's position. */
    readonly offset: Offset,
    /** Where the log was cut: records from here on are others than the reader may have seen. */
    readonly epochStart: Offset,
  ) {
    super(
      "LOG_TRUNCATED",
      `${topic}-${partition} was cut at offset ${epochStart} by a recovery, below the position ${offset} of this reader: ` +
        `records that it has read from there on are gone, and others may stand in their places`,
    );
  }
}
