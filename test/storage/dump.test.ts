// What dump shows of files, and when it wants to be told how their records lie.

import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type DumpItem, type DumpOptions, dump } from "../../src/storage/dump.js";
import { tempDir } from "../support/tmp.js";
import { closed, collect } from "./support/checked.js";
import { flipBit, logPath } from "./support/crash.js";
import { COMBINATIONS, open } from "./support/opened.js";
import { payload } from "./support/records.js";

describe("dump", () => {
  const dumped = (path: string, options: DumpOptions = {}): Promise<DumpItem[]> => collect(dump(path, options));

  it.each(COMBINATIONS)("%s %s shows every record of a partition, also while it is written", async (mode, format) => {
    const dir = tempDir();
    const opened = await open(dir, { mode, format, segmentBytes: 3_000_000 });
    const sizes = [1, 100, 70_000, 2_000_000, 50, 2_500_000];
    for (const [number, size] of sizes.entries()) await opened.append(payload(number, size));
    const items = await dumped(dir, { headBytes: 10 });
    await opened.close();
    const records = items.filter(({ kind }) => kind === "record");
    expect(records).toHaveLength(sizes.length);
    for (const [number, each] of records.entries()) {
      expect(each).toMatchObject({
        offset: number,
        length: sizes[number],
        sumMatches: format === "crc32c" ? true : undefined,
      });
      expect("head" in each && each.head).toEqual(payload(number, sizes[number]).subarray(0, 10));
    }
    expect(items.filter(({ kind }) => kind === "segment")).toHaveLength(2);
    const ends = items.filter(({ kind }) => kind === "end");
    expect(ends.at(-1)).toMatchObject({ offset: 6, tail: mode === "MAPPED" ? "zeros" : "whole", tailBytes: 0 });
  });

  it("shows a record whose sum does not match, goes on behind it, and says how a segment ends", async () => {
    const dir = await closed({ format: "crc32c" });
    flipBit(logPath(dir, 4), 108 + 50);
    truncateSync(logPath(dir, 4), 4 * 108 - 5);
    const items = await dumped(logPath(dir, 4));
    expect(items.map((each) => each.kind)).toEqual(["segment", "record", "record", "record", "end"]);
    expect(items[2]).toMatchObject({ offset: 5, position: 108, sumMatches: false });
    expect(items[4]).toMatchObject({ kind: "end", offset: 7, position: 324, tail: "short" });
  });

  it("of a file away from its partition wants to be told the format", async () => {
    const dir = tempDir();
    writeFileSync(join(dir, "some.log"), "");
    await expect(dumped(join(dir, "some.log"))).rejects.toMatchObject({ code: "BAD_ARGUMENT" });
    expect(await dumped(join(dir, "some.log"), { format: "plain" })).toMatchObject([
      { kind: "segment", bytes: 0 },
      { kind: "end", tail: "whole" },
    ]);
  });
});
