// JSON, text and bytes: what cannot be kept is refused, in both directions.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytes, json, text } from "../../../src/client/codec/plain-codecs.js";
import { printedSeed } from "../../support/seed.js";

const seed = printedSeed("plain codecs");

const badPayload = expect.objectContaining({ code: "BAD_PAYLOAD" });
const badArgument = expect.objectContaining({ code: "BAD_ARGUMENT" });
const utf8 = (value: string): Uint8Array => new TextEncoder().encode(value);

describe("json()", () => {
  it("gives back whatever JSON can hold", () => {
    const codec = json<unknown>();
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(codec.decode(codec.encode(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { seed },
    );
    // Half a character is written as an escape, so nothing is lost of it.
    expect(codec.decode(codec.encode("\ud83d"))).toBe("\ud83d");
  });

  it("refuses values that JSON has no form for, and payloads that are none", () => {
    const codec = json<unknown>();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    for (const value of [undefined, () => 1, Symbol("s"), 1n, circle]) {
      expect(() => codec.encode(value)).toThrow(badArgument);
    }
    for (const payload of [utf8("{"), utf8(""), utf8("nope"), Uint8Array.of(0x22, 0xff, 0x22)]) {
      expect(() => codec.decode(payload)).toThrow(badPayload);
    }
  });

  it("takes no check that is none", () => {
    expect(() => json({ parse: () => 1 } as never)).toThrow(badArgument);
  });

  it("hands what was parsed to its check, whose word counts", () => {
    const codec = json((value) => {
      if (typeof value !== "number") throw new TypeError("a number, please");
      return value * 2;
    });
    expect(codec.decode(utf8("21"))).toBe(42);
    expect(() => codec.decode(utf8('"x"'))).toThrow("a number, please");
  });
});

describe("text() and bytes()", () => {
  it("give back every text and all bytes, also a byte order mark", () => {
    const codec = text();
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (value) => {
        expect(codec.decode(codec.encode(value))).toBe(value);
      }),
      { seed },
    );
    expect(codec.decode(codec.encode("\ufeffmark"))).toBe("\ufeffmark");
    expect(bytes().decode(bytes().encode(Uint8Array.of(0, 255)))).toEqual(Uint8Array.of(0, 255));
  });

  it("refuse half characters, what is no UTF-8, and other types", () => {
    expect(() => text().encode("a\ud800b")).toThrow(badArgument);
    expect(() => text().encode(7 as unknown as string)).toThrow(badArgument);
    expect(() => text().decode(Uint8Array.of(0xc3))).toThrow(badPayload);
    expect(() => bytes().encode("a" as unknown as Uint8Array)).toThrow(badArgument);
  });
});
