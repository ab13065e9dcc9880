// Why the API answers with something else than what was asked for: a status, a code and a sentence.

import { MillraceError } from "../../model/errors.js";
import type { ApiError } from "./types.js";

export type ApiCode = "BAD_REQUEST" | "FORBIDDEN" | "NOT_FOUND" | "NOT_READY" | "OVERLOADED";

const STATUS: Readonly<Record<ApiCode, number>> = {
  BAD_REQUEST: 400,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  NOT_READY: 503,
  OVERLOADED: 503,
};

export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  constructor(
    readonly code: ApiCode,
    message: string,
  ) {
    super(message);
  }
}

export function describeFailure(error: unknown): { readonly status: number; readonly body: ApiError } {
  if (error instanceof ApiFailure) {
    return { status: STATUS[error.code], body: { error: error.message, code: error.code } };
  }
  if (error instanceof MillraceError) {
    const { code, message } = error;
    return { status: code === "OFFSET_OUT_OF_RANGE" ? 404 : 500, body: { error: message, code } };
  }
  return { status: 500, body: { error: error instanceof Error ? error.message : String(error), code: "INTERNAL" } };
}
