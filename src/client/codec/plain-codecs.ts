// Codecs without a layout of their own: JSON, text, bytes. What cannot be written without loss is refused when it is written,
// and what is no text is refused when it is read: nothing turns into U+FFFD on the way.

import { badArgument } from "../../model/arguments.js";
import { MillraceError } from "../../model/errors.js";
import type { Codec } from "./codec.js";
import { badPayload } from "./payload-error.js";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Throws BAD_PAYLOAD for bytes that are no UTF-8. */
export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw badPayload("it is no UTF-8", cause);
  }
}

/** Throws BAD_ARGUMENT for what is no text, and for text with half a character, which UTF-8 has no bytes for. */
export function checkText(name: string, text: unknown): asserts text is string {
  if (typeof text !== "string") throw badArgument(name, text, "text");
  // There since Node 20; the library that is compiled against is older.
  const isWhole = (text as string & { isWellFormed(): boolean }).isWellFormed();
  if (!isWhole) throw badArgument(name, text, "text without lone surrogates, which UTF-8 cannot hold");
}

/** Throws as {@link checkText}. */
export function bytesOfText(name: string, text: unknown): Uint8Array {
  checkText(name, text);
  return bytesOf(text);
}

/** From Node's pool of memory: a TextEncoder asks for some of its own each time, which takes three times as long. */
const bytesOf = (text: string): Uint8Array => Buffer.from(text, "utf8");

/**
 * Values as JSON. The type is what the program says it is: give `check` to be sure, for instance the parse function of a schema.
 *
 * ```ts
 * import { json } from "millrace/client";
 *
 * const apples = json((value) => {
 *   if (typeof value !== "number") throw new TypeError("apples are counted");
 *   return value;
 * });
 * console.log(apples.decode(apples.encode(3)));
 *
 * // Without a check, for topics that nobody else writes to.
 * const orders = client.topic("orders", { codec: json<{ readonly apples: number }>() });
 * await orders.send({ apples: 3 });
 * ```
 *
 * @param check gets what was parsed and returns the value, or throws; readers get that as the cause of a {@link PayloadError}
 */
export function json<T>(check: (value: unknown) => T = (value) => value as T): Codec<T> {
  if (typeof check !== "function") throw badArgument("check", check, "a function that is given what was parsed");
  return {
    encode(value) {
      let text: string | undefined;
      try {
        text = JSON.stringify(value);
      } catch (cause) {
        throw new MillraceError("BAD_ARGUMENT", `value: JSON has no form for it: ${(cause as Error).message}`, {
          cause,
        });
      }
      if (text === undefined) throw badArgument("value", value, "what JSON has a form for");
      return bytesOf(text);
    },
    decode(payload) {
      const text = textOf(payload);
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch (cause) {
        throw badPayload(`it is no JSON: ${(cause as Error).message}`, cause);
      }
      return check(value);
    },
  };
}

/** Text as UTF-8. There are no empty records: `""` is refused, unless an {@link envelope} is around it. */
export function text(): Codec<string> {
  return { encode: (value) => bytesOfText("value", value), decode: textOf };
}

/** Payloads as they are. What is read is a view of the answer it came in: copy it to keep it without the rest. */
export function bytes(): Codec<Uint8Array> {
  return {
    encode(value) {
      if (!(value instanceof Uint8Array)) throw badArgument("value", value, "a Uint8Array");
      return value;
    },
    decode: (payload) => payload,
  };
}
