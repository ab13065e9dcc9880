// Payloads as text, JSON and hex: anybody's bytes, shown as they are.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeBase64,
  guessKind,
  hexLines,
  indentJson,
  JSON_DEPTH_MAX,
  JSON_LENGTH_MAX,
  preview,
  visible,
} from "../../console/src/lib/payload.js";
import { printedSeed } from "../support/seed.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("a payload", () => {
  it("is guessed to be JSON, text or neither", () => {
    expect(guessKind(utf8('{"a":1}'), false)).toBe("json");
    expect(guessKind(utf8(" [1]"), false)).toBe("json");
    expect(guessKind(utf8("12"), false)).toBe("text");
    expect(guessKind(utf8('{"a":'), false)).toBe("text");
    expect(guessKind(utf8('{"a":1}'), true)).toBe("text");
    expect(guessKind(utf8("größer\n\t\u001b[1m"), false)).toBe("text");
    expect(guessKind(Uint8Array.of(1, 2, 3), false)).toBe("hex");
    expect(guessKind(Uint8Array.of(0xff, 0xfe), false)).toBe("hex");
  });

  it("that is cut within a character is text, and one that ends there is not", () => {
    const cut = utf8("€€").subarray(0, 5);
    expect([guessKind(cut, true), guessKind(cut, false)]).toEqual(["text", "hex"]);
  });

  it("shows controls, and lets none of them turn the line around", () => {
    expect(visible("a\u0000b\u007f\u202ec\n\t")).toBe("a␀b␡⟨U+202E⟩c\n\t");
    expect(preview(utf8("a\r\nb\tc\u0000\u202ed"))).toBe("a⏎b⇥c··d");
    expect(preview(utf8("x".repeat(1000)), 10)).toBe("xxxxxxxxxx");
  });

  it("in hex has sixteen bytes a line, a gap after eight, and the same columns in a short line", () => {
    const lines = hexLines(Uint8Array.from({ length: 18 }, (_, i) => 0x3e + i)).split("\n");
    expect(lines).toEqual([
      "00000000  3e 3f 40 41 42 43 44 45  46 47 48 49 4a 4b 4c 4d  >?@ABCDEFGHIJKLM",
      `00000010  4e 4f${" ".repeat(43)}  NO`,
    ]);
    expect(lines[0].indexOf(">?@")).toBe(lines[1].indexOf("NO"));
    expect(hexLines(new Uint8Array(0))).toBe("");
  });

  it("comes back from base64 as it was", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    expect(decodeBase64(Buffer.from(bytes).toString("base64"))).toEqual(bytes);
  });
});

describe("JSON", () => {
  it("is indented, and otherwise as it was written", () => {
    const written = '{"big":12345678901234567890,"a":[1,{}, [] ,"x, {y}\\""],"a":null,"e":1.0E+2}';
    expect(indentJson(written)).toEqual({
      ok: true,
      text: '{\n  "big": 12345678901234567890,\n  "a": [\n    1,\n    {},\n    [],\n    "x, {y}\\""\n  ],\n  "a": null,\n  "e": 1.0E+2\n}',
    });
  });

  it("that is none says why", () => {
    expect(indentJson("{a}")).toEqual({ ok: false, why: expect.stringMatching(/^Not JSON: .*JSON/) });
  });

  const nested = (depth: number, within = ""): string => "[".repeat(depth) + within + "]".repeat(depth);

  it("that is nested deeper than anybody reads is not indented, however deep, and says so", () => {
    const last = indentJson(nested(JSON_DEPTH_MAX, "1"));
    expect(last.ok && last.text).toBe(JSON.stringify(JSON.parse(nested(JSON_DEPTH_MAX, "1")), undefined, 2));
    const refused = { ok: false, why: `JSON that is nested too deep (more than ${JSON_DEPTH_MAX})` };
    for (const depth of [JSON_DEPTH_MAX + 1, 3_000, 20_000, 131_000]) {
      expect(indentJson(nested(depth)), String(depth)).toEqual(refused);
      // It is shown as JSON, which says why it is text.
      expect(guessKind(utf8(nested(depth)), false)).toBe("json");
    }
  });

  it("that would become too long is not indented", () => {
    const wide = nested(JSON_DEPTH_MAX - 1, Array.from({ length: 10_000 }, () => "1").join(","));
    expect(wide.length).toBeLessThan(JSON_LENGTH_MAX / 8);
    expect(indentJson(wide)).toEqual({ ok: false, why: "JSON that is too long with its lines indented" });
  });

  it("is what JSON.stringify makes of it, whatever it is", () => {
    const seed = printedSeed("indented JSON");
    fc.assert(
      fc.property(fc.json(), (text) => {
        const indented = indentJson(text);
        expect(indented.ok && indented.text).toBe(JSON.stringify(JSON.parse(text), undefined, 2));
      }),
      { seed },
    );
  });
});
