// Segments that a disk does not give back, played by a library in front of the C library: who asked for them is told, everybody
// else on the same connection gets what they asked for, and the operator reads which segment it is.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type BrokerProcess, connectTo } from "../support/broker.js";
import { type FailingDisk, failingDisk } from "../support/failing-disk.js";
import {
  fetch,
  multiFetch,
  produce,
  readFetched,
  readMultiFetched,
  readProduced,
  readStored,
} from "../support/wire.js";

const STORAGE_FAILURE = 6;
const FORCED = 2;

const failing = (fetchMode: string, cold: boolean): Promise<FailingDisk> =>
  failingDisk({ "fetch.mode": fetchMode }, ...(cold ? ["FAIL_COLD"] : []));
const record = (partition: number): Uint8Array => new Uint8Array(1000).fill(65 + partition);
const told = ({ lines }: BrokerProcess) => lines.filter(({ kind }) => kind === "fetch.file-error");

describe.runIf(process.platform === "linux")("a segment that cannot be read when it is to be sent", () => {
  for (const [fetchMode, cold] of [
    ["ZERO_COPY", false],
    ["ZERO_COPY", true],
    ["HEAP", false],
    ["HEAP", true],
  ] as const) {
    it(`is refused to who asked for it, and the connection goes on: ${fetchMode}${cold ? ", from the disk" : ""}`, async () => {
      const { broker, fail, recover } = await failing(fetchMode, cold);
      const wire = await connectTo(broker);
      for (const partition of [0, 1, 2]) await wire.ask(produce(Array(20).fill(record(partition)), { partition }));
      fail();
      wire.send(
        fetch(0, { partition: 1, maxBytes: 2016 }),
        fetch(0, { partition: 0, correlation: 2 }),
        produce([record(1)], { partition: 1, ack: FORCED, correlation: 3 }),
        fetch(0, { partition: 1, maxBytes: 2016, correlation: 4 }),
        multiFetch([{ partition: 0, offset: 0 }], { correlation: 5 }),
        fetch(20, { partition: 1, correlation: 6 }),
      );
      const [before, bad, produced, behind, badPart, last] = await wire.responses(6);
      for (const good of [before, behind]) expect(readStored(readFetched(good).payload).payloads).toHaveLength(2);
      expect([bad.correlation, bad.error, bad.body.length]).toEqual([2, STORAGE_FAILURE, 0]);
      expect(readProduced(produced)).toEqual({ base: 20, end: 21 });
      const [part] = readMultiFetched(badPart);
      expect(part).toMatchObject({ partition: 0, error: STORAGE_FAILURE, logEnd: 20 });
      expect(part.payload).toHaveLength(0);
      expect(readStored(readFetched(last).payload).payloads).toHaveLength(1);
      await expect.poll(() => told(broker)).toHaveLength(1);
      const [line] = told(broker);
      expect(line).toMatchObject({
        partition: "orders-0",
        position: 0,
        bytes: 20 * 1008,
        code: "EIO",
        errno: -5,
        closed: false,
      });
      expect(line.path).toMatch(/\/orders-0\/\d+\.log$/);
      // Once in a while, however often it fails.
      for (let i = 0; i < 20; i++) expect((await wire.ask(fetch(0))).error).toBe(STORAGE_FAILURE);
      await sleep(50);
      expect(told(broker)).toHaveLength(1);
      recover();
      const { payload } = readFetched(await wire.ask(fetch(0)));
      expect(readStored(payload).payloads).toHaveLength(20);
    });
  }

  for (const cold of [false, true]) {
    it(`among several keeps those after one empty answer from nothing${cold ? ", from the disk" : ""}`, async () => {
      const { broker, fail } = await failing("ZERO_COPY", cold);
      const wire = await connectTo(broker);
      for (const partition of [0, 1, 2]) await wire.ask(produce(Array(20).fill(record(partition)), { partition }));
      fail();
      const positions = [0, 1, 2].map((partition) => ({ partition, offset: 0 }));
      // Both of them have arrived before the first is answered, and what is behind them is not touched.
      wire.send(multiFetch(positions), fetch(0, { partition: 2, maxBytes: 1008, correlation: 2 }));
      const [first, behind] = await wire.responses(2);
      expect(readMultiFetched(first).map(({ error, payload }) => [error, payload.length])).toEqual([
        [0, 0],
        [0, 0],
        [0, 0],
      ]);
      expect(readStored(readFetched(behind).payload).payloads).toHaveLength(1);
      const parts = readMultiFetched(await wire.ask(multiFetch(positions)));
      expect(parts.map(({ error, payload }) => [error, payload.length])).toEqual([
        [STORAGE_FAILURE, 0],
        [0, 20 * 1008],
        [0, 20 * 1008],
      ]);
    });
  }

  it("behind part of its answer closes the connection, says so, and is refused to the next who asks", async () => {
    const { broker, fail } = await failing("ZERO_COPY", false);
    const wire = await connectTo(broker);
    for (const partition of [0, 1]) await wire.ask(produce(Array(20).fill(record(partition)), { partition }));
    fail();
    const positions = [1, 0].map((partition) => ({ partition, offset: 0 }));
    await expect(wire.ask(multiFetch(positions))).rejects.toThrow("the connection ended");
    await expect
      .poll(() => told(broker))
      .toMatchObject([{ partition: "orders-0", position: 0, bytes: 20 * 1008, code: "EIO", closed: true }]);
    const parts = readMultiFetched(await (await connectTo(broker)).ask(multiFetch(positions)));
    expect(parts.map(({ error, payload }) => [error, payload.length])).toEqual([
      [0, 20 * 1008],
      [STORAGE_FAILURE, 0],
    ]);
  });
});
