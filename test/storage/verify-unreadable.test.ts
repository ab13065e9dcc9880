// Files that the system does not let be read. A directory in a file's place stands for a bad sector: open succeeds, reading fails.

import { mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type DumpItem, dump } from "../../src/storage/dump.js";
import { type RepairStep, repairPartition } from "../../src/storage/repair.js";
import { indexName, logName } from "../../src/storage/segment-name.js";
import { type Finding, verifyPartition } from "../../src/storage/verify.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, files, flipBit, logPath } from "./support/crash.js";
import { MovedClock } from "./support/deps.js";
import { open } from "./support/opened.js";
import { payload } from "./support/records.js";

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Five segments of 4 records each, closed cleanly; one record of the fourth does not match its sum. */
async function closed(): Promise<string> {
  const dir = tempDir();
  const opened = await open(dir, { format: "crc32c", segmentBytes: 450, indexIntervalBytes: 100 });
  for (let number = 0; number < 20; number++) await opened.append(payload(number, 100));
  await opened.close();
  flipBit(logPath(dir, 12), 108 + 50);
  return dir;
}

const damages = (found: readonly (Finding | RepairStep)[]) => found.filter((each) => each.kind === "damage");

function replaceByDirectory(path: string): void {
  rmSync(path);
  mkdirSync(path);
}

describe.each([
  ["a segment", logName(4)],
  ["an index", indexName(4)],
  ["partition.json", "partition.json"],
  ["the checkpoint", "checkpoint"],
])("%s that cannot be read", (_, name) => {
  it("is named by verify, with what the system says, and the rest is checked", async () => {
    const dir = await closed();
    replaceByDirectory(join(dir, name));
    const found = await collect(verifyPartition(dir));
    expect(damages(found)).toContainEqual(
      expect.objectContaining({ path: join(dir, name), what: expect.stringMatching(/^it cannot be read: .*EISDIR/) }),
    );
    if (name === "partition.json") return;
    expect(damages(found)).toContainEqual(expect.objectContaining({ path: logPath(dir, 12), offset: 13 }));
    expect(damages(found)).toHaveLength(2);
    const seen = found.filter(({ kind }) => kind === "segment").length;
    expect(seen).toBe(name === logName(4) ? 4 : 5);
  });

  it("makes a repair leave its partition as it is, and say so", async () => {
    const dir = await closed();
    replaceByDirectory(join(dir, name));
    const shot = () =>
      files(dir).map((each) => [each, statSync(join(dir, each)).isFile() ? bytesOf(join(dir, each)) : "directory"]);
    const before = shot();
    const steps = await collect(repairPartition(dir, new MovedClock()));
    expect(steps).toContainEqual(expect.objectContaining({ kind: "unrepaired", path: join(dir, name) }));
    expect(steps.some(({ kind }) => kind === "repaired")).toBe(false);
    expect(shot()).toEqual(before);
  });
});

it("a segment that is a link to nowhere is named, and not taken for one that retention removed", async () => {
  const dir = await closed();
  rmSync(logPath(dir, 8));
  symlinkSync(join(dir, "nowhere"), logPath(dir, 8));
  const found = damages(await collect(verifyPartition(dir)));
  expect(found).toContainEqual(expect.objectContaining({ path: logPath(dir, 8) }));
  expect(found).toContainEqual(expect.objectContaining({ path: logPath(dir, 12), offset: 13 }));
});

it("a directory that is none is named, too", async () => {
  const path = join(tempDir(), "orders-0");
  writeFileSync(path, "");
  expect(damages(await collect(verifyPartition(path)))).toContainEqual(expect.objectContaining({ path }));
});

it("segments behind a break are checked as well", async () => {
  const dir = await closed();
  rmSync(logPath(dir, 4));
  const found = damages(await collect(verifyPartition(dir)));
  expect(found.map((each) => "offset" in each && each.offset)).toEqual([4, 13]);
});

it("dump shows the segments around one that cannot be read, and names it", async () => {
  const dir = await closed();
  replaceByDirectory(logPath(dir, 4));
  const items: DumpItem[] = await collect(dump(dir));
  expect(items.filter(({ kind }) => kind === "record")).toHaveLength(16);
  expect(items).toContainEqual({ kind: "unreadable", path: logPath(dir, 4), what: expect.stringContaining("EISDIR") });
});
