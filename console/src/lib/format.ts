// Numbers as people read them: with units, with few digits, and offsets in full. Everything that is shown goes through here.

/** What stands where there is nothing to show. */
export const NOTHING = "–";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** In full, with separators: 9,007,199,254,740,991. */
export const exact = (value: number): string => whole.format(value);

/** The width of a column for offsets up to this one. */
export const offsetWidth = (largest: number): string => `${Math.max(80, 20 + 8 * exact(largest).length)}px`;

/** An offset of a partition that may be refused, where it is −1. */
export const offsetText = (value: number): string => (value < 0 ? NOTHING : exact(value));

/** Three digits that count, without a unit. */
function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return whole.format(value);
  return value.toFixed(size >= 10 ? 1 : 2).replace(/\.?0+$/, "");
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let at = 0;
  // 999.6 is shown as 1000: the next unit begins where the digits say so.
  while (at < units.length - 1 && Math.abs(value) >= base * 0.9995) {
    value /= base;
    at++;
  }
  return units[at] === "" ? short(value) : `${short(value)} ${units[at]}`;
}

/** 98.4 k, 1.2 M. */
export const count = (value: number): string =>
  Math.abs(value) < 10_000 ? short(Math.round(value * 100) / 100) : scaled(value, 1000, ["", "k", "M", "G", "T", "P"]);

/** 12 B, 1.5 KiB, 128 MiB. */
export const bytes = (value: number): string =>
  value < 0 ? NOTHING : scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);

/** A span of time from milliseconds: 250 µs, 1.2 ms, 3.4 s. */
export function milliseconds(value: number): string {
  if (value === 0) return "0 ms";
  if (value < 0.9995) return `${short(Math.round(value * 1000))} µs`;
  return value < 999.5 ? `${short(value)} ms` : `${short(value / 1000)} s`;
}

export const percent = (share: number): string => `${short(Math.round(share * 1000) / 10)} %`;

/** A long span, its two largest units: 3 d 4 h, 5 min 12 s. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([value]) => value > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([value], place) => place === 0 || value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(" ");
}

const two = (value: number): string => String(value).padStart(2, "0");

/** 14:05:09, in the reader's time zone. */
export function clock(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
}

/** 2026-01-31 14:05:09, in the reader's time zone. */
export function dateTime(ms: number): string {
  const date = new Date(ms);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(ms)}`;
}

/** "1 record", "2 records". */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${exact(value)} ${value === 1 ? one : many}`;
