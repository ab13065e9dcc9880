// What a request of the API says, checked: a parameter that is not understood is a refusal that names it, what it got and what
// it takes, as with settings.

import { isDay } from "../../model/calendar.js";
import { OFFSET_MAX } from "../../model/limits.js";
import { ApiFailure } from "./failure.js";

const TAKES_TIME = "milliseconds since 1970, or a time as 2026-01-31T12:00:00Z";

export class Parameters {
  private readonly known = new Set<string>();

  constructor(private readonly query: URLSearchParams) {}

  whole(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name);
    return text === undefined ? fallback : wholeNumber(name, text, min, max);
  }

  optionalWhole(name: string, min: number, max: number): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : wholeNumber(name, text, min, max);
  }

  /** `0,2,5`, without repetition. */
  wholes(name: string, max: number): readonly number[] | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    return [...new Set(text.split(",").map((part) => wholeNumber(name, part, 0, max)))];
  }

  text(name: string): string | undefined {
    this.known.add(name);
    const [value, ...more] = this.query.getAll(name);
    if (more.length > 0) throw new ApiFailure("BAD_REQUEST", `${name}: given ${more.length + 1} times`);
    return value;
  }

  /** Milliseconds since 1970. */
  time(name: string): number {
    const text = this.text(name);
    if (text === undefined) throw new ApiFailure("BAD_REQUEST", `${name}: missing; takes ${TAKES_TIME}`);
    if (/^\d{1,16}$/.test(text)) return wholeNumber(name, text, 0, OFFSET_MAX);
    const isComplete = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
    const ms = isComplete && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
    if (!(ms >= 0)) throw new ApiFailure("BAD_REQUEST", `${name}: got ${JSON.stringify(text)}; takes ${TAKES_TIME}`);
    return ms;
  }

  /** After all that may be there has been asked for. */
  refuseOthers(): void {
    for (const name of this.query.keys()) {
      if (this.known.has(name)) continue;
      const takes = this.known.size === 0 ? "none" : [...this.known].join(", ");
      throw new ApiFailure("BAD_REQUEST", `${name}: no such parameter here; takes ${takes}`);
    }
  }
}

export function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new ApiFailure(
    "BAD_REQUEST",
    `${name}: got ${JSON.stringify(text)}; takes a whole number from ${min} to ${max}`,
  );
}
