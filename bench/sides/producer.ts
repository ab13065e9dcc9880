// Sends records to a broker in one of the ways that a program has, and says how long it took and what it cost this process.

import { Connection } from "../../src/client/connection.js";
import { Producer } from "../../src/client/producer/producer.js";
import { recordRegion } from "../../src/client/record-region.js";
import { Window } from "../../src/client/window.js";
import { printResult, sideFlags } from "../lib/side.js";

const flags = sideFlags("port", "topic", "how", "records", "warmup", "batch", "depth", "size", "ack");
const [batch, depth, size] = [flags.batch, flags.depth, flags.size].map(Number);
const ack = flags.ack as "forced" | "written";
const broker = `127.0.0.1:${flags.port}`;
const text = "a".repeat(size);
const bytes = new Uint8Array(size).fill(97);

/** What each way does to get so many records acknowledged. */
async function way(): Promise<(records: number) => Promise<void>> {
  if (flags.how === "connection") {
    const connection = await Connection.connect({ broker });
    const region = recordRegion(Array<Uint8Array>(batch).fill(bytes));
    const window = new Window(Number.POSITIVE_INFINITY, depth);
    return async (records) => {
      for (let sent = 0; sent < records; sent += batch) {
        await window.room();
        window.enter(0);
        void connection.produce(flags.topic, 0, region, { ack }).then(() => window.leave(0));
      }
      await window.empty();
    };
  }
  const backend = { address: broker, connect: () => Connection.connect({ broker }) };
  const producer = new Producer(backend, { ack });
  if (flags.how === "batch") {
    const all = Array<Uint8Array>(batch).fill(bytes);
    return async (records) => {
      for (let sent = 0; sent < records; sent += batch) {
        if (!producer.hasRoom) await producer.room();
        void producer.batch(flags.topic, all);
      }
      await producer.flush();
    };
  }
  const send: (i: number) => unknown =
    flags.how === "keyed"
      ? (i) => producer.send(flags.topic, text, { key: `key-${i % 1000}` })
      : flags.how === "bytes"
        ? () => producer.send(flags.topic, bytes)
        : () => producer.send(flags.topic, text);
  return async (records) => {
    for (let i = 0; i < records; i++) {
      if (!producer.hasRoom) await producer.room();
      send(i);
    }
    await producer.flush();
  };
}

const send = await way();
await send(Number(flags.warmup));
globalThis.gc?.();
const records = Number(flags.records);
const heap = process.memoryUsage().heapUsed;
const cpu = process.cpuUsage();
const began = performance.now();
await send(records);
const seconds = (performance.now() - began) / 1000;
const { user, system } = process.cpuUsage(cpu);
const heapBytes = process.memoryUsage().heapUsed - heap;
printResult({ records, seconds, cpuSeconds: (user + system) / 1e6, heapBytes });
process.exit();
