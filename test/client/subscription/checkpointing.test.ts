// When a subscription saves, and what it does not save.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { fileCheckpoints } from "../../../src/client/checkpoint/file.js";
import { memoryCheckpoints } from "../../../src/client/checkpoint/memory.js";
import type { CheckpointPosition, CheckpointStore } from "../../../src/client/checkpoint/store.js";
import type { RecordBatch } from "../../../src/client/record-batch.js";
import { tempDir } from "../../support/tmp.js";
import { clientOf, fill, numbered, readAll, textsOf } from "./reading.js";

/** A store that says when it was told what. */
function watched(inner: CheckpointStore = memoryCheckpoints()) {
  const saves: (readonly CheckpointPosition[])[] = [];
  const store: CheckpointStore = {
    load: () => inner.load(),
    save: async (positions) => {
      await inner.save(positions);
      saves.push(positions);
    },
  };
  const stored = async () => (await inner.load()).map(({ partition, offset }) => [partition, offset as number]);
  return { store, saves, stored };
}

const small = { maxBytes: 27, answerBytes: 54 } as const;
const each = { saveEveryMs: 0 } as const;

describe("a checkpointing subscription", () => {
  it("P04 saves a batch when the next one is asked for, not when it was given", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 9);
    const { store, stored } = watched();
    const batches = client.replay("orders", small).checkpointing(store, each)[Symbol.asyncIterator]();
    await batches.next();
    await sleep(20);
    expect(await stored()).toEqual([]);
    await batches.next();
    expect(await stored()).toEqual([[0, 3]]);
    await batches.next();
    expect(await stored()).toEqual([[0, 6]]);
    expect((await batches.next()).done).toBe(true);
    expect(await stored()).toEqual([[0, 9]]);
  });

  it.each([0, 60_000])(
    "P04 a handler that throws leaves the stored position, and the next run reads that batch again (%i ms)",
    async (saveEveryMs) => {
      const { broker, client } = await clientOf();
      fill(broker, "orders", 0, 9);
      const { store, stored } = watched(fileCheckpoints(join(tempDir("checkpoint"), "orders.checkpoint")));
      const run = async (handle: (batch: RecordBatch) => void) => {
        const read: string[] = [];
        for await (const batch of client.replay("orders", small).checkpointing(store, { saveEveryMs })) {
          handle(batch);
          read.push(...textsOf(batch));
        }
        return read;
      };
      const failing = run(({ baseOffset }) => {
        if (baseOffset === 6) throw new Error("no");
      });
      await expect(failing).rejects.toThrow("no");
      expect(await stored()).toEqual([[0, 6]]);
      const again = run(({ baseOffset }) => {
        expect(baseOffset).toBe(6);
        throw new Error("still no");
      });
      await expect(again).rejects.toThrow("still no");
      expect(await stored()).toEqual([[0, 6]]);
      expect(await run(() => undefined)).toEqual(numbered("orders-0", 6, 9));
      expect(await stored()).toEqual([[0, 9]]);
    },
  );

  it("P04 a break leaves the batch for the next run, unless it was saved before", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 9);
    const { store, stored } = watched();
    for await (const batch of client.replay("orders", small).checkpointing(store)) if (batch.baseOffset === 3) break;
    expect(await stored()).toEqual([[0, 3]]);
    const reading = client.replay("orders", small).checkpointing(store);
    for await (const batch of reading) {
      await reading.save(batch);
      expect(await stored()).toEqual([[0, 6]]);
      break;
    }
    expect(await stored()).toEqual([[0, 6]]);
  });

  it("P04 run() saves what the handler has handled, also what it ends with", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 9);
    const { store, stored } = watched();
    await client
      .follow("orders", small)
      .checkpointing(store)
      .run(async ({ baseOffset }) => {
        await sleep(1);
        return baseOffset !== 3;
      });
    expect(await stored()).toEqual([[0, 6]]);
    const failing = client
      .follow("orders", small)
      .checkpointing(store)
      .run(() => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    expect(await stored()).toEqual([[0, 6]]);
    await client
      .replay("orders", small)
      .checkpointing(store)
      .run(() => undefined);
    expect(await stored()).toEqual([[0, 9]]);
  });

  it("P04 saves records with their batch", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 6);
    const { store, stored } = watched();
    const seen: number[] = [];
    for await (const { offset } of client.replay("orders", small).checkpointing(store, each).records()) {
      seen.push(offset);
      expect(await stored()).toEqual(offset < 3 ? [] : [[0, 3]]);
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await stored()).toEqual([[0, 6]]);
  });

  it("saves at most once in saveEveryMs, by a timer when nothing comes, and everything at the end", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 3 } });
    for (const partition of [0, 1, 2]) fill(broker, "orders", partition, 300);
    const { store, saves, stored } = watched();
    const begun = performance.now();
    const batches = client.follow("orders", small).checkpointing(store, { saveEveryMs: 200 })[Symbol.asyncIterator]();
    for (let read = 0; read < 900; ) read += ((await batches.next()).value as RecordBatch).length;
    const last = batches.next();
    await expect.poll(async () => (await stored()).map(([, next]) => next)).toEqual([300, 300, 300]);
    expect(saves.length).toBeLessThanOrEqual(2 + (performance.now() - begun) / 200);
    await batches.return?.();
    await last;
  });

  it("ends with what a save has failed with, also one by the timer", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 9);
    let failing = false;
    const inner = memoryCheckpoints();
    const store: CheckpointStore = {
      load: inner.load,
      save: (positions) => (failing ? Promise.reject(new Error("full")) : inner.save(positions)),
    };
    for (const saveEveryMs of [0, 20]) {
      failing = false;
      const batches = client
        .replay("orders", { ...small, from: 0 })
        .checkpointing(store, { saveEveryMs })
        [Symbol.asyncIterator]();
      await inner.save([{ topic: "orders", partition: 0, offset: 0 as never, epoch: -1 }]);
      await batches.next();
      failing = saveEveryMs === 0;
      const next = batches.next();
      if (saveEveryMs > 0) {
        await next;
        failing = true;
        await batches.next();
        await sleep(60);
        await expect(batches.next()).rejects.toThrow("full");
      } else await expect(next).rejects.toThrow("full");
      expect((await batches.next()).done).toBe(true);
      await expect.poll(() => broker.sockets.size).toBe(0);
    }
  });

  it("keeps where it began when that was the end, so that nothing is missed between two runs", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 2 } });
    fill(broker, "orders", 0, 5);
    const { store, stored } = watched();
    const stop = new AbortController();
    const options = { from: "latest", signal: stop.signal } as const;
    const first = readAll(client.follow("orders", options).checkpointing(store));
    await expect.poll(() => broker.fetches.length).toBe(1);
    stop.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    expect(await stored()).toEqual([
      [0, 5],
      [1, 0],
    ]);
    fill(broker, "orders", 0, 2);
    fill(broker, "orders", 1, 1);
    const second = client.replay("orders", { from: "latest" }).checkpointing(store);
    expect((await readAll(second)).sort()).toEqual(["orders-0 5", "orders-0 6", "orders-1 0"]);
  });

  it("takes a store that saves at once, and names one that brings no positions", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 2);
    const over = (load: () => unknown, save: () => unknown = () => undefined) =>
      client.replay("orders").checkpointing({ load, save } as never);
    let saves = 0;
    await over(
      () => [],
      () => void saves++,
    ).run(() => undefined);
    expect(saves).toBeGreaterThan(0);
    for (const loaded of [undefined, {}, [{ topic: "orders", partition: 0, offset: "7", epoch: 0 }], [undefined]]) {
      const failing = over(() => loaded).run(() => undefined);
      await expect(failing).rejects.toMatchObject({ code: "CHECKPOINT_FAILED" });
      await expect(failing).rejects.toThrow("load() of the checkpoint store brought");
    }
    await expect(over(() => []).run(undefined as never)).rejects.toMatchObject({ code: "BAD_ARGUMENT" });
  });

  it("refuses what is no store, and options that are not there", async () => {
    const { client } = await clientOf();
    const checkpointing = (...args: unknown[]) =>
      (client.follow("orders").checkpointing as (...all: unknown[]) => unknown).apply(client.follow("orders"), args);
    for (const args of [
      [undefined],
      [{ load: () => [] }],
      [memoryCheckpoints(), { everyMs: 1 }],
      [memoryCheckpoints(), { saveEveryMs: -1 }],
    ]) {
      expect(() => checkpointing(...args)).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
    }
  });
});
