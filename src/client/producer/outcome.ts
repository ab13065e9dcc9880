// What a request's failure says of its batch, and what its callers are told.

import { MillraceError } from "../../model/errors.js";
import { BrokerError } from "../errors.js";

/** `for now`: nothing was written, and it may be sent again. `refused`: as the broker says. `unknown`: it may have been carried out. */
export type Outcome = "for now" | "refused" | "unknown";

/** Found wrong before anything was sent. */
const NOT_SENT: ReadonlySet<string> = new Set(["BAD_ARGUMENT", "UNSUPPORTED_VERSION"]);

export function outcomeOf(error: MillraceError): Outcome {
  if (error instanceof BrokerError) return error.retriable ? "for now" : "refused";
  return NOT_SENT.has(error.code) ? "refused" : "unknown";
}

/** Whatever a backend rejects with, as an error of millrace. */
export function asMillraceError(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new MillraceError("CONNECTION_LOST", text, { cause: error });
}

const place = (topic: string, partition: number): string => `${topic}-${partition}`;

export function outcomeUnknown(topic: string, partition: number, cause: MillraceError): MillraceError {
  const text = `whether the records for ${place(topic, partition)} were written is not known: ${cause.message}`;
  return new MillraceError("OUTCOME_UNKNOWN", text, { cause });
}

export function deliveryTimeout(what: string, timeoutMs: number, cause: MillraceError | undefined): MillraceError {
  const why = cause === undefined ? "what is before them was not answered" : cause.message;
  const text = `records for ${what} could not be written within ${timeoutMs} ms, and nothing of them was: ${why}`;
  return new MillraceError("DELIVERY_TIMEOUT", text, { cause });
}

export function notAlone(topic: string, partition: number, found: string): MillraceError {
  const text = `this producer is not the only writer of ${place(topic, partition)} as it was told: ${found}`;
  return new MillraceError("OFFSET_MISMATCH", text);
}

export function lostRecords(topic: string, partition: number, end: number, expected: number): MillraceError {
  const text =
    `${place(topic, partition)} ends at ${end}, below ${expected}, up to where its records were acknowledged: ` +
    "the broker has lost what was not forced, or it is another log";
  return new MillraceError("OFFSET_MISMATCH", text);
}

export const closedProducer = (): MillraceError => new MillraceError("CLOSED", "the producer was closed");
