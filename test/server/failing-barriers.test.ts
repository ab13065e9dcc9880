// A barrier that fails: everybody is told which call failed, on which file and how.

import { describe, expect, it } from "vitest";
import { connectTo } from "../support/broker.js";
import { failingDisk } from "../support/failing-disk.js";
import { produce, readProduced } from "../support/wire.js";

const STORAGE_FAILURE = 6;
const FORCED = 2;
const record = new Uint8Array(100).fill(65);

describe.runIf(process.platform === "linux")("a barrier that fails", () => {
  it("O07 is named with its call, its errno and the file, by the log and by /readyz", async () => {
    const settings = { "segment.mode": "FILE_CHANNEL", "ops.enabled": true, "ops.port": 0 };
    const { broker, fail } = await failingDisk(settings, "FAIL_BARRIERS");
    const wire = await connectTo(broker);
    // The first barrier of a segment is another call.
    for (let i = 0; i < 2; i++) expect(readProduced(await wire.ask(produce([record], { ack: FORCED }))).base).toBe(i);
    fail();
    expect((await wire.ask(produce([record], { ack: FORCED }))).error).toBe(STORAGE_FAILURE);
    expect(readProduced(await wire.ask(produce([record], { partition: 1, ack: FORCED }))).base).toBe(0);
    const what = /EIO: .*fdatasync '.*\/orders-0\/\d+\.log'/;
    const poisoned = () => broker.lines.filter(({ kind }) => kind === "partition.poisoned");
    await expect.poll(poisoned).toMatchObject([{ msg: expect.stringMatching(what) }]);
    const answer = await fetch(`http://127.0.0.1:${broker.opsPort}/readyz?verbose`);
    expect(answer.status).toBe(503);
    const { poisoned: partitions } = (await answer.json()) as { poisoned: { reason: string }[] };
    expect(partitions).toMatchObject([{ partition: "orders-0", reason: expect.stringMatching(what) }]);
  });

  it.each(["FILE_CHANNEL", "MAPPED"])(
    "O07 is also one that says it was done on a file system that has given up, %s",
    async (mode) => {
      const { broker, fail } = await failingDisk({ "segment.mode": mode }, "FAIL_EMPTY_WRITES");
      const wire = await connectTo(broker);
      for (let i = 0; i < 2; i++) expect(readProduced(await wire.ask(produce([record], { ack: FORCED }))).base).toBe(i);
      fail();
      expect((await wire.ask(produce([record], { ack: FORCED }))).error).toBe(STORAGE_FAILURE);
      expect(readProduced(await wire.ask(produce([record], { partition: 1, ack: FORCED }))).base).toBe(0);
      expect((await wire.ask(produce([record], { ack: FORCED }))).error).toBe(STORAGE_FAILURE);
    },
  );

  it("O07 is also the one behind pages that could not be written out ahead of it: nobody else was told for it", async () => {
    const settings = { topics: "orders:1", "segment.mode": "MAPPED" };
    const { broker, fail } = await failingDisk(settings, "FAIL_WRITING_OUT");
    const wire = await connectTo(broker);
    fail();
    // Small groups, some in a row, have pages prepared on another thread.
    const told = async () => (await wire.ask(produce([record], { ack: FORCED }))).error;
    await expect.poll(told, { timeout: 10_000 }).toBe(STORAGE_FAILURE);
    expect(broker.lines.filter(({ kind }) => kind === "partition.poisoned")).toMatchObject([
      { msg: expect.stringMatching(/EIO: .*msync/) },
    ]);
  });
});
