// What a log refuses, said as a broker says it: the same class and the same codes, so that whoever decides what to try again
// decides alike.

import { BrokerError, brokerError } from "../client/errors.js";
import { ERROR_ROWS, ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";

/** `what` names the request. What no broker could have answered, a mistake of this program, stays as it is. */
export function refusal(error: unknown, what: string): unknown {
  if (!(error instanceof MillraceError) || error instanceof BrokerError) return error;
  // Nothing was written, and that is known: a producer must not take it for a connection that was cut.
  if (error.code === "CLOSED") return new BrokerError("CLOSED", `${what}: ${error.message}`, false);
  // A broker sends what lies on its disk, and its client finds the damage; what cannot be read at all is this to both.
  const name = error.code === "CORRUPT_RECORD" ? "STORAGE_FAILURE" : error.code;
  const row = ERROR_ROWS.find((each) => each.name === name);
  if (row === undefined) return error;
  const refused = new BrokerError(
    row.name as Exclude<typeof row.name, "NONE">,
    `${what}: ${error.message}`,
    row.retriable,
  );
  refused.cause = error.cause ?? error;
  return refused;
}

/** The number of an error for one partition of a fetch. Rethrows what has none. */
export function refusalCode(error: unknown): number {
  const refused = refusal(error, "");
  const row = ERROR_ROWS.find(({ name }) => refused instanceof BrokerError && name === refused.code);
  if (row === undefined) throw refused;
  return row.code;
}

export const unknownPlace = (what: string): BrokerError => brokerError(ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION, what);
