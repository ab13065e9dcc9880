// What a backup does when retention is faster, at each place where it can be: files are removed just there.

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Copied, copyPartition } from "../../src/cli/backup/copy.js";
import { Moved, type PartitionPlan, planServed } from "../../src/cli/backup/plan.js";
import { openLog } from "../../src/log/embedded.js";
import { offset, partitionId } from "../../src/model/ids.js";
import { CheckpointFile } from "../../src/storage/checkpoint-file.js";
import { currentEpoch } from "../../src/storage/epochs.js";
import { tempDir } from "../support/tmp.js";

const RECORDS = 40;

async function partition(): Promise<string> {
  const dir = join(tempDir("races"), "orders-0");
  const log = await openLog(dir, { segmentBytes: 4096, diskReserveBytes: 0 });
  for (let i = 0; i < RECORDS; i++) await log.append(Buffer.from(String(i).padEnd(1000)), { ack: "forced" });
  await log.close();
  return dir;
}

const segmentsOf = (dir: string): number[] =>
  readdirSync(dir)
    .filter((name) => name.endsWith(".log"))
    .map((name) => Number(name.slice(0, 20)))
    .sort((a, b) => a - b);

/** As retention does: the index first. */
function remove(dir: string, bases: readonly number[]): void {
  for (const base of bases) {
    for (const kind of ["index", "log"]) rmSync(join(dir, `${String(base).padStart(20, "0")}.${kind}`));
  }
}

async function plan(dir: string, durable = RECORDS, whileAsked: () => number = () => 0): Promise<PartitionPlan> {
  const epoch = currentEpoch((await CheckpointFile.open(dir)).last?.epochs ?? []);
  return planServed(dir, () =>
    Promise.resolve({
      partition: partitionId(0),
      epoch,
      logStartOffset: offset(whileAsked()),
      highWatermark: offset(RECORDS),
      durableOffset: offset(durable),
      logEndOffset: offset(RECORDS),
    }),
  );
}

async function copied(of: PartitionPlan, links = true): Promise<Copied & { dir: string }> {
  const dir = join(tempDir("races"), "copy");
  return { dir, ...(await copyPartition(of, dir, { links, onBytes: () => undefined })) };
}

/** Offsets that a start on the copy finds, each with its record. */
async function offsetsIn(dir: string): Promise<number[]> {
  const log = await openLog(dir, { segmentBytes: 4096, diskReserveBytes: 0 });
  try {
    const found: number[] = [];
    for (let at = log.logStartOffset as number; at < log.logEndOffset; ) {
      const { records } = await log.read(at);
      for (const { offset: each, payload } of records) {
        expect(Buffer.from(payload).toString().trim()).toBe(String(each));
        found.push(each);
      }
      at = (records.at(-1)?.offset ?? at) + 1;
    }
    return found;
  } finally {
    await log.close();
  }
}

const range = (from: number, end: number): number[] => Array.from({ length: end - from }, (_, i) => from + i);

describe("a backup beside retention", () => {
  it("begins behind the segments that went away before they were taken", async () => {
    for (const links of [true, false]) {
      const dir = await partition();
      const of = await plan(dir);
      const bases = segmentsOf(dir);
      expect(bases.length).toBeGreaterThan(8);
      remove(dir, bases.slice(0, 3));
      const copy = await copied(of, links);
      expect([copy.startOffset, copy.endOffset]).toEqual([bases[3], RECORDS]);
      expect(await offsetsIn(copy.dir)).toEqual(range(bases[3] ?? 0, RECORDS));
    }
  });

  it("begins behind the segments that went away while the broker was asked", async () => {
    const dir = await partition();
    const bases = segmentsOf(dir);
    const of = await plan(dir, RECORDS, () => {
      remove(dir, bases.slice(0, 2));
      return bases[2] ?? 0;
    });
    const copy = await copied(of);
    expect(await offsetsIn(copy.dir)).toEqual(range(bases[2] ?? 0, RECORDS));
  });

  it("begins anew when the segment with the end went away, too", async () => {
    const dir = await partition();
    const of = await plan(dir);
    remove(dir, segmentsOf(dir).slice(0, -1));
    rmSync(join(dir, `${String(segmentsOf(dir)[0]).padStart(20, "0")}.log`));
    await expect(copied(of)).rejects.toBeInstanceOf(Moved);
    await expect(plan(dir)).rejects.toBeInstanceOf(Moved);
  });

  it("asks the broker anew when retention went past what had been durable a moment before", async () => {
    const dir = await partition();
    const behind = { durableOffset: 0, segmentBase: 0, position: 0, logStartOffset: 0, bootId: "", epochs: [] };
    await CheckpointFile.fresh(dir).write(behind);
    const passed = plan(dir, 1, () => {
      remove(dir, segmentsOf(dir).slice(0, 3));
      return 0;
    });
    await expect(passed).rejects.toBeInstanceOf(Moved);
    const [start = 0] = segmentsOf(dir);
    expect(await offsetsIn((await copied(await plan(dir, RECORDS, () => start))).dir)).toEqual(range(start, RECORDS));
  });

  it("ends at the durable offset, wherever in a segment that lies", async () => {
    const dir = await partition();
    const bases = segmentsOf(dir);
    // It is written once a second, and may be behind.
    const behind = { durableOffset: 0, segmentBase: 0, position: 0, logStartOffset: 0, bootId: "", epochs: [] };
    await CheckpointFile.fresh(dir).write(behind);
    for (const durable of [0, 1, bases[2] ?? 0, (bases[2] ?? 0) + 1, RECORDS - 1]) {
      const copy = await copied(await plan(dir, durable));
      expect(copy.endOffset).toBe(durable);
      expect(await offsetsIn(copy.dir)).toEqual(range(0, durable));
    }
  });
});
