// Reads a topic from start to end through the client, again and again, and prints what that took.
//
//   node consume.js --broker HOST:PORT --topic NAME --by batches|ranges|records|poll --max-bytes N --seconds N --measure time|memory
//                   --verification native|javascript --release true|false
//
//   batches  `replay()`, every record of each batch looked at
//   ranges   the same by `batch.ranges`, in `batch.bytes`: no view is made of a record
//   records  `replay().records()`
//   poll     `client.consumer()`, one poll at a time
//
// `max-bytes` 0 leaves to the client how much it asks for.
//
// `release` gives each batch back when its records were looked at; not with `records`, which gives none to release.
//
// `memory` looks at the heap before and after each batch, and leaves out those in which garbage was collected.

import { getHeapStatistics } from "node:v8";
import { type Client, connect, type RecordBatch, verification } from "../../src/client.js";
import { printResult, sideFlags } from "../lib/side.js";

export interface ConsumeSample {
  readonly records: number;
  readonly payloadBytes: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** On the heap, for each record; only of `memory`. */
  readonly heapBytesPerRecord: number;
}

const flags = sideFlags("broker", "topic", "by", "max-bytes", "seconds", "measure", "verification", "release");
const topic = flags.topic;
const maxBytes = Number(flags["max-bytes"]) || undefined;
const watchesHeap = flags.measure === "memory";
const inPlace = flags.by === "ranges";
const releases = flags.release === "true";

let records = 0;
let payloadBytes = 0;
let lookedAt = 0;
let heapBytes = 0;
let heapBefore = 0;
let recordsBefore = 0;
/** Kept, so that looking at a record is not optimised away. */
let seen = 0;

function look(payload: Uint8Array): void {
  records++;
  payloadBytes += payload.length;
  seen ^= payload[0] as number;
}

/** Between two batches. */
function lookAtHeap(): void {
  const now = getHeapStatistics().used_heap_size;
  // Less than before: garbage was collected in between.
  if (heapBefore > 0 && now > heapBefore) {
    heapBytes += now - heapBefore;
    lookedAt += records - recordsBefore;
  }
  recordsBefore = records;
  heapBefore = getHeapStatistics().used_heap_size;
}

function lookInPlace({ bytes, ranges }: RecordBatch): void {
  for (let i = 0; i < ranges.length; i += 2) {
    const from = ranges[i] as number;
    records++;
    payloadBytes += (ranges[i + 1] as number) - from;
    seen ^= bytes[from] as number;
  }
}

function take(batch: RecordBatch): void {
  if (inPlace) lookInPlace(batch);
  else for (const payload of batch) look(payload);
  if (releases) batch.release();
  if (watchesHeap) lookAtHeap();
}

async function replayed(client: Client): Promise<void> {
  for await (const batch of client.replay(topic, { maxBytes })) take(batch);
}

const ways: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  batches: replayed,
  ranges: replayed,
  records: async (client) => {
    let batch = 0;
    for await (const { payload } of client.replay(topic, { maxBytes }).records()) {
      look(payload);
      if (watchesHeap && ++batch % 512 === 0) lookAtHeap();
    }
  },
  poll: async (client) => {
    const consumer = await client.consumer({ topic, partition: 0, maxBytes });
    while (consumer.lag > 0) take(await consumer.poll());
    await consumer.close();
  },
};

async function pass(client: Client): Promise<void> {
  const way = ways[flags.by];
  if (way === undefined) throw new Error(`--by ${flags.by} is none of ${Object.keys(ways).join(", ")}`);
  await way(client);
}

process.env.MILLRACE_VERIFICATION = flags.verification;
if ((await verification()) !== flags.verification)
  throw new Error(`there is no ${flags.verification} verification here`);
const client = await connect({ broker: flags.broker });
await pass(client); // compiled and warm
records = payloadBytes = lookedAt = heapBytes = heapBefore = recordsBefore = 0;
const cpu = process.cpuUsage();
const begun = performance.now();
while (performance.now() - begun < Number(flags.seconds) * 1000) await pass(client);
const seconds = (performance.now() - begun) / 1000;
const { user, system } = process.cpuUsage(cpu);
await client.close();
if (seen < 0) throw new Error("a byte is not negative");
printResult({
  records,
  payloadBytes,
  seconds,
  cpuSeconds: (user + system) / 1e6,
  heapBytesPerRecord: lookedAt === 0 ? 0 : heapBytes / lookedAt,
} satisfies ConsumeSample);
