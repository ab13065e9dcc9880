// How a subscription uses its connection, on a played broker: lost and made again, one answer ahead of who handles them, let go
// when it is left, opened anew by each iteration.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/client.js";
import { brokerBackend } from "../../../src/client/connect.js";
import { FakeBroker } from "../../support/fake-broker.js";
import { printedSeed, randomFrom } from "../../support/seed.js";
import { clientOf, fill, numbered, readAll } from "./reading.js";

const code = (expected: string) => expect.objectContaining({ code: expected });

describe("a subscription", () => {
  it("P09 F17 takes no answer for another's: on wrong correlation ids and cuts it reads on over new connections, once", async () => {
    const random = randomFrom(printedSeed("wrong correlation ids"));
    const { broker, client } = await clientOf({ topics: { orders: 3 } });
    for (const partition of [0, 1, 2]) fill(broker, "orders", partition, 100);
    let wrong = 0;
    broker.intercept = ({ fetch, socket, answer, correlationId }) => {
      if (fetch === undefined || answer === undefined || random() < 0.75) return false;
      wrong++;
      const lie = Uint8Array.from(answer);
      const view = new DataView(lie.buffer);
      // The answer of another request; or one that is not for anybody; or half of it, and the end.
      const kind = Math.floor(random() * 3);
      if (kind < 2) view.setInt32(4, correlationId + (kind === 0 ? 1 : -1));
      socket.write(kind < 2 ? lie : lie.subarray(0, Math.floor(random() * lie.length)));
      if (kind === 2) setTimeout(() => socket.destroy(), 1);
      return true;
    };
    const lost: string[] = [];
    const onLost = ({ code: why }: { code: string }) => lost.push(why);
    const read = await readAll(client.replay("orders", { maxBytes: 120, answerBytes: 200, onLost }));
    for (const partition of [0, 1, 2]) {
      const of = read.filter((text) => text.startsWith(`orders-${partition}`));
      expect(of).toEqual(numbered(`orders-${partition}`, 0, 100));
    }
    expect(wrong).toBeGreaterThan(0);
    expect(new Set(lost)).toEqual(new Set(["CONNECTION_LOST"]));
    expect(lost).toHaveLength(wrong);
  });

  it("P08 stops the fetching while a batch is handled: one answer is ahead, and not more", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 2 } });
    fill(broker, "orders", 0, 1000);
    fill(broker, "orders", 1, 1000);
    let handled = 0;
    for await (const _ of client.follow("orders", { maxBytes: 100, answerBytes: 200 })) {
      handled++;
      await sleep(20);
      // Two partitions in each answer: after n batches the answer they are from, and the one ahead.
      expect(broker.fetches.length).toBeLessThanOrEqual(Math.ceil(handled / 2) + 1);
      if (handled === 9) break;
    }
    expect(broker.fetches.length).toBeLessThanOrEqual(6);
    expect(broker.fetches.every(({ maxBytes }) => maxBytes <= 200)).toBe(true);
  });

  it("closes its connection by break, by an error, by its signal and with its client", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 3);
    for await (const _ of client.follow("orders")) break;
    await expect.poll(() => broker.sockets.size).toBe(0);
    for await (const _ of client.follow("orders").records()) break;
    await expect.poll(() => broker.sockets.size).toBe(0);
    const throwing = async () => {
      for await (const _ of client.follow("orders")) throw new Error("handler");
    };
    await expect(throwing()).rejects.toThrow("handler");
    await expect.poll(() => broker.sockets.size).toBe(0);

    const stop = new AbortController();
    const waiting = readAll(client.follow("orders", { signal: stop.signal, from: "latest" }));
    await expect.poll(() => broker.sockets.size).toBe(1);
    await sleep(20);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await expect.poll(() => broker.sockets.size).toBe(0);
    await expect(readAll(client.follow("orders", { signal: stop.signal }))).rejects.toThrow("enough");

    const last = readAll(client.follow("orders"));
    await expect.poll(() => broker.sockets.size).toBe(1);
    await client.close();
    await expect(last).rejects.toThrow(code("CLOSED"));
    await expect.poll(() => broker.sockets.size).toBe(0);
    await expect(readAll(client.follow("orders"))).rejects.toThrow(code("CLOSED"));
  });

  it("ends a next() that waits when it is left", async () => {
    const { broker, client } = await clientOf();
    for (const batches of [client.follow("orders")[Symbol.asyncIterator](), client.follow("orders").records()]) {
      const waiting = batches.next();
      await expect.poll(() => broker.fetches.at(-1)?.maxWaitMs).toBe(20_000);
      const left = batches.return?.();
      expect((await waiting).done).toBe(true);
      await left;
      await expect.poll(() => broker.sockets.size).toBe(0);
      broker.requests.length = 0;
    }
  });

  it("P08 asks for the next answer before it gives one, so that the broker works while it is handled", async () => {
    const { broker } = await clientOf();
    fill(broker, "orders", 0, 30);
    const events: string[] = [];
    const inner = brokerBackend({ broker: broker.address });
    const backend = {
      address: inner.address,
      connect: async () => {
        const link = await inner.connect();
        const told = (name: "fetchMany" | "flushed") => {
          const call = link[name].bind(link) as (...args: unknown[]) => unknown;
          Object.assign(link, { [name]: (...args: unknown[]) => [events.push(name), call(...args)][1] });
        };
        told("fetchMany");
        told("flushed");
        return link;
      },
    };
    await using client = new Client(backend);
    for await (const { baseOffset } of client.follow("orders", { maxBytes: 90, answerBytes: 90 })) {
      events.push(`${baseOffset}`);
      if (baseOffset === 10) break;
    }
    const asked = ["fetchMany", "flushed"];
    expect(events).toEqual([...asked, ...asked, "0", ...asked, "10"]);
  });

  it("ends by its signal while a connection is being made, and lets that one go when it comes", async () => {
    const { broker } = await clientOf();
    const inner = brokerBackend({ broker: broker.address });
    let connects = 0;
    let late: (() => void) | undefined;
    const connect = async () => {
      if (connects++ === 1) await new Promise<void>((resolve) => (late = resolve));
      return inner.connect();
    };
    await using client = new Client({ address: inner.address, connect });
    const stop = new AbortController();
    const reading = readAll(client.follow("orders", { signal: stop.signal }));
    await expect.poll(() => broker.fetches.length).toBe(1);
    broker.cut();
    await expect.poll(() => connects).toBe(2);
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    late?.();
    await expect.poll(() => broker.connections).toBe(2);
    await expect.poll(() => broker.sockets.size).toBe(0);
  });

  it("starts anew each time it is iterated", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 3);
    const all = client.replay("orders");
    expect(await readAll(all)).toHaveLength(3);
    fill(broker, "orders", 0, 1);
    expect(await readAll(all)).toHaveLength(4);
  });

  it("waits for a broker that is away when it begins, and says at last that it cannot begin", async () => {
    const { broker, client } = await clientOf({}, { retryMs: 3000 });
    const { port } = broker;
    broker.stop();
    const read = readAll(client.replay("orders"));
    await sleep(200);
    const again = await FakeBroker.start({ port });
    fill(again, "orders", 0, 2);
    // What there was when it could begin.
    expect((await read).length).toBeLessThanOrEqual(2);
    const impatient = await clientOf({}, { retryMs: 100 });
    impatient.broker.stop();
    await expect(readAll(impatient.client.replay("orders"))).rejects.toThrow(code("CONNECTION_FAILED"));
  });
});
