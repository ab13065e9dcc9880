// What a page shows of the broker, asked again and again while somebody looks. What was there stays on the page when an answer
// does not come: the line at the top says how old it is.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, Refusal } from "./api.js";
import { linkFailed } from "./link.js";
import { postponed } from "./shown.js";

export interface Polled<T> {
  readonly data: T | undefined;
  /** The broker's refusal. That it cannot be reached is told elsewhere. */
  readonly refusal: Refusal | undefined;
  readonly again: () => void;
}

/** `url` undefined: nothing to ask. `everyMs` 0: once. */
export function usePolled<T>(url: string | undefined, everyMs: number): Polled<T> {
  const [{ of, data, refusal }, setState] = useState<{ of?: string; data?: T; refusal?: Refusal }>({});
  const [round, setRound] = useState(0);
  const again = useCallback(() => setRound((value) => value + 1), []);
  const askedRef = useRef(0);
  useEffect(() => {
    if (url === undefined) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = async (): Promise<void> => {
      if (postponed(next, abort.signal)) return;
      const turn = ++askedRef.current;
      let wait = everyMs;
      try {
        const answer = await ask<T>(url, abort.signal);
        if (turn === askedRef.current) setState({ of: url, data: answer });
      } catch (error) {
        if (abort.signal.aborted) return;
        if (error instanceof Refusal)
          setState((old) => ({ of: url, data: old.of === url ? old.data : undefined, refusal: error }));
        else linkFailed();
        wait = Math.max(everyMs, 2_000);
      }
      if (wait > 0 && !abort.signal.aborted) timer = setTimeout(() => void next(), wait);
    };
    void next();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [url, everyMs, round]);
  return of === url ? { data, refusal, again } : { data: undefined, refusal: undefined, again };
}
