// A caller's deadline for a whole call, however many connections and requests it takes.

import { TIMER_MAX_MS } from "../model/clock.js";
import { MillraceError } from "../model/errors.js";
import { onAbort } from "./abort.js";

/** What ends a call from outside. */
export interface Bounds {
  /** Aborted by the caller, or because its time is over. */
  readonly signal: AbortSignal | undefined;
  /** Is told of each try that failed: the last one is the cause when the time is over. */
  readonly failed: (error: MillraceError) => void;
}

/**
 * Does `work` and aborts it with REQUEST_TIMEOUT, whose message names the length, when it has not ended after `ms`. Undefined: it may take
 * as long as it takes.
 */
export async function within<T>(
  ms: number | undefined,
  signal: AbortSignal | undefined,
  what: string,
  work: (bounds: Bounds) => Promise<T>,
): Promise<T> {
  // Whoever may wait for 24 days waits for ever.
  if (ms === undefined || ms > TIMER_MAX_MS) return work({ signal, failed: () => undefined });
  signal?.throwIfAborted();
  const ending = new AbortController();
  const unheard = signal && onAbort(signal, () => ending.abort(signal.reason));
  let cause: MillraceError | undefined;
  const timer = setTimeout(() => {
    const why = cause === undefined ? "" : `; the last try: ${cause.message}`;
    ending.abort(new MillraceError("REQUEST_TIMEOUT", `${what}: no answer in ${ms} ms${why}`, { cause }));
  }, ms);
  const failed = (error: MillraceError): void => {
    cause = error;
  };
  try {
    return await work({ signal: ending.signal, failed });
  } finally {
    clearTimeout(timer);
    unheard?.();
  }
}
