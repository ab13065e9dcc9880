// What an observer throws: the same of a producer and of a subscription.

import { describe, expect, it, onTestFinished } from "vitest";
import { Producer } from "../../src/client/producer/producer.js";
import { FakeBroker } from "../support/fake-broker.js";
import { until } from "../support/waiting.js";
import { backendOf } from "./producer/backends.js";
import { clientOf, fill, readSome } from "./subscription/reading.js";

/** What becomes an uncaught exception from now on, which would end the process. */
function uncaught(): unknown[] {
  const caught: unknown[] = [];
  const others = process.listeners("uncaughtException");
  const listener = (error: unknown): void => void caught.push(error);
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", listener);
  onTestFinished(() => {
    process.off("uncaughtException", listener);
    for (const other of others) process.on("uncaughtException", other);
  });
  return caught;
}

const throwing = (what: string) => (): void => {
  throw new Error(what);
};
const observers = { onLost: throwing("lost"), onRecovered: throwing("recovered") };
const messages = (errors: readonly unknown[]): string[] => errors.map((error) => (error as Error).message);

describe("an observer that throws", () => {
  it("is an uncaught exception, and its producer goes on", async () => {
    const errors = uncaught();
    const broker = await FakeBroker.start();
    const producer = new Producer(backendOf(broker), { lingerMs: 0, random: () => 0, ...observers });
    onTestFinished(() => producer.destroy());
    await producer.send("orders", "a");
    for (let cut = 1; cut <= 2; cut++) {
      broker.cut();
      await until("it has heard", () => errors.length === 2 * cut - 1);
      expect((await producer.send("orders", "b")).offset).toBe(cut);
      expect(messages(errors).slice(-2)).toEqual(["lost", "recovered"]);
    }
    await producer.close();
  });

  it("is an uncaught exception, and its subscription goes on", async () => {
    const errors = uncaught();
    const { broker, client } = await clientOf();
    const batches = client.follow("orders", observers)[Symbol.asyncIterator]();
    fill(broker, "orders", 0, 1);
    expect(await readSome(batches, 1)).toEqual(["orders-0 0"]);
    for (let cut = 1; cut <= 2; cut++) {
      const next = readSome(batches, 1);
      await until("it waits", () => (broker.fetches.at(-1)?.parts[0]?.offset ?? 0) === cut);
      broker.cut();
      await until("it has heard", () => errors.length === 2 * cut);
      fill(broker, "orders", 0, 1);
      expect(await next).toEqual([`orders-0 ${cut}`]);
      expect(messages(errors).slice(-2)).toEqual(["lost", "recovered"]);
    }
    await batches.return?.();
  });
});
