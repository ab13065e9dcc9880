// The history of rates, asked for each second while a page shows it, and kept when another page is looked at.

import { useEffect } from "preact/hooks";
import type { BrokerInfo, Rates } from "../../../src/ops/api/types.js";
import { apiUrl, ask, Refusal } from "./api.js";
import { emptyHistory, type History, withRates } from "./history.js";
import { link, linkFailed, watchLink } from "./link.js";
import { postponed } from "./shown.js";
import { Store, useStore } from "./store.js";

const EVERY_MS = 1_000;
/** In each answer to a page that is looked at there is one, or two. */
const FEW_ROWS = 5;

const runOf = ({ pid, startedAtMs }: BrokerInfo): string => `${startedAtMs}/${pid}`;

const history = new Store<History>(emptyHistory);

export function useHistory(): History {
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = async (): Promise<void> => {
      if (postponed(next, abort.signal)) return;
      let wait = EVERY_MS;
      try {
        const rates = await ask<Rates>(apiUrl(["rates"], { since: history.get().next }), abort.signal);
        // More than a few rows at once: the page was away for a while. Whether it is still the same broker is asked, too.
        if (rates.atMs.length > FEW_ROWS && history.get().next > 0) await watchLink();
        if (abort.signal.aborted) return;
        const { broker } = link.get();
        history.set(withRates(history.get(), rates, broker === undefined ? undefined : runOf(broker)));
        if (history.get().next === 0 && rates.next > 0) wait = 0;
      } catch (error) {
        if (abort.signal.aborted) return;
        if (!(error instanceof Refusal)) linkFailed();
      }
      timer = setTimeout(() => void next(), wait);
    };
    void next();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, []);
  return useStore(history);
}
