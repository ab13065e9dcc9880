// The cursor never reads behind its end and never forgets that it failed.

import { describe, expect, it } from "vitest";
import { Reader } from "../../src/protocol/reader.js";
import { Writer } from "../../src/protocol/writer.js";
import { concat, embed, hex, int32 } from "../support/bytes.js";

function readerOf(bytes: Uint8Array, filler = 0): Reader {
  const { view, from, end } = embed(bytes, filler);
  return new Reader(view, from, end);
}

describe("Reader", () => {
  it("reads what a writer wrote", () => {
    const bytes = new Writer(1)
      .int8(-2)
      .int16(-300)
      .int32(70_000)
      .int64(-1)
      .int64(2 ** 40)
      .string("zażółć")
      .finish();
    const reader = readerOf(bytes);
    expect(reader.int8()).toBe(-2);
    expect(reader.int16()).toBe(-300);
    expect(reader.int32()).toBe(70_000);
    expect(reader.int64()).toBe(-1);
    expect(reader.int64()).toBe(2 ** 40);
    expect(reader.string()).toBe("zażółć");
    expect(reader.finished).toBe(true);
  });

  it("fails for good at the first read behind its end", () => {
    const reader = readerOf(hex("0001"), 0xff);
    expect(reader.int32()).toBe(0);
    expect(reader.ok).toBe(false);
    expect(reader.int8()).toBe(0);
    expect(reader.finished).toBe(false);
    expect(reader.remaining).toBe(2);
  });

  it("is not finished while bytes are left over", () => {
    const reader = readerOf(hex("0001 02"));
    reader.int16();
    expect(reader.ok).toBe(true);
    expect(reader.finished).toBe(false);
  });

  it("answers a count only when that many items can follow", () => {
    const items = new Uint8Array(12);
    for (const [count, answered] of [
      [0, 0],
      [3, 3],
    ]) {
      expect(readerOf(concat(int32(count), items)).count(4)).toBe(answered);
    }
    for (const count of [4, -1, 0x7fffffff, -0x80000000]) {
      const reader = readerOf(concat(int32(count), items));
      expect(reader.count(4)).toBe(0);
      expect(reader.ok).toBe(false);
    }
  });

  it("does not skip backwards, nor behind its end", () => {
    for (const bytes of [-1, 5, 0x7fffffff, -0x80000000]) {
      const reader = readerOf(new Uint8Array(4));
      expect(reader.skip(bytes)).toBe(-1);
      expect(reader.ok).toBe(false);
    }
  });

  it("fails on a string that is longer than what follows, and on bytes that are not UTF-8", () => {
    for (const bad of ["0003 6162", "ffff 61", "0001 ff", "0002 c328"]) {
      const reader = readerOf(hex(bad), 0x61);
      expect(reader.string()).toBe("");
      expect(reader.ok).toBe(false);
    }
  });

  it("fails on an int64 that a number cannot hold", () => {
    const reader = readerOf(hex("0020 0000 0000 0000"));
    expect(reader.int64()).toBe(0);
    expect(reader.ok).toBe(false);
  });

  it("fails on a topic name that is empty, too long or has other characters", () => {
    expect(readerOf(concat(hex("00f9"), new Uint8Array(249).fill(0x61))).topicName()).toBe("a".repeat(249));
    for (const bad of [
      hex("0000"),
      concat(hex("00fa"), new Uint8Array(250).fill(0x61)),
      hex("0001 2f"),
      hex("0001 00"),
      hex("0001 e9"),
    ]) {
      const reader = readerOf(bad);
      expect(reader.topicName()).toBe("");
      expect(reader.ok).toBe(false);
    }
  });
});

describe("Writer", () => {
  it("grows, and overwrites only what was written", () => {
    const writer = new Writer(1);
    for (let i = 0; i < 100; i++) writer.int32(i);
    writer.patchInt32(396, 7);
    expect(writer.length).toBe(400);
    expect(() => writer.patchInt32(397, 7)).toThrow("was written before");
    expect(new DataView(writer.finish().slice().buffer).getInt32(396)).toBe(7);
  });

  it("refuses a string that its length field cannot count", () => {
    expect(() => new Writer().string("x".repeat(65_536))).toThrow("invariant broken");
  });
});
