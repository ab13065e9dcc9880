// A long list of which only the pieces in view are asked for: partitions of a topic that has thousands.

import { useCallback, useEffect, useState } from "preact/hooks";
import { ask, Refusal } from "./api.js";
import { linkFailed } from "./link.js";
import { postponed } from "./shown.js";

export interface Pieces<T> {
  readonly item: (index: number) => T | undefined;
  readonly onView: (first: number, last: number) => void;
  readonly refusal: Refusal | undefined;
}

/** `urlOf` names the piece that begins at an index; `itemsOf` takes the items out of its answer. */
export function usePieces<A, T>(
  of: string,
  size: number,
  everyMs: number,
  urlOf: (from: number) => string,
  itemsOf: (answer: A) => readonly T[],
): Pieces<T> {
  const [state, setState] = useState<{ of: string; pieces: ReadonlyMap<number, readonly T[]>; refusal?: Refusal }>({
    of,
    pieces: new Map(),
  });
  const [view, setView] = useState({ first: 0, last: 0 });
  const firstPiece = Math.floor(Math.max(0, view.first) / size);
  const lastPiece = Math.floor(Math.max(0, view.last) / size);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = async (): Promise<void> => {
      if (postponed(next, abort.signal)) return;
      try {
        for (let piece = firstPiece; piece <= lastPiece; piece++) {
          const items = itemsOf(await ask<A>(urlOf(piece * size), abort.signal));
          setState((old) => ({ of, pieces: new Map(old.of === of ? old.pieces : []).set(piece, items) }));
        }
      } catch (error) {
        if (abort.signal.aborted) return;
        if (error instanceof Refusal) setState((old) => ({ ...old, of, refusal: error }));
        else linkFailed();
      }
      timer = setTimeout(() => void next(), everyMs);
    };
    void next();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [of, firstPiece, lastPiece, size, everyMs]);
  const current = state.of === of;
  return {
    item: (index) => (current ? state.pieces.get(Math.floor(index / size))?.[index % size] : undefined),
    onView: useCallback((first: number, last: number) => setView({ first, last }), []),
    refusal: current ? state.refusal : undefined,
  };
}
