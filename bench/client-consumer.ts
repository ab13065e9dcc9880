// What does the client take for each record it receives, and how much of what the broker serves does it keep up with: a topic read from
// start to end through `replay()`, its records one by one, and a consumer's polls, beside a load generator that looks at nothing.

import type { Case, Sample, Side } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { OTHERS } from "./lib/report.js";
import type { ServerProcess } from "./lib/server-process.js";
import { startBroker, TOPIC, usual } from "./lib/servers.js";
import { runSide } from "./lib/side.js";
import { inDirectory, loadServer, type Stand, warmMemory } from "./lib/stand.js";
import { commandLine } from "./lib/tools.js";
import type { ConsumeSample } from "./sides/consume.js";
import type { RawSocketSample } from "./sides/raw-socket.js";

const LOG_BYTES = 256 << 20;
/** What a client asks for at first, and what it asks for when its reader is quick. */
const USUAL_BYTES = 1 << 20;
const LARGE_BYTES = 4 << 20;
const BATCH_BYTES = 64 << 10;

interface Way {
  readonly name: string;
  readonly by: "batches" | "ranges" | "records" | "poll";
  readonly verification: "native" | "javascript";
  readonly release?: boolean;
  /** Undefined: as much as the client wants. */
  readonly maxBytes?: number;
}

const WAYS: readonly Way[] = [
  { name: "replay(), batches", by: "batches", verification: "native" },
  { name: "replay(), batches released", by: "batches", verification: "native", release: true },
  { name: "replay(), ranges, released", by: "ranges", verification: "native", release: true },
  { name: "replay(), batches of 1 MiB", by: "batches", verification: "native", maxBytes: USUAL_BYTES },
  { name: "replay().records()", by: "records", verification: "native" },
  { name: "client.consumer(), poll()", by: "poll", verification: "native" },
  { name: "client.consumer(), poll(), released", by: "poll", verification: "native", release: true },
];
/** As it is where there is no addon; without sums it makes no difference. */
const IN_JAVASCRIPT: Way = { name: "replay(), batches, in JavaScript", by: "batches", verification: "javascript" };

interface Filled {
  readonly server: ServerProcess;
  readonly recordBytes: number;
  readonly records: number;
}

async function fill(stand: Stand, server: ServerProcess, recordBytes: number): Promise<Filled> {
  const each = Math.floor(BATCH_BYTES / recordBytes);
  const requests = Math.ceil(LOG_BYTES / (each * (recordBytes + 8)));
  const load = { port: server.port, topic: TOPIC, depth: 16, records: each, size: recordBytes, requests };
  await stand.tools.load(load);
  return { server, recordBytes, records: requests * each };
}

function consumed(stand: Stand, { server }: Filled, way: Way, measure: string, seconds: number) {
  const broker = `127.0.0.1:${server.port}`;
  return runSide<ConsumeSample>(stand, "consume", {
    broker,
    topic: TOPIC,
    by: way.by,
    "max-bytes": way.maxBytes ?? 0,
    seconds,
    measure,
    verification: way.verification,
    release: String(way.release ?? false),
  });
}

const sideCommand = ({ by, verification, release, maxBytes }: Way, measure: string): string =>
  commandLine("bench/sides/consume", {
    by,
    "max-bytes": maxBytes ?? 0,
    measure,
    verification,
    release: String(release ?? false),
  });

function clientSides(stand: Stand, filled: Filled, seconds: number): Side[] {
  const ways = storedHeader(filled.server) === 8 ? [...WAYS, IN_JAVASCRIPT] : WAYS;
  return ways.map((way) => ({
    name: way.name,
    command: sideCommand(way, "time"),
    measure: async (): Promise<Sample> => {
      const { records, payloadBytes, seconds: took, cpuSeconds } = await consumed(stand, filled, way, "time", seconds);
      return {
        value: payloadBytes / took / 1e9,
        details: { "records/s": records / took, "client ns/record": (cpuSeconds / records) * 1e9 },
      };
    },
  }));
}

/** What Node takes for the bytes alone, wherever they go. */
function socketSides(stand: Stand, { server, recordBytes }: Filled, seconds: number): Side[] {
  const stored = recordBytes + storedHeader(server);
  return ["fresh", "reused"].map((memory) => {
    const flags = { topic: TOPIC, "max-bytes": LARGE_BYTES, "record-bytes": stored, memory };
    return {
      name: `socket of Node, ${memory} memory`,
      command: commandLine("bench/sides/raw-socket", flags),
      measure: async (): Promise<Sample> => {
        const broker = `127.0.0.1:${server.port}`;
        const sample = await runSide<RawSocketSample>(stand, "raw-socket", { ...flags, broker, seconds });
        const records = sample.storedBytes / stored;
        return {
          value: (records * recordBytes) / sample.seconds / 1e9,
          details: { "records/s": records / sample.seconds, "client ns/record": (sample.cpuSeconds / records) * 1e9 },
        };
      },
    };
  });
}

interface Yardstick {
  readonly name: string;
  readonly depth: number;
  readonly verify: boolean;
  readonly maxBytes: number;
}

/** The last is what the others are held against: it has as many requests in flight as a reader has, and answers as large. */
const YARDSTICKS: readonly Yardstick[] = [
  { name: "load generator, two in flight", depth: 2, verify: false, maxBytes: USUAL_BYTES },
  { name: "load generator, one in flight, 1 MiB", depth: 1, verify: false, maxBytes: USUAL_BYTES },
  { name: "load generator, one in flight, verifies sums", depth: 1, verify: true, maxBytes: LARGE_BYTES },
  { name: "load generator, one in flight", depth: 1, verify: false, maxBytes: LARGE_BYTES },
];

function yardsticks(stand: Stand, filled: Filled, seconds: number): Side[] {
  // There are no sums in `plain`.
  const fitting = YARDSTICKS.filter(({ verify }) => !verify || storedHeader(filled.server) === 8);
  return fitting.map((yardstick) => rawSide(stand, filled, yardstick, seconds));
}

function rawSide(
  stand: Stand,
  { server, recordBytes, records }: Filled,
  { name, depth, verify, maxBytes }: Yardstick,
  seconds: number,
): Side {
  const load = {
    api: "fetch",
    topic: TOPIC,
    "max-bytes": maxBytes,
    size: recordBytes,
    range: records,
    connections: 1,
    depth,
    verify,
    seconds,
    warmup: 0.2,
  };
  return {
    name,
    command: commandLine("loadgen", load),
    measure: async () => {
      const { load: result, othersCores, stolenCores } = await loadServer(stand, server, load);
      const bytes = result.payloadBytes ?? 0;
      // It counts bytes as stored; the others count payload.
      const payload = bytes * (recordBytes / (recordBytes + storedHeader(server)));
      const cpu = (result.cpu.user + result.cpu.system) * (seconds / (seconds + load.warmup));
      const details = { "client ns/record": (cpu / payload) * recordBytes * 1e9, [OTHERS]: othersCores + stolenCores };
      return { value: payload / result.seconds / 1e9, details };
    },
  };
}

const headers = new WeakMap<ServerProcess, number>();
const storedHeader = (server: ServerProcess): number => headers.get(server) ?? 8;

function heapCase(stand: Stand, filled: Filled, label: string, seconds: number): Case {
  return {
    label,
    flush: "none",
    unit: "bytes",
    sample: `${seconds} s`,
    // In larger batches garbage is collected within each, and there is none to be looked at.
    sides: WAYS.filter(({ maxBytes }) => maxBytes === undefined).map((way) => ({
      name: way.name,
      command: sideCommand({ ...way, maxBytes: USUAL_BYTES }, "memory"),
      measure: async () => {
        const { heapBytesPerRecord, records } = await consumed(
          stand,
          filled,
          { ...way, maxBytes: USUAL_BYTES },
          "memory",
          seconds,
        );
        return { value: heapBytesPerRecord, details: { records } };
      },
    })),
  };
}

export const clientConsumer: Question = {
  name: "client-consumer",
  title: "The client reading a topic, in records of 1 KiB and of 128 bytes",
  about:
    `Over loopback, one connection, answers as large as the client asks for (up to ${LARGE_BYTES >> 20} MiB) unless the row says it, through a log of ${LOG_BYTES >> 20} MiB in the page cache from start to end, again and ` +
    "again. The client is the package's, in a process of its own, looks at every record and, with crc32c, has verified its sum, by the addon or in " +
    "JavaScript; *released* says that it gives each batch back, *ranges* that it looks at records where they lie, without a view of each. The load " +
    "generator takes answers of 4 MiB, or of 1, into one small buffer and looks at nothing, or at the sums alone; a reader has one request in flight, as " +
    "it knows the next offset only from the answer. The *socket of Node* is a program that receives the same answers over `node:net`, into memory that is new for each (as " +
    "it must be for a reader whose records may be kept) or always the same, and looks at nothing but their length. Heap: what the client allocates for a record, without the " +
    "bytes themselves, which are views.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 1 : 3;
    for (const recordBytes of [1024, 128]) {
      for (const format of ["crc32c", "plain"] as const) {
        await inDirectory(stand, async (directory) => {
          await warmMemory(stand, LOG_BYTES);
          const server = await startBroker(stand, directory, { ...usual, format, recordBytes });
          headers.set(server, format === "plain" ? 4 : 8);
          try {
            const filled = await fill(stand, server, recordBytes);
            await measure({
              label: `${recordBytes} bytes, ${format}`,
              flush: "none",
              unit: "GB/s",
              sample: `${seconds} s`,
              sides: [
                ...clientSides(stand, filled, seconds),
                ...socketSides(stand, filled, seconds),
                ...yardsticks(stand, filled, seconds),
              ],
            });
            if (recordBytes === 128 && format === "crc32c") {
              await measure(heapCase(stand, filled, "heap for each record, 128 bytes", seconds));
            }
          } finally {
            await server.kill();
          }
        });
      }
    }
  },
};
