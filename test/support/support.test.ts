// The helpers that other tests stand on.

import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { randomFrom } from "./seed.js";
import { chooseBase, liesInMemory, tempDir } from "./tmp.js";

describe("tempDir", () => {
  const made: string[] = [];
  let ofTheFile: string;

  beforeAll(() => {
    ofTheFile = tempDir("file");
  });

  it("makes an empty directory of its own", () => {
    made.push(tempDir(), tempDir());
    expect(made.filter(existsSync)).toHaveLength(2);
    expect(new Set(made).size).toBe(2);
  });

  it("removes it after the test, and one made in beforeAll only after the file", () => {
    expect(made.filter(existsSync)).toEqual([]);
    expect(existsSync(ofTheFile)).toBe(true);
  });

  it("refuses a file system in memory", () => {
    const inMemory = (dir: string): boolean => dir !== "/disk";
    expect(chooseBase(["/memory", "/disk"], inMemory)).toBe("/disk");
    expect(() => chooseBase(["/memory"], inMemory)).toThrow("MILLRACE_TEST_DIR");
    if (process.platform !== "linux") return;
    expect(liesInMemory(tmpdir(), 0x01021994)).toBe(true);
    expect(liesInMemory(tmpdir(), 0xef53)).toBe(false);
    if (existsSync("/dev/shm")) expect(liesInMemory("/dev/shm")).toBe(true);
  });

  afterAll(() => expect(existsSync(ofTheFile)).toBe(true));
});

describe("randomFrom", () => {
  it("gives the same numbers for the same seed, in [0, 1)", () => {
    const [a, b, other] = [randomFrom(7), randomFrom(7), randomFrom(8)];
    const numbers = Array.from({ length: 1000 }, a);
    expect(Array.from({ length: 1000 }, b)).toEqual(numbers);
    expect(Array.from({ length: 1000 }, other)).not.toEqual(numbers);
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
  });
});
