// The types that the package publishes, as a program sees them that has installed it: compiled strictly, declarations included.

import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";

const program = `
import { embeddedOnly } from "./embedded.js";
import {
  type AckName, bytes, type Codec, connect, envelope, type EnvelopeTopic, fileCheckpoints, json, MillraceError, type Offset, type ProducerOptions, text,
  type TypedTopic, type TypedTopicOptions, type ValueOf,
} from "millrace/client";

interface Order { readonly id: string; readonly apples: number }

export async function clients(signal: AbortSignal): Promise<void> {
  await using client = await connect({ broker: "127.0.0.1:4710" });
  const orders = client.topic("orders", { codec: json<Order>(), keyOf: ({ id }) => id });
  const exactly: TypedTopic<Order> = orders;
  const sent = await exactly.send({ id: "a", apples: 3 }, { key: "fruit" });
  const at: Offset = sent.offset;
  // @ts-expect-error an order has apples
  await orders.send({ id: "a" });
  // @ts-expect-error a partition is a number
  await orders.send({ id: "a", apples: 3 }, { partition: "0" });
  await orders.append([{ id: "a", apples: 3 }], { partition: 0, expectedOffset: at });
  // @ts-expect-error an append says where the log must end
  await orders.append([{ id: "a", apples: 3 }], { partition: 0 });
  for await (const { value, offset } of orders.follow({ from: "latest", signal }).records()) {
    const apples: number = value.apples;
    const next: number = offset + apples;
    // @ts-expect-error there are no pears
    console.log(next, value.pears);
  }
  for await (const batch of orders.replay().checkpointing(fileCheckpoints("./orders.checkpoint"))) {
    for (const record of batch) console.log(record.value.id, batch.lag);
  }

  const order: Order = { id: "a", apples: 3 };
  // @ts-expect-error JSON alone has no place for headers
  await orders.send(order, { headers: { trace: "1" } });
  // @ts-expect-error nor for a time
  await orders.batch([order], { timestampMs: 1 });
  // @ts-expect-error nor for a key beside a partition
  await orders.send(order, { key: "fruit", partition: 0 });
  // @ts-expect-error nor for the key of an append, which names its partition
  await orders.append([order], { partition: 0, expectedOffset: at, key: "fruit" });

  const wrapped: EnvelopeTopic<Order> = client.topic("orders", {
    codec: envelope(json<Order>()),
    onBad: (error, { payload }) => console.error(error.offset, payload.length),
  });
  await wrapped.send(order, { headers: { trace: "1" }, timestampMs: Date.now() });
  await wrapped.batch([order], { key: "fruit", partition: 0 });
  await wrapped.append([order], { partition: 0, expectedOffset: at, key: "fruit", headers: { trace: "1" } });
  // @ts-expect-error headers are texts
  await wrapped.send(order, { headers: { trace: 1 } });
  const either: TypedTopic<Order> = wrapped;
  const options: TypedTopicOptions<Order> = { codec: json<Order>() };
  await client.topic("orders", options).send((await either.replay().records().next()).value?.value ?? order);
  for await (const { headers, keyText, timestampMs } of wrapped.replay().records()) {
    const shown: [string | undefined, string | undefined, number | undefined] = [headers.get("trace"), keyText, timestampMs];
    console.log(shown);
  }

  const own: Codec<Date> = { encode: (value) => new TextEncoder().encode(value.toISOString()), decode: (payload) => new Date(String(payload)) };
  const value: ValueOf<typeof own> = new Date();
  await client.topic("times", { codec: own }).send(value);
  await client.topic("words", { codec: text() }).send("a");
  await client.topic("blobs", { codec: bytes() }).send(Uint8Array.of(1));

  const producer = client.producer({ lingerMs: 5, ack: "forced" });
  // @ts-expect-error there is no such acknowledgement
  client.producer({ ack: "maybe" });
  client.producer({ ack: "none", exclusive: false });
  client.producer({ ack: "written", exclusive: true, lingerMs: 1 });
  client.producer({ ack: process.env.ACK as AckName, lingerMs: 1 });
  // @ts-expect-error it finds out by the answers, and there are none
  client.producer({ ack: "none", exclusive: true });
  // @ts-expect-error the same in two steps
  const blind: ProducerOptions = { exclusive: true, ack: "none", lingerMs: 5 };
  client.producer(blind);
  // @ts-expect-error a key chooses the partition
  await producer.send("orders", "text", { key: "a", partition: 0 });
  // @ts-expect-error each letter would be a record
  await producer.batch("orders", "abc");
  await producer.send("orders", "text", { key: new Uint8Array(2) });
  try {
    await client.topics(["nowhere"]);
  } catch (error) {
    if (error instanceof MillraceError && error.code === "UNKNOWN_TOPIC_OR_PARTITION") return;
    // @ts-expect-error codes are a closed list
    if (error instanceof MillraceError && error.code === "UNKNOWN_TOPIC") return;
    throw error;
  }
  await embeddedOnly();
}
`;

const embedded = `
import { type BrokerSettings, type Client, json, type Log, type LogAppendOptions, openClient, openLog, type RunningBroker, startBroker } from "millrace";

export async function embeddedOnly(): Promise<void> {
  await using log: Log = await openLog("./audit");
  const options: LogAppendOptions = { ack: "written", expectedOffset: 3 };
  await log.append(new Uint8Array(1), options);
  await log.offsetAt(new Date());
  // @ts-expect-error what a log is made of is not for programs
  log.inside;
  await using client: Client = await openClient({ dir: "./events", topics: { orders: 3 } });
  await client.topic("orders", { codec: json<{ a: number }>() }).send({ a: 1 });
  await openClient({ topics: { audit: log } });
  // @ts-expect-error a topic is a number of partitions, or logs
  await openClient({ topics: { audit: "./audit" } });
  await using broker: RunningBroker = await startBroker({ ephemeral: true, settings: { topics: "orders:3" } });
  console.log(broker.address);
  const settings: BrokerSettings = {
    "segment.bytes": "64MiB",
    retention: { bytes: 1_000_000, check: { ms: "1s" } },
    topics: { orders: { partitions: 3, visibility: "durable", segment: { mode: "FILE_CHANNEL" } } },
  };
  await startBroker({ settings: { ...settings, port: 0, "ops.enabled": false } });
  // @ts-expect-error there is no such setting
  await startBroker({ settings: { prot: 0 } });
  // @ts-expect-error nor such a table
  await startBroker({ settings: { segment: { byte: 4096 } } });
  // @ts-expect-error nor such a mode
  await startBroker({ settings: { "segment.mode": "MAPED" } });
  // @ts-expect-error the topic has no port
  await startBroker({ settings: { topics: { orders: { partitions: 3, port: 0 } } } });
  // @ts-expect-error nor has a setting that it has another type
  await startBroker({ settings: { "ops.enabled": 1 } });
}
`;

// What may be left out may be undefined: a program hands on what its own caller has not given.
const leftOut = `
import { type BrokerSettings, type LogOptions, type LogReadOptions, openClient, openLog, startBroker } from "millrace";
import { type Client, connect, type Consumer, type EnvelopeInput, envelope, json, memoryCheckpoints } from "millrace/client";

export async function leftOut(client: Client, consumer: Consumer, not: undefined): Promise<void> {
  await connect({ broker: not, connectTimeoutMs: not, requestTimeoutMs: not, retryMs: not, time: not });
  const producer = client.producer({ ack: not, exclusive: not, lingerMs: not, batchBytes: not, onLost: not, onRecovered: not });
  await producer.send("a", "b", { key: not, signal: not });
  await producer.send("a", "b", { partition: 0, signal: not });
  await producer.append("a", ["b"], { partition: 0, expectedOffset: 1, signal: not });
  client.replay("a", { from: not, partitions: not, maxBytes: not, answerBytes: not, signal: not, onTruncated: not });
  const following = client.follow("a", { maxWaitMs: not, minBytes: not, onOutOfRange: not, onLost: not, maxBytesLimit: not });
  following.checkpointing(memoryCheckpoints(), { saveEveryMs: not });
  await client.topics([], { signal: not, timeoutMs: not });
  await client.consumer({ topic: "a", partition: 0, from: not, epoch: not, maxWaitMs: not, maxBytes: not }, { signal: not });
  await consumer.poll({ maxWaitMs: not, minBytes: not, signal: not, timeoutMs: not });
  const typed = client.topic("a", { codec: envelope(json<number>()), keyOf: not, onBad: not, producer: not });
  await typed.send(1, { key: not, headers: not, timestampMs: not, signal: not });
  const input: EnvelopeInput<number> = { value: 1, key: not, headers: not, timestampMs: not };
  const log: LogOptions = { mode: not, segmentBytes: not, visibility: not, onEvent: not };
  const read: LogReadOptions = { maxBytes: not, maxWaitMs: not, signal: not };
  await (await openLog("./audit", log)).read(0, read);
  await openClient({ dir: not, topics: {}, log: not, retryMs: not });
  const settings: BrokerSettings = { port: not, segment: not, retention: { ms: not }, topics: { a: { partitions: not } } };
  await startBroker({ settings, ephemeral: not, log: not });
  await startBroker({ settings: not });
  console.log(input);
}
`;

const tsc = join(root, "node_modules/typescript/bin/tsc");
const compile = async (...args: string[]): Promise<string> => {
  const ran = promisify(execFile)(process.execPath, [tsc, ...args], { cwd: root });
  return ran.then(({ stdout }) => stdout).catch((error: { stdout?: string }) => error.stdout ?? String(error));
};

let project = "";

beforeAll(async () => {
  project = tempDir("typed-project");
  const installed = join(project, "node_modules/millrace");
  mkdirSync(installed, { recursive: true });
  copyFileSync(join(root, "package.json"), join(installed, "package.json"));
  symlinkSync(join(root, "node_modules/@types"), join(project, "node_modules/@types"));
  expect(await compile("-p", "tsconfig.types.json", "--outDir", join(installed, "dist/types"))).toBe("");
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(project, "program.ts"), program);
  writeFileSync(join(project, "embedded.ts"), embedded);
  writeFileSync(join(project, "left-out.ts"), leftOut);
}, 60_000);

function configFor(file: string, moduleResolution: string, module: string): string {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    target: "es2022",
    lib: ["es2023", "esnext.disposable", "dom"],
    types: ["node"],
    module,
    moduleResolution,
  };
  const config = join(project, `${file}.${moduleResolution}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions, files: [file] }));
  return config;
}

it.each([
  ["node16", "node16"],
  ["bundler", "esnext"],
])(
  "compile strictly, with wrong uses found, by moduleResolution %s",
  async (moduleResolution, module) => {
    expect(await compile("-p", configFor("program.ts", moduleResolution, module))).toBe("");
  },
  60_000,
);

it("take undefined for whatever may be left out", async () => {
  expect(await compile("-p", configFor("left-out.ts", "node16", "node16"))).toBe("");
}, 60_000);

it("a wrong use is an error: the test above can fail", async () => {
  const wrong = program.replace('{ id: "a", apples: 3 }, { key', "{ id: 1, apples: 3 }, { key");
  writeFileSync(join(project, "wrong.ts"), wrong);
  const found = await compile("-p", configFor("wrong.ts", "node16", "node16"));
  expect(found.split("\n").filter((line) => line !== "")).toEqual([
    expect.stringContaining("Type 'number' is not assignable to type 'string'"),
  ]);
}, 60_000);
