// The same client on logs in the process and, when MILLRACE_BROKER names one with the topic bench:1, on a broker; and what
// codecs cost on top of bytes. Records of 128 bytes or what a codec makes. To run it alone:
//
//   npx esbuild bench/client-embedded.ts --bundle --platform=node --format=esm --packages=external --outfile=.cache/bench/js/client-embedded.js
//   node .cache/bench/js/client-embedded.js

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  bytes,
  type Client,
  type Codec,
  connect,
  type EnvelopeCodec,
  envelope,
  json,
  openClient,
} from "../src/index.js";

const TOPIC = "bench";
const record = new Uint8Array(128).fill(7);

function print(what: string, count: number, ms: number): void {
  const rate = Math.round(count / (ms / 1000)).toLocaleString("en");
  console.log(`${what.padEnd(58)} ${rate.padStart(12)}/s ${((ms * 1e6) / count).toFixed(0).padStart(8)} ns each`);
}

async function timed(what: string, count: number, work: () => Promise<void> | void): Promise<void> {
  const began = performance.now();
  await work();
  print(what, count, performance.now() - began);
}

async function produceAndRead(client: Client, where: string): Promise<void> {
  const producer = client.producer({ ack: "written" });
  const count = 500_000;
  for (let round = 0; round < 2; round++) {
    await timed(`${where}: send, written, with room()`, count, async () => {
      for (let i = 0; i < count; i++) {
        await producer.room();
        void producer.send(TOPIC, record, { partition: 0 });
      }
      await producer.flush();
    });
  }
  const [{ offset: from }] = await client.offsetsAt(TOPIC, "latest");
  for (const batch of [1, 100]) {
    const batches = 2000;
    await timed(`${where}: batch of ${batch}, forced, one after the other`, batches, async () => {
      const forced = client.producer();
      for (let i = 0; i < batches; i++) await forced.batch(TOPIC, new Array(batch).fill(record), { partition: 0 });
      await forced.close();
    });
  }
  const wanted = from - count;
  let read = 0;
  await timed(`${where}: replay, batch by batch`, count, async () => {
    for await (const batch of client.replay(TOPIC, { from: wanted })) {
      for (const payload of batch) read += payload.length;
      if (read >= count * 128) break;
    }
  });
  const typed = client.topic(TOPIC, { codec: bytes() });
  read = 0;
  await timed(`${where}: replay, typed records`, count, async () => {
    for await (const { value } of typed.replay({ from: wanted }).records()) {
      read += value.length;
      if (read >= count * 128) break;
    }
  });
}

interface Order {
  readonly id: string;
  readonly apples: number;
  readonly note: string;
}
const order: Order = { id: "order-4711", apples: 3, note: "x".repeat(60) };

async function codecs(): Promise<void> {
  const plain: Codec<Order> = json<Order>();
  const wrapped: EnvelopeCodec<Order> = envelope(plain);
  const head = { key: "order-4711", headers: { trace: "0af7651916cd43dd" }, timestampMs: 1_750_000_000_000 };
  const count = 500_000;
  const encoded = plain.encode(order);
  const sealed = wrapped.seal({ value: order, ...head });
  for (const round of ["", " again"]) {
    await timed(`json, ${encoded.length} bytes: encode${round}`, count, () => {
      for (let i = 0; i < count; i++) plain.encode(order);
    });
    await timed(`json: decode${round}`, count, () => {
      for (let i = 0; i < count; i++) plain.decode(encoded);
    });
    await timed(`envelope of it, key and a header, ${sealed.length} bytes: seal${round}`, count, () => {
      for (let i = 0; i < count; i++) wrapped.seal({ value: order, ...head });
    });
    await timed(`envelope: open${round}`, count, () => {
      for (let i = 0; i < count; i++) wrapped.open(sealed);
    });
  }
}

const base = await mkdtemp(join(tmpdir(), "millrace-bench-"));
const local = await openClient({ dir: base, topics: { [TOPIC]: 1 } });
await produceAndRead(local, "embedded");
await local.close();
await rm(base, { recursive: true });
if (process.env.MILLRACE_BROKER !== undefined) {
  const remote = await connect({ broker: process.env.MILLRACE_BROKER });
  await produceAndRead(remote, "broker");
  await remote.close();
}
await codecs();
