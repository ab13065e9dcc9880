// CRC-32C in TypeScript, against the vectors and against the definition, bit by bit.

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32c } from "../../src/protocol/crc32c.js";
import { embed, hex } from "../support/bytes.js";

const rows = readFileSync(new URL("../vectors/crc32c.tsv", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("payloadHex"))
  .map((line) => line.split("\t"));

function bitByBit(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
  }
  return ~sum >>> 0;
}

describe("crc32c", () => {
  it("has vectors to be checked against", () => expect(rows.length).toBeGreaterThan(5));

  it.each(rows)("sums the vector %s", (payloadHex, sum) => {
    const { view, from, end } = embed(hex(payloadHex), 0x5a);
    expect(crc32c(view, from, end)).toBe(Number(sum));
  });

  it("agrees with the definition at every length around its steps and at every alignment", () => {
    for (let length = 0; length < 70; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 167 + length) & 0xff);
      for (let shift = 0; shift < 8; shift++) {
        const buffer = new Uint8Array(length + shift + 8).fill(0xee);
        buffer.set(bytes, shift);
        expect(crc32c(new DataView(buffer.buffer), shift, shift + length)).toBe(bitByBit(bytes));
      }
    }
  });

  it("agrees with the definition on any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const { view, from, end } = embed(bytes, 0xff);
        expect(crc32c(view, from, end)).toBe(bitByBit(bytes));
      }),
    );
  });
});
