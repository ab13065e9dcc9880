// The history of rates, asked for each second while a page shows it, and kept when another page is looked at.

import { useEffect } from "preact/hooks";
import type { Rates } from "../../../src/ops/api/types.js";
import { apiUrl, ask, Refusal } from "./api.js";
import { emptyHistory, type History, withRates } from "./history.js";
import { linkFailed } from "./link.js";
import { postponed } from "./shown.js";
import { Store, useStore } from "./store.js";

const EVERY_MS = 1_000;

const history = new Store<History>(emptyHistory);

export function useHistory(): History {
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = async (): Promise<void> => {
      if (postponed(next, abort.signal)) return;
      try {
        const rates = await ask<Rates>(apiUrl(["rates"], { since: history.get().next }), abort.signal);
        history.set(withRates(history.get(), rates));
      } catch (error) {
        if (abort.signal.aborted) return;
        if (!(error instanceof Refusal)) linkFailed();
      }
      timer = setTimeout(() => void next(), EVERY_MS);
    };
    void next();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, []);
  return useStore(history);
}
