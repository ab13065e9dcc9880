// Why there is no connection, or none any more: the errors, and the system's codes as sentences.

import { MillraceError } from "../model/errors.js";

/** `cause` undefined: the broker closed it. */
export function connectFailed(address: string, cause: Error | undefined): MillraceError {
  const why = cause === undefined ? "the broker closed the connection" : reasonOf(cause);
  return new MillraceError("CONNECTION_FAILED", `could not connect to ${address}: ${why}`, { cause });
}

/** `cause` undefined: the broker closed it. */
export function connectionLost(address: string, cause: Error | undefined): MillraceError {
  const why = cause === undefined ? "the broker closed it" : reasonOf(cause);
  return new MillraceError("CONNECTION_LOST", `the connection to ${address} was lost: ${why}`, { cause });
}

export const connectionClosed = (address: string): MillraceError =>
  new MillraceError("CLOSED", `the connection to ${address} was closed by this program`);

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  ENOENT: "there is no such socket",
  EACCES: "permission denied",
  ENOTFOUND: "there is no such host",
  ETIMEDOUT: "no answer from the host",
  EHOSTUNREACH: "the host cannot be reached",
};

function reasonOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  const known = code === undefined || error instanceof MillraceError ? undefined : REASONS[code];
  return known === undefined ? error.message || String(code) : `${known} (${code})`;
}
