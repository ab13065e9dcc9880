// A connection over real sockets, to a broker that the test plays.

import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import type { ConnectionOptions } from "../../src/client/connection-options.js";
import { recordRegion } from "../../src/client/record-region.js";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { type ErrorCode, ErrorCodes } from "../../src/model/error-codes.js";
import { ApiKey, RequestKind } from "../../src/protocol/api-keys.js";
import { PRODUCE_RESPONSE_BYTES, writeProduceResponse } from "../../src/protocol/produce.js";
import { ascii, concat, hex, int32 } from "../support/bytes.js";
import { errorAnswer, FakeBroker, type FakeOptions, type FakeRequest } from "../support/fake-broker.js";
import { ManualTime } from "../support/manual-time.js";
import { storedRecords } from "../support/stored-records.js";
import { tempDir } from "../support/tmp.js";

async function connected(fake: FakeOptions = {}, options: ConnectionOptions = {}) {
  const broker = await FakeBroker.start(fake);
  const connection = await Connection.connect({ broker: broker.address, ...options });
  onTestFinished(() => connection.destroy());
  return { broker, connection };
}

const one = recordRegion(["x"]);
const code = (expected: string) => expect.objectContaining({ code: expected });
const isProduce = (request: FakeRequest) => request.kind === RequestKind.PRODUCE_V1;
const settled = (promises: readonly Promise<unknown>[]) =>
  Promise.all(
    promises.map((promise) =>
      promise.then(
        () => "resolved",
        (error: { code: string }) => error.code,
      ),
    ),
  );

function produceAnswer(correlationId: number, base: number): Uint8Array {
  const frame = new Uint8Array(PRODUCE_RESPONSE_BYTES);
  writeProduceResponse(new DataView(frame.buffer), 0, correlationId, base, base + 1);
  return frame;
}

describe("connecting", () => {
  it("asks HELLO once and speaks the versions that the broker announces", async () => {
    const { broker, connection } = await connected({ maxFrameBytes: 4096 });
    await connection.metadata();
    expect(broker.requests.map((request) => request.kind)).toEqual([RequestKind.HELLO_V1, RequestKind.METADATA_V2]);
    expect(connection.hello).toMatchObject({ brokerName: "fake", maxFrameBytes: 4096 });
    expect(connection.supports(ApiKey.METADATA, 2)).toBe(true);
    expect(connection.supports(ApiKey.METADATA, 3)).toBe(false);
  });

  it("falls back on a broker that does not know HELLO", async () => {
    const { broker, connection } = await connected({ oldest: true });
    const [topic] = await connection.metadata(["orders"]);
    expect(topic.recordFormat).toBe("crc32c");
    expect(broker.requests.map((request) => request.kind)).toEqual([RequestKind.HELLO_V1, RequestKind.METADATA_V1]);
    expect(connection.hello).toBeUndefined();
    expect(connection.maxFrameBytes).toBe(8 * 1024 * 1024);
    await connection.produce("orders", 0, one);
  });

  it("goes over a Unix socket too", async () => {
    const { connection } = await connected({ path: join(tempDir(), "m.sock") });
    expect(connection.address).toContain("m.sock");
    expect(await connection.produce("orders", 0, one)).toEqual({ baseOffset: 0, logEndOffset: 1 });
  });

  it("says why it could not", async () => {
    const port = await unusedPort();
    await expect(Connection.connect({ broker: `127.0.0.1:${port}` })).rejects.toThrow(
      expect.objectContaining({ code: "CONNECTION_FAILED", message: expect.stringContaining("connection refused") }),
    );
    await expect(Connection.connect({ broker: join(tempDir(), "no.sock") })).rejects.toThrow(code("CONNECTION_FAILED"));
    await expect(Connection.connect({ broker: "nonsense:x" })).rejects.toThrow(code("BAD_ARGUMENT"));
  });

  it("does not wait for ever for a broker that accepts and says nothing", async () => {
    const broker = await FakeBroker.start({ intercept: () => true });
    await expect(Connection.connect({ broker: broker.address, connectTimeoutMs: 50 })).rejects.toThrow(
      code("REQUEST_TIMEOUT"),
    );
  });

  it("fails when the broker refuses HELLO for another reason, or closes", async () => {
    const stopping = await FakeBroker.start({
      intercept: ({ socket, correlationId }) =>
        socket.write(errorAnswer(correlationId, ErrorCodes.SHUTTING_DOWN)) || true,
    });
    await expect(Connection.connect({ broker: stopping.address })).rejects.toThrow(code("SHUTTING_DOWN"));
    const closing = await FakeBroker.start({ intercept: ({ socket }) => socket.end() && true });
    await expect(Connection.connect({ broker: closing.address })).rejects.toThrow(code("CONNECTION_LOST"));
  });
});

async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("requests", () => {
  it("S19 fifty calls at once on one connection each get the offset of their own batch, under correlation ids of their own", async () => {
    const { broker, connection } = await connected();
    const sizes = Array.from({ length: 50 }, (_, i) => 1 + (i % 7));
    const results = await Promise.all(
      sizes.map((size, i) => connection.produce("orders", 0, recordRegion(Array(size).fill(`batch ${i}`)))),
    );
    const log = broker.log("orders", 0).map((record) => Buffer.from(record).toString());
    results.forEach(({ baseOffset }, i) => {
      expect(log.slice(baseOffset, baseOffset + sizes[i])).toEqual(Array(sizes[i]).fill(`batch ${i}`));
    });
    const ids = broker.requests.map((request) => request.correlationId);
    expect(new Set(ids).size).toBe(51);
  });

  it("P07 a batch is one request, and its records get adjacent offsets", async () => {
    const { broker, connection } = await connected();
    await connection.produce("orders", 0, one);
    expect(await connection.produce("orders", 0, recordRegion(["a", "b", "c"]))).toEqual({
      baseOffset: 1,
      logEndOffset: 4,
    });
    expect(broker.requests.filter(isProduce)).toHaveLength(2);
    expect(broker.log("orders", 0).slice(1)).toEqual([ascii("a"), ascii("b"), ascii("c")]);
  });

  it("of one tick leave in one write, and what a caller does to its batch afterwards does not matter", async () => {
    const { broker, connection } = await connected();
    const before = broker.chunks;
    const batch = recordRegion(["first"]);
    const results = Array.from({ length: 500 }, () => connection.produce("orders", 0, batch));
    batch.bytes.fill(0);
    await Promise.all(results);
    // 500 × 37 bytes: one write, which the kernel may hand over in a few pieces.
    expect(broker.chunks - before).toBeLessThan(20);
    expect(new Set(broker.log("orders", 0).map((record) => Buffer.from(record).toString()))).toEqual(
      new Set(["first"]),
    );
  });

  it("of any size arrive whole and in order", async () => {
    const { broker, connection } = await connected({ maxFrameBytes: 20_000_000 });
    const sizes = [1, 70_000, 3, 65_500, 65_536, 10, 5_000_000, 40, 700_000];
    const sent = sizes.map((size, i) => new Uint8Array(size).fill(i + 1));
    await Promise.all(sent.map((record) => connection.produce("orders", 0, recordRegion([record]))));
    expect(broker.log("orders", 0).map((record) => record.length)).toEqual(sizes);
    broker.log("orders", 0).forEach((record, i) => {
      expect(Buffer.compare(record, sent[i])).toBe(0);
    });
  });

  it("resolve whatever pieces the answers come in", async () => {
    let pieces = 1;
    const { connection } = await connected({
      intercept: ({ socket, answer }) => {
        if (answer === undefined) return false;
        void sendInPieces(answer, pieces, (piece) => socket.write(piece));
        return true;
      },
    });
    for (pieces of [1, 2, 3, 26]) {
      const { baseOffset } = await connection.produce("orders", 0, one);
      const { payload, highWatermark } = await connection.fetch("orders", 0, baseOffset, 1000);
      expect(Uint8Array.from(payload)).toEqual(storedRecords("crc32c", [ascii("x")]));
      expect(highWatermark).toBe(baseOffset + 1);
    }
  });

  it("keep what they fetched when the next answers come", async () => {
    const { broker, connection } = await connected();
    broker.log("orders", 0).push(ascii("a"), ascii("b"), new Uint8Array(600_000).fill(7), ascii("c"));
    const answers = await Promise.all([0, 1, 2, 3].map((offset) => connection.fetch("orders", 0, offset, 1_000_000)));
    answers.forEach(({ payload }, i) => {
      expect(Buffer.compare(payload, storedRecords("crc32c", broker.log("orders", 0).slice(i)))).toBe(0);
    });
  });

  it("reject with the broker's error and leave the connection as it was", async () => {
    const { connection } = await connected({ topics: { orders: 3 } });
    await expect(connection.produce("orders", 3, one)).rejects.toThrow(
      expect.objectContaining({
        code: "UNKNOWN_TOPIC_OR_PARTITION",
        retriable: false,
        message: expect.stringContaining("orders-3"),
      }),
    );
    await expect(connection.fetch("orders", 0, 7, 10)).rejects.toThrow(code("OFFSET_OUT_OF_RANGE"));
    await expect(connection.metadata(["nothing"])).rejects.toThrow(code("UNKNOWN_TOPIC_OR_PARTITION"));
    expect((await connection.produce("orders", 2, one)).baseOffset).toBe(0);
  });

  it("reject with an error that this client does not know, and say its number", async () => {
    const { broker, connection } = await connected();
    broker.intercept = ({ socket, correlationId }) => socket.write(errorAnswer(correlationId, 99 as ErrorCode)) || true;
    await expect(connection.produce("orders", 0, one)).rejects.toThrow(/error 99/);
    broker.intercept = () => false;
    await connection.produce("orders", 0, one);
  });

  it("are refused before they are sent when they cannot be right", async () => {
    const { broker, connection } = await connected({ maxFrameBytes: 1000 });
    const bad = [
      connection.produce("or/ders", 0, one),
      connection.produce("", 0, one),
      connection.produce("orders", -1, one),
      connection.produce("orders", 0.5, one),
      connection.produce("orders", 0, { records: 0, bytes: new Uint8Array(0) }),
      connection.produce("orders", 0, recordRegion([new Uint8Array(980)])),
      connection.fetch("orders", 0, -1, 100),
      connection.fetch("orders", 0, 2 ** 53, 100),
      connection.fetch("orders", 0, 0, 0),
      connection.fetch("orders", 0, 0, 2 ** 31),
      connection.metadata(["no such/topic"]),
    ];
    expect(await settled(bad)).toEqual(bad.map(() => "BAD_ARGUMENT"));
    expect(() => connection.post("or/ders", 0, one)).toThrow(code("BAD_ARGUMENT"));
    expect(broker.requests).toHaveLength(1);
    // 1000 bytes behind the length prefix and no more: header 8, topic 2 + 6, partition, ack and count 9, size 4.
    await connection.produce("orders", 0, recordRegion([new Uint8Array(971)]));
    await expect(connection.produce("orders", 0, recordRegion([new Uint8Array(972)]))).rejects.toThrow("does not fit");
  });

  it("without acknowledgement have no answer, and those behind them get theirs", async () => {
    const { broker, connection } = await connected();
    for (let i = 0; i < 10; i++) connection.post("orders", 0, one);
    expect((await connection.produce("orders", 0, one, { ack: AckPolicy.WRITTEN })).baseOffset).toBe(10);
    await connection.flushed();
    expect(connection.queuedBytes).toBe(0);
    expect(broker.count(RequestKind.PRODUCE_V1)).toBe(11);
  });
});

async function sendInPieces(bytes: Uint8Array, count: number, send: (piece: Uint8Array) => void): Promise<void> {
  const step = Math.ceil(bytes.length / count);
  for (let at = 0; at < bytes.length; at += step) {
    send(bytes.subarray(at, at + step));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe("an answer that is wrong", () => {
  const open = 3;

  /** Opens a few requests and answers the first of them with `bytes`. */
  async function answered(
    bytes: (first: number) => Uint8Array,
  ): Promise<{ outcomes: string[]; connection: Connection }> {
    const { broker, connection } = await connected();
    const seen: FakeRequest[] = [];
    broker.intercept = (request) => {
      seen.push(request);
      if (seen.length === open) request.socket.write(bytes(seen[0].correlationId));
      return true;
    };
    const outcomes = await settled(Array.from({ length: open }, () => connection.produce("orders", 0, one)));
    return { outcomes, connection };
  }

  it.each([
    ["P09 the second request's correlation id before the first's", (id: number) => produceAnswer(id + 1, 0)],
    ["P09 a correlation id that nobody used", () => produceAnswer(-5, 0)],
    [
      "an answer that is longer than any to this request",
      (id: number) => concat(int32(23), int32(id), new Uint8Array(19)),
    ],
    ["an answer that is shorter than a header", (id: number) => concat(int32(5), int32(id), hex("00"))],
    ["an announced 2 GiB", () => int32(0x7fffffff)],
    ["a body that does not parse", (id: number) => concat(int32(10), int32(id), hex("0000 00000000"))],
    ["an error with a body", (id: number) => concat(int32(10), int32(id), hex("0007 00000000"))],
    ["noise", () => ascii("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ])("%s: breaks the connection, and no request is resolved with it", async (_, bytes) => {
    const { outcomes, connection } = await answered(bytes);
    expect(outcomes).toEqual(Array(open).fill("CONNECTION_LOST"));
    const failure = await connection.closed;
    expect(failure?.cause).toMatchObject({ code: "BAD_RESPONSE" });
    await expect(connection.produce("orders", 0, one)).rejects.toThrow(code("CONNECTION_LOST"));
  });

  it("P09 the right answers before the wrong one still count", async () => {
    const { outcomes } = await answered((id) => concat(produceAnswer(id, 0), produceAnswer(id + 2, 1)));
    expect(outcomes).toEqual(["resolved", "CONNECTION_LOST", "CONNECTION_LOST"]);
  });

  it("an answer to no request breaks the connection", async () => {
    const { broker, connection } = await connected();
    for (const socket of broker.sockets) socket.write(produceAnswer(2, 0));
    expect((await connection.closed)?.cause).toMatchObject({ code: "BAD_RESPONSE" });
  });

  it("more bytes of payload than were asked for break the connection", async () => {
    const { broker, connection } = await connected();
    broker.log("orders", 0).push(new Uint8Array(100));
    broker.intercept = ({ socket, correlationId }) => {
      const payload = concat(hex("0000000000000001"), int32(101), new Uint8Array(101));
      socket.write(concat(int32(6 + payload.length), int32(correlationId), hex("0000"), payload));
      return true;
    };
    await expect(connection.fetch("orders", 0, 0, 100)).rejects.toThrow(code("CONNECTION_LOST"));
  });
});

describe("deadlines", () => {
  it("reject the request that waited too long; its late answer is not taken for the next one's", async () => {
    const time = new ManualTime();
    const { broker, connection } = await connected({}, { time, requestTimeoutMs: 1000 });
    const held: FakeRequest[] = [];
    broker.intercept = (request) => isProduce(request) && held.push(request) > 0;
    const first = connection.produce("orders", 0, recordRegion(["first"]));
    const second = connection.produce("orders", 0, recordRegion(["second"]), { timeoutMs: 5000 });
    await until(() => held.length === 2);
    time.advance(1000);
    await expect(first).rejects.toThrow(code("REQUEST_TIMEOUT"));
    expect(connection.openRequests).toBe(2);
    for (const { socket, answer } of held) if (answer !== undefined) socket.write(answer);
    expect(await second).toEqual({ baseOffset: 1, logEndOffset: 2 });
    expect(connection.openRequests).toBe(0);
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

describe("the end of a connection", () => {
  it("settles every request when the broker dies", async () => {
    const { broker, connection } = await connected();
    broker.intercept = isProduce;
    const open = Array.from({ length: 20 }, () => connection.produce("orders", 0, one));
    await until(() => broker.count(RequestKind.PRODUCE_V1) === 20);
    broker.cut();
    expect(await settled(open)).toEqual(Array(20).fill("CONNECTION_LOST"));
    expect(await connection.closed).toMatchObject({ code: "CONNECTION_LOST" });
    await expect(connection.fetch("orders", 0, 0, 10)).rejects.toThrow(code("CONNECTION_LOST"));
    expect(() => connection.post("orders", 0, one)).toThrow(code("CONNECTION_LOST"));
    await connection.close();
  });

  it("waits in close() for what is open, and takes nothing new", async () => {
    const { broker, connection } = await connected();
    const held: FakeRequest[] = [];
    broker.intercept = (request) => isProduce(request) && held.push(request) > 0;
    const open = connection.produce("orders", 0, one);
    const closing = connection.close();
    expect(connection.close()).toBe(closing);
    await expect(connection.produce("orders", 0, one)).rejects.toThrow(code("CLOSED"));
    await until(() => held.length === 1);
    held[0].socket.write(produceAnswer(held[0].correlationId, 0));
    expect((await open).baseOffset).toBe(0);
    await closing;
    expect(await connection.closed).toBeUndefined();
  });

  it("sends in close() what was posted before", async () => {
    const { broker, connection } = await connected();
    const records = 2000;
    for (let i = 0; i < records; i++) connection.post("orders", 0, recordRegion([new Uint8Array(2000)]));
    await connection.close();
    await until(() => broker.log("orders", 0).length === records);
  });

  it("does not wait in close() for a broker that never closes its side", async () => {
    const time = new ManualTime();
    const { broker, connection } = await connected({}, { time });
    for (const socket of broker.sockets) socket.pause();
    const closing = connection.close();
    await Promise.resolve();
    await new Promise((resolve) => setTimeout(resolve, 20));
    time.advance(2000);
    await closing;
  });

  it("rejects in destroy() what is open, at once", async () => {
    const { broker, connection } = await connected();
    broker.intercept = isProduce;
    const open = [connection.produce("orders", 0, one), connection.produce("orders", 0, one)];
    connection.destroy();
    expect(await settled(open)).toEqual(["CLOSED", "CLOSED"]);
    expect(await connection.closed).toBeUndefined();
    await connection.close();
  });
});
