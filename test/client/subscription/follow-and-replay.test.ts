// follow() and replay() on a played broker: what they read, where they begin and end, and which records they refuse to give.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { FollowOptions } from "../../../src/client/subscription/options.js";
import { ascii } from "../../support/bytes.js";
import { FakeBroker, fetchAnswerTo } from "../../support/fake-broker.js";
import { storedRecords } from "../../support/stored-records.js";
import { clientOf, fill, numbered, readAll, readSome, textsOf, UP_TO_V2 } from "./reading.js";

const code = (expected: string) => expect.objectContaining({ code: expected });

describe("a subscription", () => {
  it("P01 reads all partitions of all topics over one connection, in order inside each", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 3, clicks: 2 } });
    for (const partition of [0, 1, 2]) fill(broker, "orders", partition, 20 + partition);
    fill(broker, "clicks", 1, 5);
    const read = await readAll(client.replay(["orders", "clicks"], { maxBytes: 64, answerBytes: 100 }));
    const of = (name: string) => read.filter((text) => text.startsWith(`${name} `));
    for (const partition of [0, 1, 2]) {
      expect(of(`orders-${partition}`)).toEqual(numbered(`orders-${partition}`, 0, 20 + partition));
    }
    expect(of("clicks-1")).toEqual(numbered("clicks-1", 0, 5));
    expect(read).toHaveLength(68);
    expect(broker.connections).toBe(1);
  });

  it("reads only the partitions that are named, each once", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 3 } });
    for (const partition of [0, 1, 2]) fill(broker, "orders", partition, 2);
    expect(await readAll(client.replay(["orders", "orders"], { partitions: [2, 0, 2] }))).toEqual([
      ...numbered("orders-2", 0, 2),
      ...numbered("orders-0", 0, 2),
    ]);
    await expect(readAll(client.replay("orders", { partitions: [3] }))).rejects.toThrow(
      code("UNKNOWN_TOPIC_OR_PARTITION"),
    );
    await expect(readAll(client.replay("no"))).rejects.toThrow(code("UNKNOWN_TOPIC_OR_PARTITION"));
  });

  it("gives batches that say where they are, and records one by one that do, too", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 5);
    broker.partition("orders", 0).epoch = 7;
    const seen: unknown[] = [];
    for await (const batch of client.replay("orders", { maxBytes: 27 })) {
      const { topic, partition, baseOffset, nextOffset, highWatermark, lag, epoch, records } = batch;
      const texts = records.map((record) => Buffer.from(record).toString());
      seen.push({ topic, partition, baseOffset, nextOffset, highWatermark, lag, epoch, texts });
    }
    const common = { topic: "orders", partition: 0, highWatermark: 5, epoch: 7 };
    expect(seen).toEqual([
      { ...common, baseOffset: 0, nextOffset: 3, lag: 2, texts: ["0", "1", "2"] },
      { ...common, baseOffset: 3, nextOffset: 5, lag: 0, texts: ["3", "4"] },
    ]);
    const records: unknown[] = [];
    for await (const { payload, ...rest } of client.replay("orders", { maxBytes: 27 }).records()) {
      records.push({ ...rest, text: Buffer.from(payload).toString() });
    }
    expect(records).toEqual(
      [0, 1, 2, 3, 4].map((n) => ({ topic: "orders", partition: 0, offset: n, highWatermark: 5, text: `${n}` })),
    );
  });

  it("starts at the earliest, the latest, an offset or a time, for all or for each", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 2, clicks: 1 } });
    fill(broker, "orders", 0, 5);
    fill(broker, "orders", 1, 5);
    fill(broker, "clicks", 0, 5);
    broker.partition("orders", 0).times.push(100, 200, 300, 400, 500);
    broker.partition("orders", 0).start = 1;
    const read = (from: FollowOptions["from"], partitions?: number[]) =>
      readAll(client.replay(["clicks", "orders"], { from, partitions }));
    const clicks = numbered("clicks-0", 0, 5);
    expect(await read("earliest", [0])).toEqual([...clicks, ...numbered("orders-0", 1, 5)]);
    expect(await read("latest")).toEqual([]);
    expect(await read(3, [0])).toEqual([...numbered("clicks-0", 3, 5), ...numbered("orders-0", 3, 5)]);
    expect(await read({ clicks: "latest", orders: new Date(300) }, [0])).toEqual(numbered("orders-0", 2, 5));
    const each = await read({ clicks: 4, orders: { 0: 4, 1: "latest" } });
    expect(each).toEqual(["clicks-0 4", "orders-0 4"]);
  });

  it("refuses a start of what it does not read: by topic at the call, by partition when it begins", async () => {
    const { client } = await clientOf({ topics: { orders: 2 } });
    const badCalls: FollowOptions[] = [
      { from: { Orders: "latest" } },
      { from: { orders: "earliest", clicks: { 0: 3 } } },
      { from: { orders: { 1.5: "latest" } } },
      { from: { orders: { first: "latest" } as never } },
      { partitions: [0], from: { orders: { 1: "latest" } } },
    ];
    for (const options of badCalls) expect(() => client.replay("orders", options)).toThrow(code("BAD_ARGUMENT"));
    expect(() => client.replay("orders", { from: { Orders: "latest" } })).toThrow(
      'from names "Orders", which is not read here: expected orders',
    );
    const late = readAll(client.replay("orders", { from: { orders: { 5: "latest" } } }));
    await expect(late).rejects.toThrow(code("BAD_ARGUMENT"));
    await expect(late).rejects.toThrow("partition 5 of orders, which is not read here: expected one of 0, 1");
    expect(await readAll(client.replay("orders", { from: { orders: { 1: "latest" } } }))).toEqual([]);
  });

  it("P03 replay() ends at the high watermarks of its beginning, also while producers go on", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 2 } });
    fill(broker, "orders", 0, 50);
    fill(broker, "orders", 1, 10);
    const read: string[] = [];
    let producing: NodeJS.Timeout | undefined;
    for await (const batch of client.replay("orders", { maxBytes: 100 })) {
      producing ??= setInterval(() => {
        fill(broker, "orders", 0, 3);
        fill(broker, "orders", 1, 3);
      }, 1);
      read.push(...textsOf(batch));
      await sleep(2);
    }
    clearInterval(producing);
    expect(broker.log("orders", 0).length).toBeGreaterThan(60);
    expect(read.filter((text) => text.startsWith("orders-0"))).toEqual(numbered("orders-0", 0, 50));
    expect(read.filter((text) => text.startsWith("orders-1"))).toEqual(numbered("orders-1", 0, 10));
    await expect.poll(() => broker.sockets.size).toBe(0);
  });

  it("P03 replay() cuts the batch in which the end lies, and does not look at what is behind it", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 10);
    broker.intercept = ({ fetch, socket }) => {
      if (fetch === undefined) return false;
      // What comes after the end is damaged: a replay never gets there.
      const stored = storedRecords("crc32c", [...broker.log("orders", 0), ascii("behind"), ascii("damaged")]);
      stored[stored.length - 1] ^= 1;
      return socket.write(fetchAnswerTo(fetch, 12, stored));
    };
    expect(await readAll(client.replay("orders"))).toEqual(numbered("orders-0", 0, 10));
  });

  it("P03 replay() of an empty log ends at once, and from a place that is not there says so", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 2 } });
    expect(await readAll(client.replay("orders"))).toEqual([]);
    fill(broker, "orders", 0, 3);
    expect(await readAll(client.replay("orders", { partitions: [0], from: 3 }))).toEqual([]);
    await expect(readAll(client.replay("orders", { partitions: [0], from: 4 }))).rejects.toThrow(
      code("OFFSET_OUT_OF_RANGE"),
    );
  });

  it("P03 follow() goes on at the end, and gives what comes then", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 3);
    const batches = client.follow("orders")[Symbol.asyncIterator]();
    expect(await readSome(batches, 3)).toEqual(numbered("orders-0", 0, 3));
    const more = readSome(batches, 2);
    await sleep(30);
    fill(broker, "orders", 0, 2);
    expect(await more).toEqual(numbered("orders-0", 3, 5));
    await batches.return?.();
  });

  it.each([
    ["v2", { versions: UP_TO_V2 }],
    ["the oldest versions", { oldest: true }],
  ] as const)("follows and replays on a broker that knows only %s", async (_, fake) => {
    const { broker, client } = await clientOf({ ...fake, topics: { orders: 3 } });
    for (const partition of [0, 1, 2]) fill(broker, "orders", partition, 30);
    const read = await readAll(client.replay("orders", { maxBytes: 50 }));
    for (const partition of [0, 1, 2]) {
      expect(read.filter((text) => text.startsWith(`orders-${partition}`))).toEqual(
        numbered(`orders-${partition}`, 0, 30),
      );
    }
    const batches = client.follow("orders", { from: "latest" })[Symbol.asyncIterator]();
    const late = readSome(batches, 1);
    await sleep(50);
    fill(broker, "orders", 1, 1);
    expect(await late).toEqual(["orders-1 30"]);
    await batches.return?.();
    await expect(readAll(client.replay("orders", { from: 31 }))).rejects.toMatchObject({
      code: "OFFSET_OUT_OF_RANGE",
      topic: "orders",
      offset: 31,
    });
  });

  it("S18 says which record does not fit, or grows to it when it may", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 2);
    broker.log("orders", 0).push(new Uint8Array(5000).fill(0x61));
    fill(broker, "orders", 0, 1);
    const lengths: number[] = [];
    const read = async (options: FollowOptions) => {
      for await (const { payload } of client.replay("orders", options).records()) lengths.push(payload.length);
    };
    const error = await read({ maxBytes: 64, maxBytesLimit: 64 }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "RECORD_EXCEEDS_MAX_BYTES", offset: 2, recordBytes: 5008, maxBytes: 64 });
    expect((error as Error).message).toContain("maxBytesLimit is 64: raise maxBytesLimit to at least 5008");
    expect(lengths).toEqual([1, 1]);
    await read({ maxBytes: 64, maxBytesLimit: 5008 });
    expect(lengths.slice(2)).toEqual([1, 1, 5000, 1]);
    await expect(read({ maxBytes: 64, maxBytesLimit: 5007 })).rejects.toThrow(code("RECORD_EXCEEDS_MAX_BYTES"));
  });

  it("S18 reads by default whatever fits a request of the broker, also of one that was restarted with a larger one", async () => {
    const { broker, client } = await clientOf({ maxFrameBytes: 2000 });
    const { port } = broker;
    broker.log("orders", 0).push(new Uint8Array(1990).fill(1));
    const consumer = await client.consumer({ topic: "orders", partition: 0, maxBytes: 16 });
    const following = client.follow("orders", { maxBytes: 16 })[Symbol.asyncIterator]();
    expect((await following.next()).value?.records[0]?.length).toBe(1990);
    expect((await consumer.poll()).records[0]?.length).toBe(1990);
    broker.stop();
    const again = await FakeBroker.start({ port, maxFrameBytes: 3000 });
    again.log("orders", 0).push(...[1, 2990, 2993].map((bytes) => new Uint8Array(bytes).fill(1)));
    for (const next of [async () => (await following.next()).value, () => consumer.poll()]) {
      expect((await next())?.records[0]?.length).toBe(2990);
      await expect(next()).rejects.toMatchObject({
        code: "RECORD_EXCEEDS_MAX_BYTES",
        recordBytes: 3001,
        maxBytes: 3000,
      });
    }
  });

  it("P10 S15 names the record whose sum is wrong, after everything before it was given", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 4);
    broker.intercept = ({ fetch, socket }) => {
      if (fetch === undefined) return false;
      const from = fetch.parts[0]?.offset ?? 0;
      const stored = storedRecords("crc32c", broker.log("orders", 0));
      stored[2 * 9 + 8] ^= 4;
      return socket.write(fetchAnswerTo(fetch, 4, stored.subarray(9 * from)));
    };
    const read: string[] = [];
    const reading = async () => {
      for await (const { offset } of client.replay("orders").records()) read.push(`${offset}`);
    };
    await expect(reading()).rejects.toMatchObject({ code: "CORRUPT_RECORD", topic: "orders", partition: 0, offset: 2 });
    expect(read).toEqual(["0", "1"]);
  });

  it.each([
    [{ answerBytes: 100 }, [100, 100]],
    [{ maxBytesLimit: 200 }, [4 * 1024 * 1024, 200]],
    [{ maxBytes: 8 * 1024 * 1024 }, [8 * 1024 * 1024, 8 * 1024 * 1024]],
    [{}, [4 * 1024 * 1024, 1024 * 1024]],
  ])("asks for no more than %j allows", async (bounds, [all, each]) => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 1);
    await readAll(client.replay("orders", bounds));
    expect(broker.fetches[0]?.maxBytes).toBe(all);
    expect(broker.fetches[0]?.parts[0]?.maxBytes).toBe(each);
  });

  it("refuses options that cannot be, at once and by name", async () => {
    const { client } = await clientOf();
    const follow = client.follow.bind(client) as (topics: unknown, options?: unknown) => unknown;
    const wrong: [string, unknown, unknown?][] = [
      ["topic name", "a b"],
      ["topics: got none, expected at least one topic", []],
      ["topics: got undefined, expected a topic, or an array of them", undefined],
      ["topics: got 5, expected a topic, or an array of them", 5],
      ["topic name", ["orders", 1]],
      ["form", "orders", { form: 1 }],
      ["from", "orders", { from: "first" }],
      ["from", "orders", { from: new Date("no") }],
      ["from", "orders", { from: { orders: { 0: -1 } } }],
      ["partitions", "orders", { partitions: [] }],
      ["partitions", "orders", { partitions: [-1] }],
      ["onTruncated", "orders", { onTruncated: "ignore" }],
      ["onOutOfRange", "orders", { onOutOfRange: null }],
      ["onLost", "orders", { onLost: 1 }],
      ["signal", "orders", { signal: {} }],
      ["minBytes is 200, which maxBytes, 100, never reaches", "orders", { answerBytes: 100, minBytes: 200 }],
      ["minBytes is 200, which maxBytes, 100, never reaches", "orders", { maxBytes: 100, minBytes: 200 }],
      ["minBytes is 2000000, which maxBytes, 1048576, never reaches", "orders", { minBytes: 2_000_000 }],
      ["maxBytes", "orders", { maxBytes: 5 }],
      ["maxBytesLimit", "orders", { maxBytesLimit: 5 }],
      ["maxBytesLimit: got 100, expected maxBytes, 200, or more", "orders", { maxBytes: 200, maxBytesLimit: 100 }],
      ["answerBytes: got 100, expected maxBytes, 200, or more", "orders", { maxBytes: 200, answerBytes: 100 }],
      ["options", "orders", null],
    ];
    for (const [name, topics, options] of wrong) {
      const call = () => (options === undefined ? follow(topics) : follow(topics, options));
      expect(call, name).toThrow(code("BAD_ARGUMENT"));
      expect(call, name).toThrow(name.replace("form", '"form"'));
    }
    expect(() => client.replay("orders", { maxBytes: 5 })).toThrow(code("BAD_ARGUMENT"));
    expect(() => client.replay("orders", { maxWaitMs: 5 } as FollowOptions)).toThrow(code("BAD_ARGUMENT"));
  });
});
