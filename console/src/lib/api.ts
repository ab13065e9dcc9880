// Questions to the side port, which served this page. Addresses are relative: nothing else is ever asked.

import type { ApiError } from "../../../src/ops/api/types.js";

/** Longer than the slowest answer of a broker that is well; then it counts as unreachable. */
const ANSWER_MS = 5_000;

/** The broker answered, and refused. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Nobody answered, or something that is no broker. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** A URL takes `.` and `..` for directories, also when they are written as `%2e`; the broker takes a `~` before them away. */
const segment = (part: string | number): string =>
  part === "." || part === ".." ? `~${part}` : encodeURIComponent(part);

export function apiUrl(parts: readonly (string | number)[], query: Query = {}): string {
  const path = parts.map(segment).join("/");
  const asked = Object.entries(query).flatMap<[string, string]>(([key, value]) =>
    value === undefined ? [] : [[key, String(value)]],
  );
  return `api/${path}${asked.length === 0 ? "" : `?${new URLSearchParams(asked)}`}`;
}

/** @throws Refusal, Unreachable; an AbortError when `signal` says so */
export async function ask<T>(url: string, signal?: AbortSignal): Promise<T> {
  const late = AbortSignal.timeout(ANSWER_MS);
  try {
    const answer = await fetch(url, { signal: signal === undefined ? late : AbortSignal.any([signal, late]) });
    const body: unknown = await answer.json();
    if (answer.ok) return body as T;
    const { error, code } = body as Partial<ApiError>;
    throw new Refusal(answer.status, code ?? "UNKNOWN", error ?? `the broker answered ${answer.status}`);
  } catch (error) {
    if (error instanceof Refusal || signal?.aborted) throw error;
    const why = late.aborted ? `no answer within ${ANSWER_MS / 1000} s` : "no connection";
    throw new Unreachable(why, { cause: error });
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
