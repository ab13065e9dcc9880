// Which failures another try may put right: the broker said so, or the link is what failed.

import { MillraceError } from "../model/errors.js";
import { BrokerError } from "./errors.js";

/** What another connection may put right. */
const RETRIED: ReadonlySet<string> = new Set(["CONNECTION_LOST", "CONNECTION_FAILED", "REQUEST_TIMEOUT"]);

/** Only for what may be asked twice: reading, and asking what there is. */
export const isRetriable = (error: unknown): error is MillraceError =>
  error instanceof BrokerError ? error.retriable : error instanceof MillraceError && RETRIED.has(error.code);
