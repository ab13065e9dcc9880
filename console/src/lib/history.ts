// The rows of the last ten minutes, put together from answers that each bring what is new. Pure, so that a restart of the broker
// and a gap are tested without either.

import type { RateColumns, Rates } from "../../../src/ops/api/types.js";

export type RateColumn = keyof RateColumns;

export interface History {
  /** Of which run of the broker the rows are, as far as is known. */
  readonly run: string | undefined;
  /** `since` of the next question. */
  readonly next: number;
  readonly atMs: readonly number[];
  readonly columns: Partial<Record<RateColumn, readonly (number | null)[]>>;
}

/** As many as the broker keeps. */
const ROWS_MAX = 600;

export const emptyHistory: History = { run: undefined, next: 0, atMs: [], columns: {} };

/** `run`: which run of the broker is known to have answered last; its numbers say nothing of it. */
export function withRates(history: History, rates: Rates, run: string | undefined): History {
  // What was asked for belongs to the rows of another run: all of this one is asked for next.
  if (history.run !== undefined && run !== undefined && run !== history.run && history.next > 0) {
    return { ...emptyHistory, run };
  }
  // Numbers that went back, or that do not follow: another run of the broker, or more was missed than is kept.
  const follows = rates.first === history.next && rates.next >= history.next;
  const before = follows ? history : emptyHistory;
  const joined = <T>(old: readonly T[] = [], more: readonly T[]): readonly T[] => [...old, ...more].slice(-ROWS_MAX);
  const columns: Partial<Record<RateColumn, readonly (number | null)[]>> = {};
  for (const [name, values] of Object.entries(rates.columns) as [RateColumn, readonly (number | null)[]][]) {
    columns[name] = joined(before.columns[name], values);
  }
  // Nothing that follows and nothing new: what is asked for next begins at the start, to get all of it.
  const next = follows || rates.atMs.length > 0 ? rates.next : 0;
  return { run: run ?? history.run, next, atMs: joined(before.atMs, rates.atMs), columns };
}

/** The newest number of a column that is there. */
export function latest(history: History, column: RateColumn): number | null {
  return history.columns[column]?.at(-1) ?? null;
}

/** The newest value within some rows: a quantile has none in a second in which nothing came. */
export function latestWithin(history: History, column: RateColumn, rows: number): number | null {
  return history.columns[column]?.slice(-rows).findLast((value) => value !== null) ?? null;
}
