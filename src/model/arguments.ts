// What the functions of the public API say of arguments that they do not take. The compiler has checked those of a program in
// TypeScript; a program in JavaScript hears of them here, at once, and not from the depths of a socket.

import { MillraceError } from "./errors.js";

/** For errors: what somebody passed, short. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value) && value.length === 0) return "an empty array";
  // What a generator gives, and an object of a class without a name, have a constructor whose name is empty.
  if (typeof value === "object" && value !== null) return value.constructor?.name || "an object";
  return typeof value === "function" ? "a function" : String(value);
}

/** BAD_ARGUMENT that says what was got and what is taken. */
export const badArgument = (name: string, value: unknown, expected: string): MillraceError =>
  new MillraceError("BAD_ARGUMENT", `${name}: got ${shown(value)}, expected ${expected}`);

/** What is wrong with an object of options: it is none, or has one that does not exist. */
export function badOptions(
  options: unknown,
  known: ReadonlySet<string>,
  what: string,
  name = "options",
): MillraceError | undefined {
  if (typeof options !== "object" || options === null) return badArgument(name, options, "an object");
  for (const key in options) {
    if (known.has(key) || (options as Record<string, unknown>)[key] === undefined) continue;
    return new MillraceError(
      "BAD_ARGUMENT",
      `${shown(key)} is no option of ${what}; there are ${[...known].join(", ")}`,
    );
  }
  return undefined;
}

/** What is wrong with the signal that may end something. */
export function badSignal(signal: unknown): MillraceError | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return undefined;
  return badArgument("signal", signal, "an AbortSignal");
}
