// The envelope: every value comes back, every length is checked, and the page for other implementations is true.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EnvelopeInput, envelope } from "../../../src/client/codec/envelope.js";
import { bytes, json, text } from "../../../src/client/codec/plain-codecs.js";
import { MillraceError } from "../../../src/model/errors.js";
import { root } from "../../rules/sources.js";
import { printedSeed } from "../../support/seed.js";

const seed = printedSeed("envelopes");

const page = readFileSync(join(root, "docs/envelope.md"), "utf8");
const raw = envelope(bytes());
/** What it makes lies in a Buffer, which equals no other array. */
const seal = (input: EnvelopeInput<Uint8Array>): Uint8Array => new Uint8Array(raw.seal(input));
const hex = (payload: Uint8Array): string => Buffer.from(payload).toString("hex");
const unhex = (digits: string): Uint8Array => new Uint8Array(Buffer.from(digits, "hex"));
const badPayload = expect.objectContaining({ code: "BAD_PAYLOAD" });
const badArgument = expect.objectContaining({ code: "BAD_ARGUMENT" });

/** The cells of the rows of a table with so many columns, without backticks. */
const rows = (columns: number): string[][] =>
  page
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("`", "")),
    )
    .filter((cells) => cells.length === columns);

it("takes headers from a map of another realm", () => {
  const headers = runInNewContext(`new Map([["trace", "47"]])`) as ReadonlyMap<string, string>;
  expect(headers instanceof Map).toBe(false);
  expect(raw.open(seal({ value: Uint8Array.of(1), headers })).headers).toEqual(new Map([["trace", "47"]]));
  const named = { entries: "text" };
  expect(raw.open(seal({ value: Uint8Array.of(1), headers: named })).headers).toEqual(new Map([["entries", "text"]]));
});

describe("docs/envelope.md", () => {
  it("draws the layout as the file does that owns it", () => {
    const source = readFileSync(join(root, "src/client/codec/envelope.ts"), "utf8");
    const [, drawing = ""] = /```\n([\s\S]*?)```/.exec(page) ?? [];
    expect(drawing).toContain("u8");
    for (const line of drawing.split("\n").filter((each) => each !== "")) expect(source).toContain(`//   ${line}`);
  });

  it("has vectors that are written and read as it says", () => {
    const vectors = rows(5);
    expect(vectors).toHaveLength(5);
    for (const [payload = "", timestamp, key = "", headers = "", value = ""] of vectors) {
      const head = {
        timestampMs: Number(timestamp),
        key: key === "–" ? undefined : unhex(key),
        headers: new Map(Object.entries(JSON.parse(headers) as Record<string, string>)),
      };
      expect(raw.open(unhex(payload)), payload).toEqual({ ...head, value: unhex(value) });
      expect(hex(seal({ ...head, value: unhex(value) }))).toBe(payload);
    }
  });

  it("has payloads that are refused", () => {
    const vectors = rows(2);
    expect(vectors).toHaveLength(13);
    for (const [payload = "", why] of vectors) expect(() => raw.open(unhex(payload)), why).toThrow(badPayload);
  });
});

const headers = fc.dictionary(fc.string({ minLength: 1, unit: "grapheme" }), fc.string({ unit: "grapheme" }), {
  maxKeys: 5,
});
const input: fc.Arbitrary<EnvelopeInput<Uint8Array>> = fc.record({
  value: fc.uint8Array({ maxLength: 40 }),
  key: fc.option(fc.uint8Array({ maxLength: 20 }), { nil: undefined }),
  headers,
  timestampMs: fc.integer({ min: -8.64e15, max: 8.64e15 }),
});

describe("an envelope", () => {
  it("gives back what was put into it", () => {
    fc.assert(
      fc.property(input, ({ value, key, headers: given = {}, timestampMs }) => {
        const read = raw.open(seal({ value, key, headers: given, timestampMs }));
        expect(read).toEqual({ value, key, timestampMs, headers: new Map(Object.entries(given)) });
      }),
      { seed },
    );
  });

  it("cut anywhere before its value is refused, never read beyond its end", () => {
    fc.assert(
      fc.property(input, (whole) => {
        const payload = seal(whole);
        const head = payload.length - whole.value.length;
        // In the middle of other bytes, as a record lies in its answer: those must not be taken for its own.
        const around = new Uint8Array(payload.length + 64).fill(1);
        around.set(payload, 32);
        for (let end = 0; end < payload.length; end++) {
          const cut = around.subarray(32, 32 + end);
          if (end < head) expect(() => raw.open(cut)).toThrow(badPayload);
          else expect(raw.open(cut).value).toEqual(whole.value.slice(0, end - head));
        }
      }),
      { seed },
    );
  });

  it("takes any bytes without anything but a value or BAD_PAYLOAD", () => {
    const head = fc.uint8Array({ minLength: 8, maxLength: 60 });
    fc.assert(
      fc.property(head, fc.integer({ min: 0, max: 255 }), (noise, at) => {
        for (const payload of [noise, Uint8Array.from([0xf9, ...noise]), damaged(noise, at)]) {
          try {
            raw.open(payload);
          } catch (error) {
            expect(error).toBeInstanceOf(MillraceError);
            expect(error).toMatchObject({ code: "BAD_PAYLOAD" });
          }
        }
      }),
      { seed, numRuns: 2000 },
    );
  });

  it("holds the extremes: no value, 65 535 headers, a long name, a megabyte of key", () => {
    const many = Object.fromEntries(Array.from({ length: 65_535 }, (_, n) => [`h${n}`, "x"]));
    expect(raw.open(seal({ value: new Uint8Array(0), headers: many })).headers.size).toBe(65_535);
    const long = { ["n".repeat(65_535)]: "v".repeat(100_000) };
    expect(raw.open(seal({ value: new Uint8Array(1), headers: long })).headers).toEqual(new Map(Object.entries(long)));
    const key = new Uint8Array(1 << 20).fill(7);
    expect(Buffer.compare(raw.open(seal({ value: new Uint8Array(0), key })).key ?? key.subarray(1), key)).toBe(0);
    const odd = new Map([["__proto__", "polluted"]]);
    expect(raw.open(seal({ value: new Uint8Array(0), headers: odd })).headers).toEqual(odd);
  });

  it("takes the time of now unless it is told another, and text keys as UTF-8", () => {
    const before = Date.now();
    const read = envelope(text()).open(envelope(text()).seal({ value: "", key: "schlüssel" }));
    expect(read.timestampMs).toBeGreaterThanOrEqual(before);
    expect(read.timestampMs).toBeLessThanOrEqual(Date.now());
    expect([read.value, Buffer.from(read.key ?? []).toString()]).toEqual(["", "schlüssel"]);
  });

  it("refuses what it cannot hold, and an inner codec that is none", () => {
    const value = new Uint8Array(1);
    const inputs: readonly EnvelopeInput<Uint8Array>[] = [
      { value, timestampMs: Number.NaN },
      { value, timestampMs: 1.5 },
      { value, timestampMs: 8.64e15 + 1 },
      { value, key: "\ud800" },
      { value, key: 7 as unknown as string },
      { value, headers: { "": "x" } },
      { value, headers: { ["n".repeat(65_536)]: "x" } },
      { value, headers: { a: 1 as unknown as string } },
      { value, headers: { "\udfff": "x" } },
      { value, headers: "a=b" as unknown as Record<string, string> },
      { value, headers: Object.fromEntries(Array.from({ length: 65_536 }, (_, n) => [`h${n}`, ""])) },
      { value: "text" as unknown as Uint8Array },
    ];
    for (const bad of inputs) expect(() => raw.seal(bad)).toThrow(badArgument);
    expect(() => envelope(undefined as never)).toThrow(badArgument);
    expect(() => envelope(json<number>()).open(seal({ value: unhex("7b") }))).toThrow(badPayload);
  });
});

/** A sound envelope with one byte changed. */
function damaged(noise: Uint8Array, at: number): Uint8Array {
  const payload = seal({ value: noise, key: noise.subarray(0, 3), headers: { a: "b", c: "d" }, timestampMs: 5 });
  payload[at % payload.length] = noise[0] ?? 0;
  return payload;
}
