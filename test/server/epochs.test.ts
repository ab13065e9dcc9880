// A log that a recovery cut and that grew again: a reader hears of it.

import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { flipBit, logPath } from "../storage/support/crash.js";
import { connectTo, runBroker } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { LONG_MS, SOON_MS, timed } from "../support/waiting.js";
import {
  type FetchedPart,
  Fields,
  fetch,
  metadata,
  multiFetch,
  type Position,
  produce,
  readFetched,
  readMultiFetched,
  readProduced,
  readStored,
  type Wire,
} from "../support/wire.js";

const OUT_OF_RANGE = 2;
const LOG_TRUNCATED = 10;

/** 100 bytes as stored. */
const record = (name: string): Uint8Array => ascii(name.padEnd(92));
const names = (payload: Uint8Array): string[] =>
  readStored(payload).payloads.map((stored) => Buffer.from(stored).toString().trimEnd());
async function ask(wire: Wire, position: Position): Promise<FetchedPart> {
  return readMultiFetched(await wire.ask(multiFetch([position])))[0];
}

/** Leaves `dir` as a broker leaves it that is killed, with record `torn` of partition 0 damaged. */
async function tornAt(torn: number, write: (wire: Wire) => Promise<void>, from?: string): Promise<string> {
  const dir = from ?? tempDir("alive");
  const broker = await runBroker({ "data.dir": dir });
  await write(await connectTo(broker));
  const crashed = tempDir("crashed");
  cpSync(dir, crashed, { recursive: true });
  await broker.stop();
  flipBit(logPath(join(crashed, "orders-0"), 0), torn * 100 + 50);
  return crashed;
}

async function write(wire: Wire, prefix: string, count: number): Promise<void> {
  await wire.ask(produce(Array.from({ length: count }, (_, i) => record(`${prefix}${i}`))));
}

describe("F20 a log that was cut below a reader's position and grew again", () => {
  it("F20 answers LOG_TRUNCATED with the start of the new epoch, and not in silence with other records", async () => {
    const dir = await tornAt(80, (wire) => write(wire, "old", 100));
    const broker = await runBroker({ "data.dir": dir });
    const wire = await connectTo(broker);
    // Before it has grown: the reader's offset is behind the end, and still it is told what happened.
    const cut = { error: LOG_TRUNCATED, epoch: 1, epochStart: 80, logStart: 0 };
    expect(await ask(wire, { offset: 100, epoch: 0 })).toMatchObject({ ...cut, highWatermark: 80, logEnd: 80 });
    await write(wire, "new", 40);
    const part = await ask(wire, { offset: 100, epoch: 0 });
    expect(part).toMatchObject({ ...cut, highWatermark: 120, logEnd: 120 });
    expect(part.payload).toHaveLength(0);
    // A reader goes on from there, under the epoch it was told.
    const again = await ask(wire, { offset: part.epochStart, epoch: part.epoch });
    expect(again).toMatchObject({ error: 0, epoch: 1, epochStart: 80 });
    expect(names(again.payload)).toEqual(Array.from({ length: 40 }, (_, i) => `new${i}`));
    expect(broker.statistics().errors.LOG_TRUNCATED).toBe(2);
  });

  it("F20 tells nobody who has lost nothing", async () => {
    const dir = await tornAt(80, (wire) => write(wire, "old", 100));
    const wire = await connectTo(await runBroker({ "data.dir": dir }));
    await write(wire, "new", 40);
    for (const offset of [0, 79, 80]) {
      const part = await ask(wire, { offset, epoch: 0 });
      expect(part).toMatchObject({ error: 0, epoch: 1, epochStart: 80 });
      expect(names(part.payload).slice(-1)).toEqual(["new39"]);
    }
    // Nobody knows of one who does not say under which epoch it got its position, and FETCH v1 cannot say.
    expect(await ask(wire, { offset: 100, epoch: -1 })).toMatchObject({ error: 0 });
    expect(await ask(wire, { offset: 100, epoch: 1 })).toMatchObject({ error: 0 });
    expect(names(readFetched(await wire.ask(fetch(119))).payload)).toEqual(["new39"]);
    expect(await ask(wire, { offset: 121, epoch: 1 })).toMatchObject({ error: OUT_OF_RANGE, epoch: 1, epochStart: 80 });
  });

  it("F20 names the lowest start of all epochs that a reader has missed", async () => {
    const first = await tornAt(80, (wire) => write(wire, "old", 100));
    // What a recovery left is forced: the next cut lies above it.
    const second = await tornAt(100, (wire) => write(wire, "new", 40), first);
    const wire = await connectTo(await runBroker({ "data.dir": second }));
    await write(wire, "newest", 60);
    const started = async (offset: number, epoch: number): Promise<number | undefined> => {
      const part = await ask(wire, { offset, epoch });
      expect(part.epoch).toBe(2);
      return part.error === LOG_TRUNCATED ? part.epochStart : undefined;
    };
    expect(await started(120, 0)).toBe(80);
    expect(await started(90, 0)).toBe(80);
    expect(await started(80, 0)).toBeUndefined();
    expect(await started(120, 1)).toBe(100);
    expect(await started(101, 1)).toBe(100);
    expect(await started(100, 1)).toBeUndefined();
    expect(await started(120, 2)).toBeUndefined();
    const fields = new Fields((await wire.ask(metadata(["orders"], 2))).body);
    expect([fields.int32(), fields.string(), fields.int8(), fields.int32()]).toEqual([1, "orders", 1, 1]);
    expect([fields.int32(), fields.int32()]).toEqual([0, 2]);
  });

  it("F20 a reader that would wait is told at once, whatever the other partitions have", async () => {
    const dir = await tornAt(80, (wire) => write(wire, "old", 100));
    const wire = await connectTo(await runBroker({ "data.dir": dir, topics: "orders:2" }));
    await write(wire, "new", 20);
    const request = multiFetch(
      [
        { partition: 1, offset: 0 },
        { offset: 100, epoch: 0 },
      ],
      { maxWaitMs: LONG_MS, minRecords: 5 },
    );
    const { value, ms } = await timed(wire.ask(request));
    expect(readMultiFetched(value).map(({ error }) => error)).toEqual([0, LOG_TRUNCATED]);
    expect(ms).toBeLessThan(SOON_MS);
  });

  it("the cut records' offsets are given to others, and the epoch stays over clean starts", async () => {
    const dir = await tornAt(10, (wire) => write(wire, "old", 20));
    for (let round = 0; round < 3; round++) {
      const broker = await runBroker({ "data.dir": dir });
      const wire = await connectTo(broker);
      expect(readProduced(await wire.ask(produce([record(`new${round}`)]))).base).toBe(10 + round);
      expect(await ask(wire, { offset: 11, epoch: 0 })).toMatchObject({
        error: LOG_TRUNCATED,
        epoch: 1,
        epochStart: 10,
      });
      await broker.stop();
    }
    rmSync(dir, { recursive: true, force: true });
  });
});
