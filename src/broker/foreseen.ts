// Failures that the system has a name for (a full disk, a file that is gone) are foreseen: what is told of them is the name and
// the sentence. Where in the code they were met says nothing to an operator.

import { getSystemErrorName } from "node:util";
import { MillraceError } from "../model/errors.js";

interface Named {
  readonly code?: unknown;
  readonly errno?: unknown;
}

/** For `err` of a line: without the stack when it is the system's. */
export function foreseen(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof MillraceError) return error;
  const { code, errno } = error as Named;
  const { message } = error;
  if (typeof code === "string" && /^E[A-Z0-9]+$/.test(code)) return { code, message };
  return typeof errno === "number" && errno !== 0 ? { code: getSystemErrorName(-Math.abs(errno)), message } : error;
}
