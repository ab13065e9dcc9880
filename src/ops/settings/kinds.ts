// The kinds of values that settings have, as valibot schemas: each takes what a file, the environment, a flag or a caller
// may write (a string, a number, a boolean) and gives the value that the broker works with. Each carries the sentence that
// a refusal prints after "takes" and the way back to text for --print-config. It knows no key.

import * as v from "valibot";

type Written = string | number | boolean;

interface Facts<T> {
  /** Finishes the sentence "takes …". */
  readonly takes: string;
  /** The value as somebody would write it. */
  readonly show: (value: T) => string;
  /** All there is to write, when those are a few words. */
  readonly choices?: readonly string[];
}

export type Kind<T> = v.GenericSchema<Written, T>;

/** What a kind does not take for a reason of its own, which "takes …" alone would leave to be guessed. */
export class NotTaken {
  constructor(readonly why: string) {}
}

export function kind<T>(parse: (written: Written) => T | NotTaken | undefined, facts: Facts<T>): Kind<T> {
  return v.pipe(
    v.custom<Written>((written) => ["string", "number", "boolean"].includes(typeof written)),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const value = parse(dataset.value);
      if (value instanceof NotTaken) addIssue({ message: value.why, expected: NOT_TAKEN });
      else if (value !== undefined) return value;
      else addIssue();
      return NEVER;
    }),
    v.metadata({ ...facts }),
  );
}

const NOT_TAKEN = "not taken";

/** The reason that a kind gave of its own. */
export function whyNotTaken(issues: readonly v.BaseIssue<unknown>[]): string | undefined {
  return issues.find(({ expected, message }) => expected === NOT_TAKEN && message !== "")?.message;
}

/** The facts of a kind; every kind of this file has them. */
export function factsOf<T>(of: Kind<T>): Facts<T> {
  return v.getMetadata(of) as unknown as Facts<T>;
}

/** A number with a unit: exact integers only, so that nobody writes 0.3GiB and gets a rounded one. */
function withUnit(written: Written, units: Readonly<Record<string, number>>): number | undefined {
  if (typeof written === "number") return Number.isSafeInteger(written) ? written : undefined;
  if (typeof written !== "string") return undefined;
  const match = /^(\d{1,16}) ?([A-Za-z]*)$/.exec(written.trim());
  const factor = match === null ? undefined : units[match[2]];
  if (match === null || factor === undefined) return undefined;
  const value = Number(match[1]) * factor;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** The largest unit that shows the number exactly. */
function showUnit(value: number, units: Readonly<Record<string, number>>): string {
  let best = "";
  for (const [unit, factor] of Object.entries(units)) {
    if (value !== 0 && value % factor === 0 && factor >= (units[best] ?? 1)) best = unit;
  }
  return best === "" ? String(value) : `${value / units[best]}${best}`;
}

const BYTE_UNITS = { "": 1, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };
const SHOWN_BYTE_UNITS = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };
const TIME_UNITS = { "": 1, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SHOWN_TIME_UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const showBytes = (value: number): string => showUnit(value, SHOWN_BYTE_UNITS);
export const showTime = (value: number): string => (value === 0 ? "0ms" : showUnit(value, SHOWN_TIME_UNITS));

const within = (value: number | undefined, min: number, max: number): number | undefined =>
  value !== undefined && value >= min && value <= max ? value : undefined;

/** A size in bytes. */
export const size = (min: number, max: number): Kind<number> =>
  kind((written) => within(withUnit(written, BYTE_UNITS), min, max), {
    takes: `a size from ${showBytes(min)} to ${showBytes(max)}, in bytes or with KiB, MiB or GiB`,
    show: showBytes,
  });

/** A time span in milliseconds. */
export const duration = (min: number, max: number): Kind<number> =>
  kind((written) => within(withUnit(written, TIME_UNITS), min, max), {
    takes: `a time from ${showTime(min)} to ${showTime(max)}, in milliseconds or with ms, s, m, h or d`,
    show: showTime,
  });

export const integer = (min: number, max: number): Kind<number> =>
  kind((written) => within(withUnit(written, { "": 1 }), min, max), {
    takes: `a whole number from ${min} to ${max}`,
    show: String,
  });

export const text = (takes: string, accepts: (value: string) => boolean = () => true): Kind<string> =>
  kind((written) => (typeof written === "string" && written !== "" && accepts(written) ? written : undefined), {
    takes,
    show: (value) => value,
  });

export const choice = <const T extends string>(...values: readonly T[]): Kind<T> =>
  kind((written) => values.find((value) => value === written), {
    takes: values.length === 2 ? values.join(" or ") : `one of ${values.join(", ")}`,
    show: (value) => value,
    choices: values,
  });

export const yesNo: Kind<boolean> = kind(
  (written) =>
    written === true || written === "true" ? true : written === false || written === "false" ? false : undefined,
  { takes: "true or false", show: String, choices: ["true", "false"] },
);

/** A comma-separated list. */
export const list = (takes: string, accepts: (item: string) => boolean): Kind<readonly string[]> =>
  kind(
    (written) => {
      if (typeof written !== "string") return undefined;
      const items = written.split(",").map((item) => item.trim());
      return items.every((item) => item !== "" && accepts(item)) ? items : undefined;
    },
    { takes, show: (items) => items.join(",") },
  );

/** A setting that may be switched off: `none` stands for it, and beats a value from a source of lower rank. */
export const optional = <T>(of: Kind<T>): Kind<T | undefined> => {
  const facts = factsOf(of);
  return v.pipe(
    v.union([
      v.pipe(
        v.literal("none"),
        v.transform((): T | undefined => undefined),
      ),
      of,
    ]),
    v.metadata({
      takes: `${facts.takes}, or none`,
      show: (value: T | undefined) => (value === undefined ? "none" : facts.show(value)),
    }),
  ) as Kind<T | undefined>;
};
