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

/**
 * Milliseconds since 1970. Takes a date and time with or without a zone (without: the reader's own), a time of today, a span
 * before now (`15m`, `2h ago`), and milliseconds since 1970. Undefined: none of these.
 */
export function parseTime(text: string, nowMs: number): number | undefined {
  const trimmed = text.trim();
  const [, amount, unit] = /^-?(\d+(?:\.\d+)?)\s*(s|m|h|d)(?:in)?(?:\s+ago)?$/i.exec(trimmed) ?? [];
  if (amount !== undefined && unit !== undefined) {
    return Math.round(nowMs - Number(amount) * (UNIT_MS[unit.toLowerCase()] ?? 0));
  }
  if (/^\d{11,15}$/.test(trimmed)) return Number(trimmed);
  if (/^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$/.test(trimmed)) {
    return valid(
      Date.parse(
        `${dateTime(nowMs).slice(0, 10)}T${trimmed.padStart(trimmed.indexOf(":") === 1 ? trimmed.length + 1 : 0, "0")}`,
      ),
    );
  }
  if (!/^\d{4}-\d{2}-\d{2}/.test(trimmed)) return undefined;
  // A date alone would be read as midnight of Greenwich.
  const whole = trimmed.length === 10 ? `${trimmed}T00:00` : trimmed.replace(/^(\S{10})\s+/, "$1T");
  return valid(Date.parse(whole));
}

const valid = (ms: number): number | undefined => (Number.isNaN(ms) || ms < 0 ? undefined : ms);

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
