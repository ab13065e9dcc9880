// A client and what it gives, on a played broker: what it asks for itself, what survives a cut, and how all of it ends.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { Client } from "../../src/client/client.js";
import { brokerBackend, connect } from "../../src/client/connect.js";
import type { Backend } from "../../src/client/link.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { offset } from "../../src/model/ids.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { errorAnswer, FakeBroker, fetchAnswerTo } from "../support/fake-broker.js";
import { clientOf, fill } from "./subscription/reading.js";

const code = (expected: string) => expect.objectContaining({ code: expected });

describe("a client", () => {
  it("connects at once, and says when nobody is there", async () => {
    const broker = await FakeBroker.start();
    const client = await connect({ broker: broker.address });
    expect(broker.connections).toBe(1);
    expect(client.address).toBe(broker.address);
    await client.close();
    await expect.poll(() => broker.sockets.size).toBe(0);
    broker.stop();
    await expect(connect({ broker: broker.address })).rejects.toThrow(code("CONNECTION_FAILED"));
    await expect(connect({ brokr: broker.address } as object)).rejects.toThrow(code("BAD_ARGUMENT"));
    await expect(connect({ broker: "a b" })).rejects.toThrow(code("BAD_ARGUMENT"));
    await expect(connect({ retryMs: -1 })).rejects.toThrow(code("BAD_ARGUMENT"));
    expect(() => new Client({} as Backend)).toThrow(code("BAD_ARGUMENT"));
  });

  it("connects to an address alone, and says what is none", async () => {
    const broker = await FakeBroker.start();
    const client = await connect(broker.address);
    onTestFinished(() => client.close());
    expect(broker.address).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(client.address).toBe(broker.address);
    expect((await client.topics()).map(({ topic }) => topic)).toEqual(["orders"]);
    await expect(connect("http://127.0.0.1:4710")).rejects.toThrow(code("BAD_ARGUMENT"));
    await expect(connect("127.0.0.1:99999")).rejects.toThrow(code("BAD_ARGUMENT"));
  });

  it("asks what there is and where it is, over one connection", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 2, clicks: 1 } });
    fill(broker, "orders", 0, 5);
    fill(broker, "orders", 1, 2);
    broker.partition("orders", 0).start = 1;
    broker.partition("orders", 0).times.push(100, 200, 300, 400, 500);
    expect((await client.topics()).map(({ topic, partitions }) => [topic, partitions.length])).toEqual([
      ["clicks", 1],
      ["orders", 2],
    ]);
    expect((await client.topics(["orders"])).map(({ topic }) => topic)).toEqual(["orders"]);
    await expect(client.topics(["no"])).rejects.toThrow(code("UNKNOWN_TOPIC_OR_PARTITION"));
    expect(await client.listOffsets("orders", 0, 250)).toEqual({ offset: 2, timestampMs: 300 });
    const offsets = async (at: "earliest" | "latest" | Date) =>
      (await client.offsetsAt("orders", at)).map(({ topic, partition, offset: found }) => [topic, partition, found]);
    expect(await offsets("earliest")).toEqual([
      ["orders", 0, 1],
      ["orders", 1, 0],
    ]);
    expect(await offsets("latest")).toEqual([
      ["orders", 0, 5],
      ["orders", 1, 2],
    ]);
    expect((await offsets(new Date(250)))[0]).toEqual(["orders", 0, 2]);
    expect(broker.connections).toBe(1);
  });

  it("connects again by itself when its connection is cut, and repeats what it asked", async () => {
    const { broker, client } = await clientOf();
    for (let cut = 0; cut < 3; cut++) {
      broker.intercept = ({ kind }) => {
        if (kind !== RequestKind.METADATA_V2) return false;
        broker.intercept = () => false;
        broker.cut();
        return true;
      };
      const asked = await Promise.all([client.topics(), client.topics(), client.listOffsets("orders", 0, "latest")]);
      expect(asked[0][0]?.topic).toBe("orders");
    }
    expect(broker.connections).toBe(4);
    const { port } = broker;
    broker.stop();
    const waiting = client.topics();
    await sleep(300);
    await FakeBroker.start({ port });
    expect((await waiting)[0]?.topic).toBe("orders");
  });

  it("asks again what was open on a connection whose broker stops, refused itself or beside what was refused", async () => {
    const { broker, client } = await clientOf();
    await client.topics();
    let asked = 0;
    // The first is refused; the others have no answer when the connection goes.
    broker.intercept = ({ kind, socket, correlationId }) => {
      if (asked === 3 || (kind !== RequestKind.METADATA_V2 && kind !== RequestKind.LIST_OFFSETS_V1)) return false;
      if (asked++ === 0) socket.write(errorAnswer(correlationId, ErrorCodes.SHUTTING_DOWN));
      return true;
    };
    const open = [client.topics(), client.topics(["orders"]), client.listOffsets("orders", 0, "latest")];
    const [all, named, place] = await Promise.all(open);
    expect([all, named]).toMatchObject([[{ topic: "orders" }], [{ topic: "orders" }]]);
    expect(place).toEqual({ offset: 0, timestampMs: -1 });
    expect([asked, broker.connections]).toEqual([3, 2]);
  });

  it("gives up asking after retryMs, and asks anew the next time", async () => {
    const { broker, client } = await clientOf({}, { retryMs: 200 });
    const { port } = broker;
    await client.topics();
    broker.stop();
    const begun = performance.now();
    await expect(client.topics()).rejects.toThrow(code("CONNECTION_FAILED"));
    expect(performance.now() - begun).toBeLessThan(1000);
    await FakeBroker.start({ port });
    expect(await client.topics()).toHaveLength(1);
  });

  it("ends what it asks by a signal, whether the broker is silent or away", async () => {
    const { broker, client } = await clientOf();
    await client.topics();
    broker.intercept = ({ kind }) => kind !== RequestKind.HELLO_V1;
    for (const isAway of [false, true]) {
      if (isAway) broker.stop();
      const stop = new AbortController();
      const { signal } = stop;
      const asked = [
        client.topics([], { signal }),
        client.listOffsets("orders", 0, "latest", { signal }),
        client.offsetsAt("orders", "latest", { signal }),
        client.consumer({ topic: "orders", partition: 0 }, { signal }),
      ];
      const settled = Promise.allSettled(asked);
      await sleep(50);
      stop.abort(new Error("enough"));
      const reasons = (await settled).map((each) => (each.status === "rejected" ? String(each.reason) : each.status));
      expect(reasons).toEqual(Array(4).fill("Error: enough"));
      if (!isAway) await expect.poll(() => broker.sockets.size).toBeLessThanOrEqual(1);
    }
    await expect(client.topics([], { timeoutMs: "1s" } as object)).rejects.toThrow(code("BAD_ARGUMENT"));
    await expect(client.topics([], { signal: {} } as object)).rejects.toThrow(code("BAD_ARGUMENT"));
  });

  it("does not repeat what the broker refuses", async () => {
    const { broker, client } = await clientOf();
    await expect(client.listOffsets("no", 0, 5)).rejects.toThrow(code("UNKNOWN_TOPIC_OR_PARTITION"));
    expect(broker.count(RequestKind.LIST_OFFSETS_V1)).toBe(1);
  });

  it("closes what it opened, settles what waits, and takes nothing afterwards", async () => {
    const { broker, client } = await clientOf();
    const consumer = await client.consumer({ topic: "orders", partition: 0, maxWaitMs: 60_000 });
    const polling = consumer.poll();
    const following = client.follow("orders")[Symbol.asyncIterator]();
    const next = following.next();
    const records = client.follow("orders").records();
    const record = records.next();
    await client.topics();
    await expect.poll(() => broker.fetches.length).toBe(3);
    expect(broker.sockets.size).toBe(4);
    const closed = client.close();
    for (const each of [polling, next, record]) await expect(each).rejects.toThrow(code("CLOSED"));
    await closed;
    await client.close();
    await expect.poll(() => broker.sockets.size).toBe(0);
    for (const call of [
      () => client.topics(),
      () => client.offsetsAt("orders", "latest"),
      () => client.consumer({ topic: "orders", partition: 0 }),
      async () => client.producer(),
      () => consumer.poll(),
      async () => client.follow("orders").records().next(),
    ]) {
      const error = await call().catch((refused: unknown) => refused);
      expect(error).toMatchObject({
        code: "CLOSED",
        message: `the client of ${broker.address} was closed by this program`,
      });
    }
  });

  it("closes while the broker is away, with requests that wait for it", async () => {
    const { broker, client } = await clientOf();
    await client.topics();
    broker.stop();
    const waiting = client.topics();
    const following = client.follow("orders").records().next();
    await sleep(100);
    const closed = client.close();
    await expect(waiting).rejects.toThrow(code("CLOSED"));
    await expect(following).rejects.toThrow(code("CLOSED"));
    await closed;
  });

  it("closes at once while a connection is being made, and lets that one go when it comes", async () => {
    const broker = await FakeBroker.start();
    const inner = brokerBackend({ broker: broker.address });
    let arrive: (() => void) | undefined;
    const connect = async () => {
      await new Promise<void>((resolve) => (arrive = resolve));
      return inner.connect();
    };
    const client = new Client({ address: inner.address, connect });
    const asked = client.topics();
    await client.close();
    await expect(asked).rejects.toThrow(code("CLOSED"));
    arrive?.();
    await expect.poll(() => broker.connections).toBe(1);
    await expect.poll(() => broker.sockets.size).toBe(0);
  });

  it("stands on any backend, and closes it last", async () => {
    const broker = await FakeBroker.start();
    const events: string[] = [];
    const backend = {
      ...brokerBackend({ broker: broker.address }),
      close: async () => void events.push(`closed, ${broker.sockets.size} open`),
    };
    {
      await using client = new Client(backend);
      onTestFinished(() => client.close());
      expect(broker.connections).toBe(0);
      await client.topics();
      events.push("used");
    }
    expect(events[0]).toBe("used");
    expect(events).toHaveLength(2);
  });
});

describe("a consumer of a client", () => {
  it("F17 repeats a poll from the same offset when its connection is cut, and misses nothing", async () => {
    const { broker, client } = await clientOf();
    const consumer = await client.consumer({ topic: "orders", partition: 0, maxWaitMs: 60_000 });
    const read: string[] = [];
    for (let cut = 0; cut < 6; cut++) {
      const polling = consumer.poll();
      await expect.poll(() => broker.fetches.at(-1)?.parts[0]?.offset).toBe(2 * cut);
      if (cut % 2 === 0) fill(broker, "orders", 0, 2);
      broker.cut();
      if (cut % 2 === 1) fill(broker, "orders", 0, 2);
      read.push(...[...(await polling)].map((record) => Buffer.from(record).toString()));
    }
    expect(read).toEqual(Array.from({ length: 12 }, (_, i) => `${i}`));
    await consumer.close();
    await expect.poll(() => broker.sockets.size).toBe(0);
    await expect(consumer.poll()).rejects.toThrow("the consumer of orders-0 was closed by this program");
  });

  it("P09 breaks the connection on a wrong correlation id, and reads on over another, once", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 4);
    const consumer = await client.consumer({ topic: "orders", partition: 0, maxBytes: 18 });
    let lies = 0;
    broker.intercept = ({ fetch, socket }) => {
      if (fetch === undefined || lies++ % 2 === 1) return false;
      return socket.write(fetchAnswerTo({ ...fetch, correlationId: fetch.correlationId + 1 }, 99, new Uint8Array(0)));
    };
    const read: string[] = [];
    while (consumer.position < 4) read.push(...(await consumer.poll()).records.map((r) => Buffer.from(r).toString()));
    expect(read).toEqual(["0", "1", "2", "3"]);
    expect(broker.connections).toBe(3);
  });

  it("keeps its position over a broker that is away for longer than it waits", async () => {
    const { broker, client } = await clientOf({}, { retryMs: 100 });
    fill(broker, "orders", 0, 3);
    const consumer = await client.consumer({ topic: "orders", partition: 0 });
    expect((await consumer.poll()).length).toBe(3);
    const { port } = broker;
    broker.stop();
    await expect(consumer.poll()).rejects.toThrow(code("CONNECTION_FAILED"));
    const again = await FakeBroker.start({ port });
    fill(again, "orders", 0, 5);
    const batch = await consumer.poll();
    expect([batch.baseOffset, batch.length]).toEqual([3, 2]);
  });

  it("seeks, tells its lag, and grows to a record when it may", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 5);
    broker.log("orders", 0).push(new Uint8Array(500));
    const options = { topic: "orders", partition: 0, from: 3, maxBytes: 32, maxBytesLimit: 600 };
    const consumer = await client.consumer(options);
    expect([consumer.position, consumer.lag]).toEqual([3, 3]);
    expect((await consumer.poll()).length).toBe(2);
    expect((await consumer.poll()).records[0]?.length).toBe(500);
    expect(consumer.lag).toBe(0);
    consumer.seek(offset(1));
    expect(consumer.lag).toBe(5);
    expect((await consumer.poll()).baseOffset).toBe(1);
  });

  it("ends a poll by its signal, while it waits and while the broker is away", async () => {
    const { broker, client } = await clientOf();
    const consumer = await client.consumer({ topic: "orders", partition: 0, maxWaitMs: 60_000 });
    for (const isAway of [false, true]) {
      const stop = new AbortController();
      if (isAway) broker.stop();
      const polling = consumer.poll({ signal: stop.signal });
      await sleep(60);
      stop.abort(new Error("enough"));
      await expect(polling).rejects.toThrow("enough");
    }
  });
});
