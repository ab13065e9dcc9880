// What people type into the search fields: offsets with or without separators, times in the ways in which they are written.

import { dateTime } from "./format.js";

/** A whole number from 0 on; spaces, commas, dots and underscores between digits are read over. Undefined: not one. */
export function parseOffset(text: string): number | undefined {
  const digits = text.trim().replace(/(?<=\d)[\s,._'’](?=\d)/g, "");
  if (!/^\d{1,16}$/.test(digits)) return undefined;
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : undefined;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export type ReadTime = { readonly ms: number } | { readonly why: string };

const EXPECTED = "Write 2026-01-31 14:05, 14:05:30, 15m ago, or milliseconds since 1970.";

/**
 * Milliseconds since 1970, or a sentence that says what is wrong. Takes a date and time with or without a zone (without: the
 * reader's own), a time of today, a span before now (`15m`, `2h ago`), and milliseconds since 1970.
 */
export function readTime(text: string, nowMs: number): ReadTime {
  const trimmed = text.trim();
  const [, amount, unit] = /^-?(\d+(?:\.\d+)?)\s*(s|m|h|d)(?:in)?(?:\s+ago)?$/i.exec(trimmed) ?? [];
  if (amount !== undefined && unit !== undefined) {
    return valid(Math.round(nowMs - Number(amount) * (UNIT_MS[unit.toLowerCase()] ?? 0)));
  }
  if (/^\d{11,15}$/.test(trimmed)) return { ms: Number(trimmed) };
  if (/^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$/.test(trimmed)) {
    return readDate(`${dateTime(nowMs).slice(0, 10)}T${trimmed.replace(/^(\d):/, "0$1:")}`);
  }
  if (!/^\d{4}-\d{2}-\d{2}/.test(trimmed)) return { why: EXPECTED };
  // A date alone would be read as midnight of Greenwich.
  return readDate(trimmed.length === 10 ? `${trimmed}T00:00` : trimmed.replace(/^(\S{10})\s+/, "$1T"));
}

/** The same, for those who need no sentence. */
export function parseTime(text: string, nowMs: number): number | undefined {
  const read = readTime(text, nowMs);
  return "ms" in read ? read.ms : undefined;
}

/** A browser moves what does not exist, 30 February to 2 March. Who looks for it wants something else, nobody knows what. */
function readDate(whole: string): ReadTime {
  const day = whole.slice(0, 10);
  const midnight = Date.parse(`${day}T00:00Z`);
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) {
    return { why: `There is no ${day}.` };
  }
  const ms = Date.parse(whole);
  const [, hours, rest] = /^.{10}T(\d{2})(:\d{2})[\d:.]*$/.exec(whole) ?? [];
  // Without a zone it is compared with the reader's own clock, which leaves out an hour in spring; 24:00 is the day's end.
  if (!Number.isNaN(ms) && hours !== undefined && hours !== "24" && dateTime(ms).slice(11, 16) !== `${hours}${rest}`) {
    return { why: `There is no ${hours}${rest} on ${day} in your time zone: clocks are put forward.` };
  }
  return valid(ms);
}

const valid = (ms: number): ReadTime => (Number.isNaN(ms) || ms < 0 ? { why: EXPECTED } : { ms });

/** `0,2,5-7` as numbers, in order, each once. Undefined: it is not a list; empty: nothing was written. */
export function parsePartitions(text: string): number[] | undefined {
  const found = new Set<number>();
  for (const part of text.split(/[\s,]+/).filter((each) => each !== "")) {
    const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part) ?? [];
    if (first === undefined || Number(last) < Number(first)) return undefined;
    for (let id = Number(first); id <= Number(last); id++) found.add(id);
  }
  return [...found].sort((a, b) => a - b);
}
