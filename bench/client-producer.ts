// What does a record cost that a program sends: the producer, its batches and the bare connection against the load generator, which
// does nothing but put prepared bytes on a socket; and what each of them leaves for the garbage collector.

import { machineCpu } from "./lib/cpu.js";
import type { Case, Sample, Side } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { OTHERS } from "./lib/report.js";
import type { ServerProcess } from "./lib/server-process.js";
import { startBroker, TOPIC, usual } from "./lib/servers.js";
import { runSide } from "./lib/side.js";
import { inDirectory, loadServer, type Stand, warmMemory } from "./lib/stand.js";
import { commandLine } from "./lib/tools.js";

const SIZE = 128;
/** What the producer's batches of 256 KiB hold of such records; the others send as many in a request. */
const BATCH = 1985;
const DEPTH = 5;
const WARMUP = 200_000;

const WAYS = [
  { how: "text", name: "send, text" },
  { how: "bytes", name: "send, bytes" },
  { how: "keyed", name: "send, text with a key" },
  { how: "batch", name: "batch" },
  { how: "connection", name: "connection" },
] as const;
type How = (typeof WAYS)[number]["how"];

interface ProducerRun {
  readonly records: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly heapBytes: number;
}

interface Load {
  readonly format: "crc32c" | "plain";
  readonly ack: "written" | "forced";
  readonly records: number;
}

async function onBroker<T>(stand: Stand, load: Load, action: (server: ServerProcess) => Promise<T>): Promise<T> {
  return inDirectory(stand, async (directory) => {
    await warmMemory(stand, (load.records + WARMUP) * (SIZE + 8));
    const server = await startBroker(stand, directory, { ...usual, format: load.format });
    try {
      return await action(server);
    } finally {
      await server.kill();
    }
  });
}

const sideFlags = ({ ack, records }: Load, how: How) => ({
  ...{ topic: TOPIC, how, records, warmup: WARMUP, batch: BATCH, depth: DEPTH, size: SIZE, ack },
});

function wayOf(stand: Stand, load: Load, { how, name }: (typeof WAYS)[number]): Side {
  const flags = sideFlags(load, how);
  return {
    name,
    command: `node dist/broker.js; ${commandLine("node sides/producer.js", flags)}`,
    measure: () =>
      onBroker(stand, load, async (server) => {
        const [machine, broker] = await Promise.all([machineCpu(), server.cpuSeconds()]);
        const began = performance.now();
        const run = await runSide<ProducerRun>(stand, "producer", { port: server.port, ...flags });
        const passed = (performance.now() - began) / 1000;
        const [machineAfter, brokerAfter] = await Promise.all([machineCpu(), server.cpuSeconds()]);
        const others = machineAfter.busy - machine.busy - (brokerAfter - broker) - run.cpuSeconds;
        return sampleOf(run.records, run.seconds, run.cpuSeconds, others / passed);
      }),
  };
}

function generator(stand: Stand, load: Load): Side {
  const flags = { topic: TOPIC, connections: 1, depth: DEPTH, records: BATCH, size: SIZE, ack: load.ack };
  const requests = Math.ceil(load.records / BATCH);
  return {
    name: "load generator",
    command: `node dist/broker.js; ${commandLine("loadgen", { ...flags, requests })}`,
    measure: () =>
      onBroker(stand, load, async (server) => {
        await loadServer(stand, server, { ...flags, requests: Math.ceil(WARMUP / BATCH) });
        const { load: result, othersCores } = await loadServer(stand, server, { ...flags, requests });
        const cpuSeconds = result.cpu.user + result.cpu.system;
        return sampleOf(requests * BATCH, result.seconds, cpuSeconds, othersCores);
      }),
  };
}

const sampleOf = (records: number, seconds: number, cpuSeconds: number, others: number): Sample => ({
  value: records / seconds,
  details: {
    "payload MB/s": (records * SIZE) / seconds / 1e6,
    "client CPU ns/record": (cpuSeconds / records) * 1e9,
    [OTHERS]: Math.max(0, others),
  },
});

function throughput(stand: Stand, load: Load): Case {
  return {
    label: `${SIZE} B, ${load.format}, one partition`,
    flush: load.ack === "written" ? "WRITTEN" : "FORCED",
    unit: "records/s",
    sample: `${load.records} records`,
    sides: [...WAYS.map((way) => wayOf(stand, load, way)), generator(stand, load)],
  };
}

/** Without a collection, so that what the heap has grown by is what was allocated. */
const NO_COLLECTION = ["--expose-gc", "--min-semi-space-size=1024", "--max-semi-space-size=1024"];

function allocations(stand: Stand): Case {
  const load: Load = { format: "crc32c", ack: "written", records: 100_000 };
  const side = ({ how, name }: (typeof WAYS)[number]): Side => {
    const flags = sideFlags(load, how);
    return {
      name,
      command: `node dist/broker.js; ${commandLine(`node ${NO_COLLECTION.join(" ")} sides/producer.js`, flags)}`,
      measure: () =>
        onBroker(stand, load, async ({ port }) => {
          const run = await runSide<ProducerRun>(stand, "producer", { port, ...flags }, NO_COLLECTION);
          return { value: run.heapBytes / run.records, details: {} };
        }),
    };
  };
  return {
    label: `allocated for each record of ${SIZE} B`,
    flush: "WRITTEN",
    unit: "bytes",
    sample: `${load.records} records`,
    sides: WAYS.map(side),
  };
}

export const clientProducer: Question = {
  name: "client-producer",
  title: "What a record costs that a program sends",
  about:
    "One process sends records over one connection to one partition. `send` is called for each and its promise not awaited (the program awaits " +
    `\`room()\` when there is none); \`batch\` sends ${BATCH} with a call, as many as a request of \`send\` holds; *connection* sends the same prepared region with ` +
    `${DEPTH} requests in flight, and the load generator does so in C++. Client and broker have a core each. Bytes allocated are on the ` +
    "JavaScript heap, counted in a process without a collection.",
  ask: async (stand, measure) => {
    const records = stand.quick ? 500_000 : 2_000_000;
    for (const format of ["crc32c", "plain"] as const)
      await measure(throughput(stand, { format, ack: "written", records }));
    await measure(throughput(stand, { format: "crc32c", ack: "forced", records }));
    await measure(allocations(stand));
  },
};
