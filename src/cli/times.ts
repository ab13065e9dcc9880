// Times as people and programs write them.

import { isDay } from "../model/calendar.js";

/** A day, and maybe a time of that day, and maybe a zone. */
const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:?\d\d)?)?$/;

/** What {@link isoTime} takes, for refusals and help. */
export const ISO_RULE = "a time like 2026-11-30T14:05, with Z or +01:00 for another zone than here";

/** Milliseconds since 1970; without a zone it is local time, also for a day alone. Undefined: it is no such time. */
export function isoTime(written: string): number | undefined {
  const match = ISO.exec(written);
  if (match === null) return undefined;
  const [, day = "", time = "00:00", zone = ""] = match;
  // By itself, Date takes a day alone for UTC and everything else for local time.
  const ms = Date.parse(`${day}T${time}${zone}`);
  if (Number.isNaN(ms) || ms < 0) return undefined;
  return isDay(day) ? ms : undefined;
}

/** Milliseconds since 1970 as digits. */
export function msTime(digits: string): number | undefined {
  const ms = /^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
  return Number.isSafeInteger(ms) ? ms : undefined;
}
