// A checkpoint that is not of the segments beside it: verify names it, a start refuses for the same reason, and a repair makes
// it anew and keeps every record.

import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CheckpointFile } from "../../src/storage/checkpoint-file.js";
import { judgeMark, type ReadChain } from "../../src/storage/checkpoint-fit.js";
import { repairPartition } from "../../src/storage/repair.js";
import { indexName } from "../../src/storage/segment-name.js";
import { type Finding, verifyPartition } from "../../src/storage/verify.js";
import { tempDir } from "../support/tmp.js";
import { crashCopy, crashCopyWithTimes, files, logPath } from "./support/crash.js";
import { MovedClock } from "./support/deps.js";
import { COMBINATIONS, open, type TestOptions } from "./support/opened.js";
import { headerBytes, payload, payloads } from "./support/records.js";

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const damages = async (dir: string): Promise<Finding[]> =>
  (await collect(verifyPartition(dir))).filter(({ kind }) => kind === "damage");

/** 12 records of 100 bytes in three segments, after a clean stop and after a kill with everything forced. */
async function left(options: TestOptions): Promise<{ readonly stopped: string; readonly killed: string }> {
  const dir = tempDir();
  const opened = await open(dir, { segmentBytes: 450, indexIntervalBytes: 100, ...options });
  for (let number = 0; number < 12; number++) await opened.append(payload(number, 100));
  await opened.log.force();
  await opened.log.settled();
  opened.clock.ms += 5000;
  await opened.log.upkeep();
  const killed = crashCopyWithTimes(dir);
  await opened.close();
  return { stopped: crashCopyWithTimes(dir), killed };
}

describe.each(COMBINATIONS)("%s %s", (mode, format) => {
  const record = headerBytes(format) + 100;

  it("a checkpoint that fits is believed after a stop and after a kill", async () => {
    const { stopped, killed } = await left({ mode, format });
    for (const dir of [stopped, killed]) {
      expect(await damages(dir)).toEqual([]);
      const again = await open(crashCopyWithTimes(dir), { mode, segmentBytes: 450 });
      expect(again.log.logEndOffset).toBe(12);
      await again.close();
    }
  });

  // Segment, position and offset that another partition's checkpoint names.
  it.each([
    ["in the middle of a record", 8, record + 7, 9],
    ["where another offset lies", 8, 3 * record - 1, 12],
    ["in a sealed segment, inside of a record", 4, record + 7, 5],
    ["behind the next segment's begin", 4, 2 * record, 9],
    ["at two places at once", 8, 0, 9],
    ["in a segment that is not there", 6, record, 7],
  ])(
    "verify names a checkpoint with a place %s, a start refuses for it, and a repair keeps every record",
    async (_, segmentBase, position, durableOffset) => {
      const { stopped, killed } = await left({ mode, format });
      for (const dir of [stopped, killed]) {
        const path = join(dir, "checkpoint");
        const foreign = { segmentBase, position, durableOffset, logStartOffset: 0, bootId: "", epochs: [] };
        await CheckpointFile.fresh(dir).write(foreign);
        const found = await damages(dir);
        expect(found).toMatchObject([{ path, position: -1 }]);
        const { what } = found[0] as { readonly what: string };
        expect(what).toContain("of another partition or of another time");
        await expect(open(dir, { mode, segmentBytes: 450 })).rejects.toMatchObject({
          code: "PARTITION_DAMAGED",
          path,
          what,
        });
        await collect(repairPartition(dir, new MovedClock()));
        expect(await damages(dir)).toEqual([]);
        expect(files(dir, ".torn")).toEqual([]);
        const again = await open(dir, { mode, segmentBytes: 450 });
        expect(await again.readAll()).toEqual(payloads(0, 12, 100));
        expect(again.log.epoch).toBeGreaterThan(20_000_000);
        await again.close();
      }
    },
  );

  it("one that was copied over from a partition with other records is named, whichever of the two it was", async () => {
    const one = await left({ mode, format });
    const dir = tempDir();
    const other = await open(dir, { mode, format, segmentBytes: 450 });
    for (let number = 0; number < 3; number++) await other.append(payload(number, 37));
    await other.close();
    for (const to of [one.stopped, one.killed]) {
      copyFileSync(join(dir, "checkpoint"), join(to, "checkpoint"));
      expect(await damages(to)).toMatchObject([{ path: join(to, "checkpoint") }]);
      await expect(open(to, { mode, segmentBytes: 450 })).rejects.toMatchObject({ path: join(to, "checkpoint") });
    }
  });
});

it("records that are gone are not blamed on the checkpoint, which is mentioned", async () => {
  const { killed } = await left({ mode: "FILE_CHANNEL", format: "crc32c" });
  const dir = crashCopy(killed);
  rmSync(logPath(dir, 8));
  rmSync(join(dir, indexName(8)), { force: true });
  expect(await damages(dir)).toMatchObject([{ path: logPath(dir, 4), offset: 8 }]);
  const notes = (await collect(verifyPartition(dir))).filter(({ kind }) => kind === "note");
  expect(notes).toContainEqual(expect.objectContaining({ path: join(dir, "checkpoint") }));
  await expect(open(dir, { segmentBytes: 450 })).rejects.toMatchObject({ path: logPath(dir, 4), offset: 8 });
});

describe("which of the two is wrong", () => {
  const chain = (facts: Partial<ReadChain>): ReadChain => ({
    mark: { position: 1000, offset: 10 },
    end: { position: 2000, offset: 20 },
    atMark: undefined,
    summed: true,
    sound: true,
    indexAgrees: false,
    adjoins: false,
    ...facts,
  });

  it.each([
    ["the place is there", { atMark: 10 }, "nothing"],
    ["sums match beyond it", {}, "checkpoint"],
    ["sums match up to another offset there", { atMark: 9 }, "checkpoint"],
    ["the records break before it", { end: { position: 400, offset: 4 }, sound: false }, "segment"],
    ["the records end before it", { end: { position: 400, offset: 4 } }, "segment"],
    ["they end before it, as their index says", { end: { position: 400, offset: 4 }, indexAgrees: true }, "checkpoint"],
    [
      "they end before it, where the next segment begins",
      { end: { position: 400, offset: 4 }, adjoins: true },
      "checkpoint",
    ],
    ["without sums another count leads there", { summed: false, atMark: 9 }, "segment"],
    ["without sums all lengths lead past it to a sound end", { summed: false }, "checkpoint"],
    ["without sums the lengths lead past it and break", { summed: false, sound: false }, "segment"],
  ] as const)("%s", (_, facts, wrong) => {
    expect(judgeMark(chain(facts))).toBe(wrong);
  });
});
