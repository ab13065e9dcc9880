// CRC-32C of every kind that this processor runs, against the vectors that clients in other languages use.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { native } from "../../src/native/binding.js";
import { crc32c as inTypeScript } from "../../src/protocol/crc32c.js";
import { hex } from "../support/bytes.js";
import { printedSeed, randomFrom } from "../support/seed.js";

const vectors = readFileSync(new URL("../vectors/crc32c.tsv", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("payloadHex"))
  .map((line) => line.split("\t") as [string, string, string]);

it("the active kind is one of those that run here, and tables always do", () => {
  expect(native.crc32cKinds).toContain(native.crc32cKind);
  expect(native.crc32cKinds).toContain("table");
});

it.each(native.crc32cKinds)("%s agrees with every vector", (kind) => {
  expect(vectors.length).toBeGreaterThan(20);
  for (const [payload, sum, name] of vectors)
    expect([name, native.crc32c(hex(payload), kind)]).toEqual([name, Number(sum)]);
});

it.each(native.crc32cKinds)("%s agrees with the one in TypeScript on random bytes, wherever they begin", (kind) => {
  const random = randomFrom(printedSeed(`crc32c ${kind}`));
  const bytes = Uint8Array.from({ length: 40_000 }, () => random() * 256);
  for (let round = 0; round < 300; round++) {
    const from = Math.floor(random() * 100);
    const part = bytes.subarray(from, from + Math.floor(random() ** 3 * (bytes.length - 100)));
    expect(native.crc32c(part, kind)).toBe(
      inTypeScript(new DataView(part.buffer, part.byteOffset), 0, part.length) >>> 0,
    );
  }
});

it("without a kind the active one is used", () => {
  expect(native.crc32c(new TextEncoder().encode("123456789"))).toBe(0xe3069283);
});

it("a kind that does not run here is refused", () => {
  expect(() => native.crc32c(new Uint8Array(1), "abacus")).toThrow(
    expect.objectContaining({ code: "ERR_OUT_OF_RANGE" }),
  );
});
