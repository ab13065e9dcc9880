// What a subscription does when the log is not what it was: retention has passed it, or a recovery has cut it.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { memoryCheckpoints } from "../../../src/client/checkpoint/memory.js";
import { LogTruncatedError, OffsetOutOfRangeError } from "../../../src/client/errors.js";
import type { FollowOptions } from "../../../src/client/subscription/options.js";
import { offset } from "../../../src/model/ids.js";
import { RequestKind } from "../../../src/protocol/api-keys.js";
import { clientOf, fill, numbered, readAll, readSome, textsOf, UP_TO_V2 } from "./reading.js";

const code = (expected: string) => expect.objectContaining({ code: expected });

describe("a start at earliest", () => {
  it.each([
    ["", {}],
    [" on a broker that knows less", { versions: UP_TO_V2 }],
  ])("P02 that retention passes between the question and the fetch begins anew at the new start%s", async (_, fake) => {
    const { broker, client } = await clientOf({ ...fake, topics: { orders: 2 } });
    fill(broker, "orders", 0, 20);
    fill(broker, "orders", 1, 5);
    let moved = 0;
    broker.intercept = ({ fetch }) => {
      // Three times, before a fetch gets there.
      if (fetch !== undefined && moved < 3) {
        broker.partition("orders", 0).start += 4;
        moved++;
      }
      return false;
    };
    const read = await readAll(client.replay("orders"));
    expect(read.filter((text) => text.startsWith("orders-0"))).toEqual(numbered("orders-0", 12, 20));
    expect(read.filter((text) => text.startsWith("orders-1"))).toEqual(numbered("orders-1", 0, 5));
    expect(moved).toBe(3);
  });

  it("P02 at a time, too; at an offset that was named it is an error", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 20);
    broker.partition("orders", 0).times.push(...Array.from({ length: 20 }, (_, i) => i * 100));
    let moved = false;
    broker.intercept = ({ fetch }) => {
      if (fetch !== undefined && !moved) {
        broker.partition("orders", 0).start = 10;
        broker.partition("orders", 0).times.splice(0, 10, ...Array(10).fill(-1));
        moved = true;
      }
      return false;
    };
    expect(await readAll(client.replay("orders", { from: new Date(500) }))).toEqual(numbered("orders-0", 10, 20));
    await expect(readAll(client.replay("orders", { from: 5 }))).rejects.toBeInstanceOf(OffsetOutOfRangeError);
  });

  it("does not try for ever on a broker that contradicts itself", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 20);
    broker.refuse = ({ kind }) => {
      broker.partition("orders", 0).start = kind === RequestKind.FETCH_V3 ? 10 : 0;
      return undefined;
    };
    await expect(readAll(client.replay("orders"))).rejects.toBeInstanceOf(OffsetOutOfRangeError);
    expect(broker.fetches.length).toBeLessThan(20);
  });
});

describe("a position that is not in the log any more", () => {
  /** Reads ten of thirty, then retention takes twenty. */
  async function overtaken(options: FollowOptions) {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 30, 2);
    const read: string[] = [];
    const reading = (async () => {
      for await (const batch of client.follow("orders", { maxBytes: 100, answerBytes: 100, ...options })) {
        read.push(...textsOf(batch));
        if (read.length === 10) {
          // The answer ahead is on its way already.
          await expect.poll(() => broker.fetches.length).toBe(2);
          broker.partition("orders", 0).start = 25;
        }
        if (read.at(-1) === "orders-0 29") return;
      }
    })();
    return { reading, read };
  }

  it("is an error that says where the log is now", async () => {
    const { reading, read } = await overtaken({});
    const error = await reading.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OffsetOutOfRangeError);
    expect(error).toMatchObject({ topic: "orders", partition: 0, offset: 20, logStartOffset: 25, highWatermark: 30 });
    expect((error as Error).message).toContain("starts at 25 and ends for readers at 30");
    expect(read).toHaveLength(20);
  });

  it("goes on where the caller chose, by a name, an offset or a function that is told", async () => {
    const choices = [
      ["earliest", 25],
      [27, 27],
      [async () => "earliest" as const, 25],
    ] as const;
    for (const [onOutOfRange, next] of choices) {
      const { reading, read } = await overtaken({ onOutOfRange });
      await reading;
      expect(read.slice(20)).toEqual(numbered("orders-0", next, 30));
    }
    const told: unknown[] = [];
    const { reading } = await overtaken({
      onOutOfRange: (refusal) => {
        told.push(refusal.offset, refusal.logStartOffset);
        return "error";
      },
    });
    await expect(reading).rejects.toThrow(code("OFFSET_OUT_OF_RANGE"));
    expect(told).toEqual([20, 25]);
  });

  it("is told of after everything before it was handled", async () => {
    const order: string[] = [];
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 20);
    for await (const batch of client.follow("orders", {
      maxBytes: 90,
      answerBytes: 90,
      onOutOfRange: () => {
        order.push("told");
        return "latest";
      },
    })) {
      if (batch.baseOffset === 0) {
        await expect.poll(() => broker.fetches.length).toBe(2);
        fill(broker, "orders", 0, 20);
        broker.partition("orders", 0).start = 35;
      }
      await sleep(20);
      order.push(`${batch.baseOffset}`);
      if (batch.baseOffset === 10) setTimeout(() => fill(broker, "orders", 0, 1), 100);
      if (batch.baseOffset >= 35) break;
    }
    expect(order).toEqual(["0", "10", "told", "40"]);
  });

  it("that the caller sends to a place that is not there, either, is an error in the end", async () => {
    const { reading } = await overtaken({ onOutOfRange: 3 });
    await expect(reading).rejects.toThrow(code("OFFSET_OUT_OF_RANGE"));
  });
});

describe("a log that was cut", () => {
  async function cut(options: FollowOptions) {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 100);
    const batches = client.follow("orders", options)[Symbol.asyncIterator]();
    await readSome(batches, 100);
    await expect.poll(() => broker.fetches.at(-1)?.parts[0]?.offset).toBe(100);
    broker.partition("orders", 0).cutTo(80);
    fill(broker, "orders", 0, 40, 5);
    broker.cut();
    return { broker, batches };
  }

  it("F20 is an error that says where, and nothing is read past it in silence", async () => {
    const { batches } = await cut({});
    const error = await batches.next().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(LogTruncatedError);
    expect(error).toMatchObject({ topic: "orders", partition: 0, offset: 100, epochStart: 80 });
    expect((await batches.next()).done).toBe(true);
  });

  it("F20 is read on from the cut when the caller says so", async () => {
    const { batches } = await cut({ onTruncated: ({ epochStart }) => epochStart });
    const read = await readSome(batches, 40);
    expect(read).toEqual(numbered("orders-0", 80, 120).map((text) => text.padEnd("orders-0 ".length + 5, ".")));
    await batches.return?.();
  });

  it("F20 is noticed by a replay from a checkpoint, also when there is nothing more to read", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 100);
    const store = memoryCheckpoints();
    expect(await readAll(client.replay("orders").checkpointing(store))).toHaveLength(100);
    expect(await readAll(client.replay("orders").checkpointing(store))).toEqual([]);
    broker.partition("orders", 0).cutTo(80);
    fill(broker, "orders", 0, 20);
    await expect(readAll(client.replay("orders").checkpointing(store))).rejects.toMatchObject({
      code: "LOG_TRUNCATED",
      offset: 100,
      epochStart: 80,
    });
    expect(await store.load()).toEqual([{ topic: "orders", partition: 0, offset: 100, epoch: 0 }]);
    const again = client.replay("orders", { onTruncated: ({ epochStart }) => epochStart }).checkpointing(store);
    expect(await readAll(again)).toHaveLength(20);
    expect(await store.load()).toEqual([{ topic: "orders", partition: 0, offset: 100, epoch: 1 }]);
  });

  it("ends a replay where it was cut, when that lies before its end", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 100);
    const read: string[] = [];
    for await (const batch of client.replay("orders", { maxBytes: 400 })) {
      read.push(...textsOf(batch));
      if (batch.baseOffset > 0) continue;
      await expect.poll(() => broker.fetches.length).toBe(2);
      broker.partition("orders", 0).cutTo(90);
    }
    expect(read).toEqual(numbered("orders-0", 0, 90));
  });

  it("F20 gives a start at latest everything that came after it began", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 100);
    let isCut = false;
    broker.intercept = ({ kind }) => {
      if (kind === RequestKind.FETCH_V3 && !isCut) {
        isCut = true;
        broker.partition("orders", 0).cutTo(90);
        fill(broker, "orders", 0, 20);
        broker.cut();
        return true;
      }
      return false;
    };
    const batches = client.follow("orders", { from: "latest" })[Symbol.asyncIterator]();
    expect(await readSome(batches, 20)).toEqual(numbered("orders-0", 90, 110));
    await batches.return?.();
  });

  it("a saved position is used, and what is not saved starts where the options say", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 2 } });
    fill(broker, "orders", 0, 10);
    fill(broker, "orders", 1, 10);
    const store = memoryCheckpoints([{ topic: "orders", partition: 1, offset: offset(7), epoch: -1 }]);
    expect(await readAll(client.replay("orders", { from: 9 }).checkpointing(store))).toEqual([
      "orders-0 9",
      ...numbered("orders-1", 7, 10),
    ]);
  });
});
