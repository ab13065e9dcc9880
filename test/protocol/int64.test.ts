// int64 against BigInt, which is exact and which the hot paths do not use.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { putInt64, readInt64, readOffset } from "../../src/protocol/int64.js";

const view = new DataView(new ArrayBuffer(16));
const MAX = Number.MAX_SAFE_INTEGER;

describe("int64", () => {
  it.each([0, 1, -1, -2, 0x7fffffff, 0x80000000, 0xffffffff, 0x1_0000_0000, -0x1_0000_0000, -0x1_0000_0001, MAX, -MAX])(
    "writes %d as BigInt does",
    (value) => {
      putInt64(view, 3, value);
      expect(view.getBigInt64(3)).toBe(BigInt(value));
      expect(readInt64(view, 3)).toBe(value);
    },
  );

  it("round-trips every safe integer", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        putInt64(view, 1, value);
        expect(view.getBigInt64(1)).toBe(BigInt(value));
        // −0 is 0 on the wire.
        expect(readInt64(view, 1)).toBe(value + 0);
      }),
    );
  });

  it("says of a number outside ±(2^53 − 1) that it is not safe, and never rounds it", () => {
    for (const value of [2n ** 53n, -(2n ** 53n), 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      view.setBigInt64(0, value);
      expect(readInt64(view, 0)).toBeNaN();
    }
  });

  it("reads an offset: negative ones as −1, those above 2^53 − 1 as that", () => {
    const cases: [bigint, number][] = [
      [0n, 0],
      [5n, 5],
      [2n ** 32n + 7n, 2 ** 32 + 7],
      [2n ** 53n - 1n, MAX],
      [2n ** 53n, MAX],
      [2n ** 63n - 1n, MAX],
      [-1n, -1],
      [-(2n ** 63n), -1],
    ];
    for (const [wire, value] of cases) {
      view.setBigInt64(5, wire);
      expect(readOffset(view, 5)).toBe(value);
    }
  });
});
