// Arguments that the compiler would not let through, as a program in JavaScript may pass them: each is refused at once, by
// name, and the connection goes on.

import { describe, expect, it, onTestFinished } from "vitest";
import * as client from "../../src/client/index.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { FakeBroker } from "../support/fake-broker.js";

/** The methods of a connection as a program in JavaScript sees them. */
type Untyped = Record<
  "produce" | "post" | "fetch" | "fetchMany" | "listOffsets" | "metadata",
  (...args: unknown[]) => unknown
>;

async function connected() {
  const broker = await FakeBroker.start();
  const connection = await client.Connection.connect({ broker: broker.address });
  onTestFinished(() => connection.destroy());
  return { broker, connection, untyped: connection as unknown as Untyped };
}

const region = () => client.recordRegion(["a"]);

/** What a call ends with, whether it throws or rejects. */
async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

const REQUESTS: readonly [string, (connection: Untyped) => unknown][] = [
  ["ack", (c) => c.produce("orders", 0, region(), { ack: "force" })],
  ["ack", (c) => c.produce("orders", 0, region(), { ack: 3 })],
  ["ack", (c) => c.produce("orders", 0, region(), { ack: true })],
  ["ack", (c) => c.produce("orders", 0, region(), { ack: null, expectedOffset: 0 })],
  ["acks", (c) => c.produce("orders", 0, region(), { acks: "none" })],
  ["options", (c) => c.produce("orders", 0, region(), null)],
  ["options", (c) => c.produce("orders", 0, region(), "forced")],
  ["timeoutMs", (c) => c.produce("orders", 0, region(), { timeoutMs: "1s" })],
  ["expectedOffset", (c) => c.produce("orders", 0, region(), { expectedOffset: "0" })],
  ["expectedOffset is 0n", (c) => c.produce("orders", 0, region(), { expectedOffset: 0n })],
  ["region", (c) => c.produce("orders", 0, "a")],
  ["region", (c) => c.produce("orders", 0, undefined)],
  ["region.bytes", (c) => c.produce("orders", 0, { records: 1, bytes: [0, 0, 0, 1, 97] })],
  ["records", (c) => c.produce("orders", 0, { records: "1", bytes: new Uint8Array(5) })],
  ["topic name", (c) => c.produce(undefined, 0, region())],
  ["topic name", (c) => c.produce(Symbol("orders"), 0, region())],
  ["partition", (c) => c.produce("orders", "0", region())],
  ["region", (c) => c.post("orders", 0, null)],
  ["offset", (c) => c.fetch("orders", 0, "0", 100)],
  ["maxBytes", (c) => c.fetch("orders", 0, 0)],
  ["signal", (c) => c.fetch("orders", 0, 0, 100, { signal: {} })],
  ["maxwaitms", (c) => c.fetch("orders", 0, 0, 100, { maxwaitms: 5 })],
  ["partitions", (c) => c.fetchMany("orders", 100)],
  ["partitions", (c) => c.fetchMany([null], 100)],
  ["at", (c) => c.listOffsets("orders", 0, "first")],
  ["at", (c) => c.listOffsets("orders", 0, new Date())],
  ["topics", (c) => c.metadata("orders")],
  ["topic name", (c) => c.metadata([1])],
  ["options", (c) => c.metadata([], 5)],
  ["connection", () => client.Consumer.open({} as never, { topic: "orders", partition: 0 })],
  ["options", (c) => client.Consumer.open(c as never, undefined as never)],
  ["topic name", (c) => client.Consumer.open(c as never, { partition: 0 } as never)],
  ["offset", (c) => client.Consumer.open(c as never, { topic: "orders", partition: 0, offset: 5 } as never)],
  ["from", (c) => client.Consumer.open(c as never, { topic: "orders", partition: 0, from: "start" } as never)],
  ["maxWaitMs", (c) => client.Consumer.open(c as never, { topic: "orders", partition: 0, maxWaitMs: "1" } as never)],
  ["minBytes", (c) => client.Consumer.open(c as never, { topic: "orders", partition: 0, maxBytes: 20, minBytes: 21 })],
  [
    "maxBytesLimit",
    (c) => client.Consumer.open(c as never, { topic: "orders", partition: 0, maxBytesLimit: 5 } as never),
  ],
];

const VALUES: readonly [string, () => unknown][] = [
  ["record 0", () => client.recordRegion([5] as never)],
  ["record 1", () => client.recordRegion(["a", null] as never)],
  ["records", () => client.recordRegion("abc")],
  ["records", () => client.recordRegion(new Uint8Array(3) as never)],
  ["records", () => client.recordRegion(undefined as never)],
  ["records: got an object, expected", () => client.recordRegion((async function* () {})() as never)],
  ["record", () => new client.RegionBuilder().append("abc" as never, 0, 3)],
  ["record", () => new client.RegionBuilder().append(new Uint8Array(3), 0, 4)],
  ["record", () => new client.RegionBuilder().append(new Uint8Array(3), 2, 2)],
  ["bytes", () => client.fnv1a("key" as never)],
  ["bytes", () => client.partitionOfKey(5 as never, 3)],
  ["partitions", () => client.partitionOfKey("key", 0)],
  ["partitions", () => new client.RoundRobin(undefined as never)],
  ["broker", () => client.parseBrokerAddress(4710 as never)],
  ["broker", () => client.Connection.connect({ broker: 4710 } as never)],
  ["host", () => client.Connection.connect({ host: "localhost" } as never)],
  ["options", () => client.Connection.connect("localhost" as never)],
  ["requestTimeoutMs", () => client.Connection.connect({ requestTimeoutMs: -1 })],
];

describe("an argument that is none", () => {
  it("is refused by its name before anything is sent, and the connection goes on", async () => {
    const { broker, untyped, connection } = await connected();
    for (const [name, call] of REQUESTS) {
      const error = await failureOf(() => call(untyped));
      expect({ call: String(call), error }).toMatchObject({ error: { code: "BAD_ARGUMENT" } });
      expect(String(error)).toContain(name);
    }
    const { baseOffset } = await connection.produce("orders", 0, region());
    expect(baseOffset).toBe(0);
    expect(broker.count(RequestKind.PRODUCE_V1)).toBe(1);
  });

  it("is refused where there is no connection", async () => {
    for (const [name, call] of VALUES) {
      const error = await failureOf(call);
      expect({ call: String(call), error }).toMatchObject({ error: { code: "BAD_ARGUMENT" } });
      expect(String(error)).toContain(name);
    }
  });

  it("is refused by what a connection has brought", async () => {
    const { connection } = await connected();
    await connection.produce("orders", 0, client.recordRegion(["a", "b"]));
    const consumer = await client.Consumer.open(connection, { topic: "orders", partition: 0 });
    const batch = await consumer.poll();
    expect(batch).toHaveLength(2);
    for (const index of [2, -1, 0.5, undefined]) {
      expect(() => batch.at(index as never)).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
    }
    for (const bad of [() => consumer.seek("0" as never), () => consumer.seek(0, "1" as never)]) {
      expect(bad).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
    }
    expect(() => consumer.seek(-1)).toThrow("position: got -1, expected an offset");
    await expect(consumer.poll(5 as never)).rejects.toMatchObject({ code: "BAD_ARGUMENT" });
  });
});

/** Calls of a client whose broker is away: whoever waits for it first would hear of the mistake half a minute later. */
const CALLS: readonly [string, (of: client.Client) => unknown][] = [
  ["topics", (of) => of.topics("orders" as never)],
  ["topic name", (of) => of.topics(["a b"])],
  ["options", (of) => of.topics([], null as never)],
  ["timeout", (of) => of.topics([], { timeout: 5 } as never)],
  ["timeoutMs", (of) => of.topics([], { timeoutMs: -1 })],
  ["signal", (of) => of.topics([], { signal: {} as never })],
  ["partition", (of) => of.listOffsets("orders", -1, "latest")],
  ["at", (of) => of.listOffsets("orders", 0, new Date() as never)],
  ["at", (of) => of.listOffsets("orders", 0, -5)],
  ["topic name", (of) => of.offsetsAt("", "latest")],
  ["at", (of) => of.offsetsAt("orders", "first" as never)],
  ["at: got 5, expected earliest, latest or a Date", (of) => of.offsetsAt("orders", 5 as never)],
  ["partitions: got an empty array", (of) => of.follow("orders", { partitions: [] })],
  ["at", (of) => of.offsetsAt("orders", new Date("no"))],
  ["options", (of) => of.consumer(undefined as never)],
  ["from", (of) => of.consumer({ topic: "orders", partition: 0, from: "start" as never })],
  ["from", (of) => of.consumer({ topic: "orders", partition: 0, from: new Date(-5) })],
  ["minBytes", (of) => of.consumer({ topic: "orders", partition: 0, minBytes: 2_000_000 })],
  ["options", (of) => of.consumer({ topic: "orders", partition: 0 }, null as never)],
  ["onLost", (of) => of.producer({ onLost: "log" as never })],
  ["onRecovered", (of) => of.producer({ onRecovered: {} as never })],
  ["from", (of) => of.follow("orders", { from: new Date(-5) })],
  ["options", () => client.connect(null as never)],
  ["options", () => client.connect(4710 as never)],
];

describe("an argument of a client that is none", () => {
  it("is refused by its name before the broker is looked for", async () => {
    let connects = 0;
    const connect = (): Promise<never> => {
      connects++;
      return Promise.reject(new client.MillraceError("CONNECTION_FAILED", "nobody is there"));
    };
    const away = new client.Client({ address: "nowhere", connect });
    onTestFinished(() => away.close());
    for (const [name, call] of CALLS) {
      const error = await failureOf(() => call(away));
      expect({ call: String(call), error }).toMatchObject({ error: { code: "BAD_ARGUMENT" } });
      expect(String(error)).toContain(name);
    }
    expect(connects).toBe(0);
  });
});

describe("ack", () => {
  const { AckPolicy } = client;

  it("is a name or a member of AckPolicy", async () => {
    const { broker, connection } = await connected();
    for (const ack of ["forced", "written", AckPolicy.FORCED, AckPolicy.WRITTEN] as const) {
      await connection.produce("orders", 0, region(), { ack });
    }
    const sent = broker.requests.filter(({ kind }) => kind === RequestKind.PRODUCE_V1);
    expect(sent.map(({ frame }) => frame[8 + 2 + 6 + 4])).toEqual([2, 1, 2, 1]);
  });

  it("none resolves at once and expects no answer", async () => {
    const { broker, connection } = await connected();
    for (const ack of ["none", AckPolicy.NONE] as const) {
      expect(await connection.produce("orders", 0, region(), { ack })).toBeUndefined();
      expect(connection.openRequests).toBe(0);
    }
    expect(await connection.produce("orders", 0, region(), { ack: "none", expectedOffset: 2 })).toBeUndefined();
    expect(await connection.produce("orders", 0, region(), { ack: "forced" })).toMatchObject({ baseOffset: 3 });
    expect(broker.log("orders", 0)).toHaveLength(4);
    await connection.close();
    await expect(connection.produce("orders", 0, region(), { ack: "none" })).rejects.toMatchObject({ code: "CLOSED" });
  });
});
