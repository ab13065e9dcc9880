// What a connection asks that waits, that names several partitions, an offset of its own or a time; deadlines that take the
// wait into account; and brokers that know less.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import type { ConnectionOptions } from "../../src/client/connection-options.js";
import { Consumer } from "../../src/client/consumer.js";
import { LogTruncatedError } from "../../src/client/errors.js";
import { recordRegion } from "../../src/client/record-region.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { ascii } from "../support/bytes.js";
import { FakeBroker, type FakeOptions } from "../support/fake-broker.js";
import { ManualTime } from "../support/manual-time.js";

const LARGE = 1 << 20;
const code = (expected: string) => expect.objectContaining({ code: expected });
const UP_TO_V2 = [
  { apiKey: 1, minVersion: 1, maxVersion: 1 },
  { apiKey: 2, minVersion: 1, maxVersion: 2 },
  { apiKey: 3, minVersion: 1, maxVersion: 2 },
  { apiKey: 4, minVersion: 1, maxVersion: 1 },
];
const V1_ONLY = UP_TO_V2.map((range) => (range.apiKey === 2 ? { ...range, maxVersion: 1 } : range));

async function connected(fake: FakeOptions = {}, options: ConnectionOptions = {}) {
  const broker = await FakeBroker.start(fake);
  const connection = await Connection.connect({ broker: broker.address, ...options });
  onTestFinished(() => connection.destroy());
  return { broker, connection };
}

const kinds = (broker: FakeBroker) => broker.requests.map(({ kind }) => kind).slice(1);

/** A position of `orders`. */
const at = (partition: number, fetchOffset: number, epoch = -1, maxBytes = LARGE) => {
  return { topic: "orders", partition, fetchOffset, epoch, maxBytes };
};

describe("a fetch that waits", () => {
  it("goes out as v2 with what it waits for, and is answered when that is there", async () => {
    const { broker, connection } = await connected();
    const fetching = connection.fetch("orders", 0, 0, 1000, { maxWaitMs: 5000, minBytes: 25 });
    await sleep(20);
    broker.log("orders", 0).push(ascii("0123456789"));
    await sleep(20);
    broker.log("orders", 0).push(ascii("0123456789"));
    expect((await fetching).payload).toHaveLength(36);
    expect(broker.fetches[0]).toMatchObject({
      kind: RequestKind.FETCH_V2,
      maxWaitMs: 5000,
      minBytes: 25,
      maxBytes: 1000,
    });
  });

  it("goes out as v1 when it need not wait, or when the broker knows nothing else", async () => {
    const { broker, connection } = await connected();
    await connection.fetch("orders", 0, 0, 1000, { minBytes: 25 });
    expect(kinds(broker)).toEqual([RequestKind.FETCH_V1]);
    const old = await connected({ versions: V1_ONLY });
    expect((await old.connection.fetch("orders", 0, 0, 1000, { maxWaitMs: 60_000 })).payload).toHaveLength(0);
    expect(kinds(old.broker)).toEqual([RequestKind.FETCH_V1]);
  });

  it("waits on a broker from before HELLO, too: that knows v2", async () => {
    const { broker, connection } = await connected({ oldest: true });
    const fetching = connection.fetch("orders", 0, 0, 1000, { maxWaitMs: 5000 });
    await sleep(10);
    broker.log("orders", 0).push(ascii("a"));
    expect((await fetching).payload).toHaveLength(9);
    expect(kinds(broker)).toEqual([RequestKind.FETCH_V2]);
  });

  it("has its deadline on top of its wait, and so have the requests behind it", async () => {
    const time = new ManualTime();
    const { broker, connection } = await connected({}, { time, requestTimeoutMs: 1000 });
    broker.intercept = () => true;
    const outcomes: string[] = [];
    const told = (what: string, promise: Promise<unknown>) =>
      promise.catch((error: { code: string }) => void outcomes.push(`${what} ${error.code}`));
    const before = told("before", connection.metadata());
    const waiting = told("waiting", connection.fetch("orders", 0, 0, 1000, { maxWaitMs: 5000 }));
    const behind = told("behind", connection.metadata());
    const shorter = told("shorter", connection.fetch("orders", 0, 0, 1000, { maxWaitMs: 300, timeoutMs: 700 }));
    time.advance(1000);
    await before;
    expect(outcomes).toEqual(["before REQUEST_TIMEOUT"]);
    time.advance(4699);
    await sleep(5);
    expect(outcomes).toHaveLength(1);
    time.advance(1);
    await shorter;
    time.advance(300);
    await Promise.all([waiting, behind]);
    expect(outcomes.slice(1)).toEqual(["shorter REQUEST_TIMEOUT", "waiting REQUEST_TIMEOUT", "behind REQUEST_TIMEOUT"]);
  });

  it("counts no more wait than the broker's longest, and none when everything is answered", async () => {
    const time = new ManualTime();
    const { broker, connection } = await connected({ maxFetchWaitMs: 50 }, { time, requestTimeoutMs: 1000 });
    expect((await connection.fetch("orders", 0, 0, 1000, { maxWaitMs: 600_000 })).payload).toHaveLength(0);
    broker.intercept = () => true;
    const late = connection.metadata();
    time.advance(1000);
    await expect(late).rejects.toThrow(code("REQUEST_TIMEOUT"));
    const waiting = connection.fetch("orders", 0, 0, 1000, { maxWaitMs: 600_000 });
    time.advance(1050);
    await expect(waiting).rejects.toThrow(code("REQUEST_TIMEOUT"));
  });

  it("is left by its signal at once; its answer is not taken for the next one's", async () => {
    const { broker, connection } = await connected({ maxFetchWaitMs: 100 });
    const leaving = new AbortController();
    const fetching = connection.fetch("orders", 0, 0, 1000, { maxWaitMs: 60_000, signal: leaving.signal });
    const behind = connection.metadata();
    leaving.abort(new Error("enough"));
    await expect(fetching).rejects.toThrow("enough");
    expect(await behind).toHaveLength(1);
    expect(broker.requests).toHaveLength(3);
    await expect(connection.fetch("orders", 0, 0, 1000, { signal: leaving.signal })).rejects.toThrow("enough");
    expect(broker.requests).toHaveLength(3);
    expect(connection.openRequests).toBe(0);
  });

  it.each([
    ["minBytes is 2048, which maxBytes, 1024, never reaches", { maxWaitMs: 1, minBytes: 2048 }],
    ["maxWaitMs is -1", { maxWaitMs: -1 }],
    ["maxWaitMs is 0.5", { maxWaitMs: 0.5 }],
  ])("is refused before it is sent: %s", async (text, options) => {
    const { broker, connection } = await connected();
    const refused = expect.objectContaining({ code: "BAD_ARGUMENT", message: expect.stringContaining(text) });
    await expect(connection.fetch("orders", 0, 0, 1024, options)).rejects.toThrow(refused);
    await expect(connection.fetchMany([at(0, 0)], 1024, options)).rejects.toThrow(refused);
    expect(kinds(broker)).toEqual([]);
  });
});

describe("a fetch of several partitions", () => {
  it("brings each in its place: bytes, or its own error", async () => {
    const { broker, connection } = await connected({ topics: { orders: 3 } });
    broker.log("orders", 2).push(ascii("two"));
    Object.assign(broker.partition("orders", 2), { epoch: 4, epochStart: 0 });
    const answers = await connection.fetchMany([at(2, 0), at(0, 9), at(1, 0), at(7, 0)], LARGE);
    expect(answers.map(({ partition, error, payload }) => [partition, error, payload.length])).toEqual([
      [2, 0, 11],
      [0, 2, 0],
      [1, 0, 0],
      [7, 1, 0],
    ]);
    expect(answers[0]).toMatchObject({ epoch: 4, epochStart: 0, logStartOffset: 0, highWatermark: 1, logEndOffset: 1 });
  });

  it("waits for bytes and records of all of them together", async () => {
    const { broker, connection } = await connected({ topics: { orders: 2 } });
    const fetching = connection.fetchMany([at(0, 0), at(1, 0)], LARGE, {
      maxWaitMs: 5000,
      minBytes: 20,
      minRecords: 3,
    });
    let done = false;
    void fetching.then(() => {
      done = true;
    });
    for (const partition of [0, 1, 0]) {
      await sleep(15);
      expect(done).toBe(false);
      broker.log("orders", partition).push(ascii("abc"));
    }
    expect((await fetching).map(({ payload }) => payload.length)).toEqual([22, 11]);
  });

  it("is refused by a broker that does not know it, and when it cannot be right, before it is sent", async () => {
    const old = await connected({ versions: UP_TO_V2 });
    await expect(old.connection.fetchMany([at(0, 0)], LARGE)).rejects.toThrow(code("UNSUPPORTED_VERSION"));
    const { broker, connection } = await connected();
    const thousandAndOne = Array.from({ length: 1001 }, (_, partition) => at(partition, 0));
    const bad = code("BAD_ARGUMENT");
    await expect(connection.fetchMany([], LARGE)).rejects.toThrow(bad);
    await expect(connection.fetchMany(thousandAndOne, LARGE)).rejects.toThrow(bad);
    await expect(connection.fetchMany([at(0, -1)], LARGE)).rejects.toThrow(bad);
    await expect(connection.fetchMany([at(0, 0, -2)], LARGE)).rejects.toThrow(bad);
    await expect(connection.fetchMany([at(0, 0, 0, 0)], LARGE)).rejects.toThrow(bad);
    await expect(connection.fetchMany([{ ...at(0, 0), topic: "a b" }], LARGE)).rejects.toThrow(bad);
    expect([kinds(broker), kinds(old.broker)]).toEqual([[], []]);
  });

  it("breaks the connection when the answer is about other partitions", async () => {
    const { broker, connection } = await connected({ topics: { orders: 2 } });
    const wrong = await connection.fetchMany([at(1, 0)], LARGE);
    expect(wrong).toHaveLength(1);
    const answer = broker.requests.at(-1)?.answer as Uint8Array;
    broker.intercept = ({ socket, correlationId }) => {
      const other = Uint8Array.from(answer);
      new DataView(other.buffer).setInt32(4, correlationId);
      return socket.write(other);
    };
    const error = await connection.fetchMany([at(0, 0)], LARGE).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "CONNECTION_LOST", cause: { code: "BAD_RESPONSE" } });
    expect(await connection.closed).toMatchObject({ code: "CONNECTION_LOST" });
  });
});

describe("a batch with an offset of its own", () => {
  const one = recordRegion(["one"]);

  it("P11 is written there or not at all", async () => {
    const { broker, connection } = await connected();
    expect(await connection.produce("orders", 0, one, { expectedOffset: 0 })).toMatchObject({ baseOffset: 0 });
    await expect(connection.produce("orders", 0, one, { expectedOffset: 0 })).rejects.toThrow(code("OFFSET_MISMATCH"));
    expect(await connection.produce("orders", 0, one, { expectedOffset: 1 })).toMatchObject({ baseOffset: 1 });
    expect(broker.log("orders", 0)).toHaveLength(2);
    expect(kinds(broker)).toEqual([RequestKind.PRODUCE_V2, RequestKind.PRODUCE_V2, RequestKind.PRODUCE_V2]);
  });

  it("P11 is never sent without it to a broker that would not heed it", async () => {
    for (const fake of [{ versions: UP_TO_V2 }, { oldest: true }]) {
      const { broker, connection } = await connected(fake);
      const refused = connection.produce("orders", 0, one, { expectedOffset: 0 });
      await expect(refused).rejects.toThrow(code("UNSUPPORTED_VERSION"));
      await expect(connection.produce("orders", 0, one, { expectedOffset: -1 })).rejects.toThrow(code("BAD_ARGUMENT"));
      expect(kinds(broker)).toEqual([]);
    }
  });
});

describe("asking for offsets", () => {
  it("names the start, the end, and where a time begins", async () => {
    const { broker, connection } = await connected();
    const log = broker.partition("orders", 0);
    for (let n = 0; n < 10; n++) log.records.push(ascii(`${n}`));
    Object.assign(log, { start: 2, times: Array.from({ length: 10 }, (_, n) => 1000 + 10 * n) });
    const listed = async (when: Parameters<Connection["listOffsets"]>[2]) => connection.listOffsets("orders", 0, when);
    expect(await listed("earliest")).toEqual({ offset: 2, timestampMs: -1 });
    expect(await listed("latest")).toEqual({ offset: 10, timestampMs: -1 });
    expect(await listed(1035)).toEqual({ offset: 4, timestampMs: 1040 });
    expect(await listed(2000)).toEqual({ offset: 10, timestampMs: -1 });
    await expect(connection.listOffsets("orders", 7, 0)).rejects.toThrow(code("UNKNOWN_TOPIC_OR_PARTITION"));
    await expect(listed(-5)).rejects.toThrow(code("BAD_ARGUMENT"));
    const from = await Consumer.open(connection, { topic: "orders", partition: 0, from: new Date(1035) });
    expect(from.position).toBe(4);
  });

  it("of a broker that cannot list them brings start and end by METADATA, and says that it knows no times", async () => {
    const { broker, connection } = await connected({ oldest: true });
    broker.log("orders", 0).push(ascii("a"));
    expect(await connection.listOffsets("orders", 0, "earliest")).toEqual({ offset: 0, timestampMs: -1 });
    expect(await connection.listOffsets("orders", 0, "latest")).toEqual({ offset: 1, timestampMs: -1 });
    await expect(connection.listOffsets("orders", 1, "latest")).rejects.toThrow(code("UNKNOWN_TOPIC_OR_PARTITION"));
    await expect(connection.listOffsets("orders", 0, 5)).rejects.toThrow(code("UNSUPPORTED_VERSION"));
    const opening = Consumer.open(connection, { topic: "orders", partition: 0, from: new Date() });
    await expect(opening).rejects.toThrow(code("UNSUPPORTED_VERSION"));
  });
});

describe("a consumer that waits", () => {
  it.each([
    ["v3", {}, RequestKind.FETCH_V3],
    ["v2", { versions: UP_TO_V2 }, RequestKind.FETCH_V2],
    ["v2 from before HELLO", { oldest: true }, RequestKind.FETCH_V2],
  ])("asks once and gets what comes, by %s", async (_, fake, kind) => {
    const { broker, connection } = await connected(fake);
    const consumer = await Consumer.open(connection, { topic: "orders", partition: 0, maxWaitMs: 5000, minBytes: 15 });
    const polling = consumer.poll();
    for (const text of ["a", "b"]) {
      await sleep(15);
      broker.log("orders", 0).push(ascii(text));
    }
    expect([...(await polling)].map(String)).toEqual(["97", "98"]);
    expect(broker.count(kind)).toBe(1);
    expect(broker.fetches).toHaveLength(1);
    const left = new AbortController();
    const next = consumer.poll({ signal: left.signal });
    left.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    expect(consumer.position).toBe(2);
  });

  it("on a broker that cannot wait asks ten times a second", async () => {
    const { broker, connection } = await connected({ versions: V1_ONLY });
    const consumer = await Consumer.open(connection, { topic: "orders", partition: 0, maxWaitMs: 60_000 });
    const begun = performance.now();
    for (let n = 0; n < 4; n++) expect((await consumer.poll()).length).toBe(0);
    expect(performance.now() - begun).toBeGreaterThan(390);
    expect(broker.count(RequestKind.FETCH_V1)).toBe(4);
  });

  it("does not wait unless it is told to", async () => {
    const { broker, connection } = await connected();
    const consumer = await Consumer.open(connection, { topic: "orders", partition: 0 });
    expect((await consumer.poll()).length).toBe(0);
    expect(broker.fetches[0]).toMatchObject({ kind: RequestKind.FETCH_V3, maxWaitMs: 0 });
  });
});

describe("a log that was cut", () => {
  it("F20 is reported with where, again and again, until the program chooses where to go on", async () => {
    const { broker, connection } = await connected();
    const log = broker.partition("orders", 0);
    for (let n = 0; n < 100; n++) log.records.push(ascii(`old ${n}`));
    const consumer = await Consumer.open(connection, { topic: "orders", partition: 0 });
    expect([(await consumer.poll()).length, consumer.epoch]).toEqual([100, 0]);
    log.cutTo(80);
    for (let n = 80; n < 120; n++) log.records.push(ascii(`new ${n}`));
    for (let again = 0; again < 2; again++) {
      const error = await consumer.poll().catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(LogTruncatedError);
      expect(error).toMatchObject({
        topic: "orders",
        partition: 0,
        offset: 100,
        epochStart: 80,
        code: "LOG_TRUNCATED",
      });
      expect(consumer.position).toBe(100);
    }
    consumer.seek(80);
    const batch = await consumer.poll();
    expect([batch.baseOffset, batch.length, consumer.epoch]).toEqual([80, 40, 1]);
  });

  it("F20 is noticed by a program that kept the epoch beside its position, also when it starts", async () => {
    const { broker, connection } = await connected();
    const log = broker.partition("orders", 0);
    for (let n = 0; n < 100; n++) log.records.push(ascii(`${n}`));
    log.cutTo(80);
    for (let n = 80; n < 120; n++) log.records.push(ascii(`${n}`));
    const from = (epoch?: number, offset = 100) =>
      Consumer.open(connection, { topic: "orders", partition: 0, from: offset, epoch });
    await expect((await from(0)).poll()).rejects.toBeInstanceOf(LogTruncatedError);
    expect((await (await from(0, 80)).poll()).length).toBe(40);
    expect((await (await from(1)).poll()).length).toBe(20);
    const consumer = await from();
    expect((await consumer.poll()).length).toBe(20);
    consumer.seek(100, 0);
    await expect(consumer.poll()).rejects.toBeInstanceOf(LogTruncatedError);
  });
});
