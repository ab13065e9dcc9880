// Partitions that a topic gets while it is followed: a broker takes them up when it is restarted, so a cut comes before.

import { describe, expect, it, onTestFinished } from "vitest";
import { memoryCheckpoints } from "../../../src/client/checkpoint/memory.js";
import { ErrorCodes } from "../../../src/model/error-codes.js";
import { MillraceError } from "../../../src/model/errors.js";
import { RequestKind } from "../../../src/protocol/api-keys.js";
import { FakeBroker } from "../../support/fake-broker.js";
import { clientOf, fill, numbered, readAll, readSome } from "./reading.js";

/** The broker is away and comes back with more partitions, of which each has five records. */
async function restarted(broker: FakeBroker, partitions: number) {
  const { port } = broker;
  broker.stop();
  const again = await FakeBroker.start({ port, topics: { orders: partitions, clicks: 1 } });
  for (let partition = 0; partition < partitions; partition++) fill(again, "orders", partition, 5);
  return again;
}

const begun = async (options = {}, topics = { orders: 1, clicks: 1 }) => {
  const { broker, client } = await clientOf({ topics });
  fill(broker, "orders", 0, 3);
  const batches = client.follow(["orders", "clicks"], options)[Symbol.asyncIterator]();
  onTestFinished(() => void batches.return?.());
  return { broker, client, batches };
};

describe("a follow of all partitions", () => {
  it("reads those that are added from their start, in order, once, and goes on in the old ones", async () => {
    const { broker, batches } = await begun();
    expect(await readSome(batches, 3)).toEqual(numbered("orders-0", 0, 3));
    const next = readSome(batches, 12);
    const again = await restarted(broker, 3);
    const read = await next;
    for (const [partition, from] of [3, 0, 0].entries()) {
      const name = `orders-${partition}`;
      expect(read.filter((text) => text.startsWith(name))).toEqual(numbered(name, from, 5));
    }
    fill(again, "orders", 2, 1);
    expect(await readSome(batches, 1)).toEqual(["orders-2 5"]);
    // The second cut adds nothing and doubles nothing.
    again.cut();
    fill(again, "orders", 1, 1);
    expect(await readSome(batches, 1)).toEqual(["orders-1 5"]);
  });

  it("reads them from their start where it began at the latest itself: all in them came later", async () => {
    const { broker, batches } = await begun({ from: "latest" });
    const next = readSome(batches, 1);
    while (broker.fetches.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    fill(broker, "orders", 0, 1);
    expect(await next).toEqual(["orders-0 3"]);
    const more = readSome(batches, 6);
    await restarted(broker, 2);
    expect((await more).sort()).toEqual(["orders-0 4", ...numbered("orders-1", 0, 5)]);
  });

  it("keeps in its checkpoints where it began to read them, before it gives anything of them", async () => {
    const { broker, client } = await begun();
    const store = memoryCheckpoints();
    const following = client.follow("orders", { from: "latest" }).checkpointing(store, { saveEveryMs: 0 });
    const batches = following[Symbol.asyncIterator]();
    const next = batches.next();
    while (broker.fetches.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const again = await restarted(broker, 2);
    await next;
    await batches.return?.();
    const saved = (await store.load()).map(({ partition, offset }) => `${partition} ${offset}`);
    expect(saved.sort()).toEqual(["0 3", "1 0"]);
    const read = await readAll(client.replay("orders", { from: "latest" }).checkpointing(store));
    expect(read.sort()).toEqual([...numbered("orders-0", 3, 5), ...numbered("orders-1", 0, 5)]);
    expect(again.connections).toBeGreaterThan(1);
  });

  it("ends with what its store fails with, also where another link would put a failure like that right", async () => {
    const { broker, client } = await begun();
    let saves = 0;
    const save = async () => {
      // A store that lies behind a connection of its own. The first save is where orders-0 was begun.
      if (++saves > 1) throw new MillraceError("CONNECTION_LOST", "the store is away");
    };
    const store = { load: async () => [], save };
    const following = client.follow("orders", { from: "latest" }).checkpointing(store, { saveEveryMs: 0 });
    const next = following[Symbol.asyncIterator]().next();
    while (broker.fetches.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await restarted(broker, 2);
    await expect(next).rejects.toThrow("the store is away");
    expect(saves).toBe(2);
  });

  it("asks again when the question was refused, and leaves one that is not open for the next time", async () => {
    const { broker, batches } = await begun();
    await readSome(batches, 3);
    const next = readSome(batches, 7);
    const { port } = broker;
    broker.stop();
    const again = await FakeBroker.start({ port, topics: { orders: 3, clicks: 1 } });
    for (const partition of [0, 1, 2]) fill(again, "orders", partition, 5);
    let refusals = 2;
    again.refuse = ({ kind }) =>
      kind === RequestKind.METADATA_V2 && refusals-- > 0 ? ErrorCodes.OVERLOADED : undefined;
    const read = await next;
    expect(read.filter((text) => text.startsWith("orders-0"))).toEqual(numbered("orders-0", 3, 5));
    expect(refusals).toBeLessThan(0);
    expect([...read, ...(await readSome(batches, 5))].filter((text) => text.startsWith("orders-2"))).toHaveLength(5);
  });

  it("that named its partitions keeps to them, and a replay to those of its beginning", async () => {
    const { broker, batches, client } = await begun({ partitions: [0] });
    const slow = client.replay("orders", { maxBytes: 16 })[Symbol.asyncIterator]();
    await readSome(batches, 3);
    expect(await readSome(slow, 1)).toEqual(["orders-0 0"]);
    const again = await restarted(broker, 2);
    expect(await readSome(batches, 2)).toEqual(numbered("orders-0", 3, 5));
    expect(await readAll({ [Symbol.asyncIterator]: () => slow })).toEqual(numbered("orders-0", 1, 3));
    fill(again, "orders", 0, 1);
    expect(await readSome(batches, 1)).toEqual(["orders-0 5"]);
  });
});
