// Keys to partitions, against the vectors that clients in other languages have too.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fnv1a, partitionOfKey, RoundRobin } from "../../src/client/partitioner.js";
import { hex } from "../support/bytes.js";

const rows = readFileSync(new URL("../vectors/partitioner-fnv1a.tsv", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("keyHex"))
  .map((line) => line.split("\t"));

describe("the partition of a key", () => {
  it("has vectors to be checked against", () => expect(rows.length).toBeGreaterThan(10));

  it.each(rows)("P05 agrees with the vector %s", (keyHex, hash, p1, p2, p3, p4, p16, p64) => {
    const key = hex(keyHex);
    expect(fnv1a(key)).toBe(Number(hash));
    const expected = [p1, p2, p3, p4, p16, p64].map(Number);
    expect([1, 2, 3, 4, 16, 64].map((partitions) => partitionOfKey(key, partitions))).toEqual(expected);
  });

  it("is the same for text and for its UTF-8", () => {
    expect(partitionOfKey("заказ-17", 64)).toBe(partitionOfKey(Buffer.from("заказ-17"), 64));
  });
});

describe("records without a key", () => {
  it("P05 go round robin, a batch at a time", () => {
    const roundRobin = new RoundRobin(3);
    const seen: number[] = [];
    for (let batch = 0; batch < 7; batch++) {
      seen.push(roundRobin.current, roundRobin.current);
      roundRobin.advance();
    }
    expect(seen).toEqual([0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 0]);
  });
});
