// Batches by size and by time, with a clock that the test moves.

import { describe, expect, it } from "vitest";
import { Accumulator } from "../../src/client/accumulator.js";
import { ManualTime } from "../support/manual-time.js";

function setUp(batchBytes: number, lingerMs = 100) {
  const time = new ManualTime();
  const batches: string[][] = [];
  const accumulator: Accumulator = new Accumulator({ batchBytes, lingerMs, timers: time }, () => {
    const { bytes } = accumulator.region;
    const records: string[] = [];
    for (let at = 0; at < bytes.length; ) {
      const size = new DataView(bytes.buffer, bytes.byteOffset).getInt32(at);
      records.push(Buffer.from(bytes.subarray(at + 4, at + 4 + size)).toString());
      at += 4 + size;
    }
    batches.push(records);
  });
  const append = (record: string) => {
    const bytes = Buffer.from(record);
    accumulator.makeRoom(bytes.length);
    accumulator.append(bytes, 0, bytes.length);
  };
  return { time, batches, accumulator, append };
}

describe("a batch that is being filled", () => {
  it("is closed when it is full, and before a record that does not fit", () => {
    const { batches, append } = setUp(20);
    for (const record of ["aaaaaa", "bbbbbb", "cccccc", "dddd", "e"]) append(record);
    // 10 + 10 bytes are full; 10 + 8 are not, and 5 more do not fit.
    expect(batches).toEqual([
      ["aaaaaa", "bbbbbb"],
      ["cccccc", "dddd"],
    ]);
  });

  it("may be one record that is larger than a batch", () => {
    const { batches, append } = setUp(10);
    append("a");
    append("x".repeat(50));
    append("b");
    expect(batches).toEqual([["a"], ["x".repeat(50)]]);
  });

  it("is closed so long after its first record, not after its last", () => {
    const { time, batches, append } = setUp(1000, 100);
    append("a");
    time.advance(60);
    append("b");
    time.advance(39);
    expect(batches).toEqual([]);
    time.advance(1);
    expect(batches).toEqual([["a", "b"]]);
    append("c");
    time.advance(99);
    expect(batches).toHaveLength(1);
    time.advance(1);
    expect(batches[1]).toEqual(["c"]);
  });

  it("has no timer when there is nothing in it, and closing it then sends nothing", () => {
    const { time, batches, accumulator, append } = setUp(1000);
    append("a");
    expect(time.armed).toBe(1);
    accumulator.close();
    expect(time.armed).toBe(0);
    accumulator.close();
    time.advance(1000);
    expect(batches).toEqual([["a"]]);
  });
});
