// How fast do records leave, and what does it cost: FETCH of 64 KiB from the page cache, from the file to the socket or through memory.

import type { Case, Sample, Side } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { OTHERS } from "./lib/report.js";
import type { ServerProcess } from "./lib/server-process.js";
import { type ServerKind, type ServerSetup, serverKinds, TOPIC, usual } from "./lib/servers.js";
import { inDirectory, loadServer, type Stand, warmMemory } from "./lib/stand.js";
import { commandLine, type Flags } from "./lib/tools.js";

const RECORDS_EACH = 100;
const RECORD_BYTES = 128;
/** Larger than the processor's caches, smaller than anybody's page cache. */
const LOG_BYTES = 512 << 20;
const MAX_BYTES = 64 << 10;

/** Fills the server's log with records of one size, and says how many. */
async function fill(stand: Stand, server: ServerProcess): Promise<number> {
  const requests = Math.ceil(LOG_BYTES / (RECORDS_EACH * (RECORD_BYTES + 8)));
  await stand.tools.load({
    port: server.port,
    topic: TOPIC,
    depth: 64,
    records: RECORDS_EACH,
    size: RECORD_BYTES,
    requests,
  });
  return requests * RECORDS_EACH;
}

interface Running {
  readonly kind: ServerKind;
  readonly setup: ServerSetup;
  readonly name: string;
  readonly server: ServerProcess;
  readonly records: number;
}

function sideOf(stand: Stand, running: Running, flags: Flags): Side {
  const load = {
    api: "fetch",
    topic: TOPIC,
    "max-bytes": MAX_BYTES,
    size: RECORD_BYTES,
    range: running.records,
    ...flags,
  };
  return {
    name: running.name,
    command: `${running.kind.command(running.setup)}; ${commandLine("loadgen", load)}`,
    measure: async (): Promise<Sample> => {
      const { load: result, serverCpu, othersCores, stolenCores } = await loadServer(stand, running.server, load);
      const bytes = result.payloadBytes ?? 0;
      return {
        value: bytes / result.seconds / 1e9,
        details: {
          "requests/s": result.requestsPerSecond,
          "server CPU s/GiB": serverCpu / (bytes / 2 ** 30),
          "p50 µs": result.latency.p50Us,
          "p99 µs": result.latency.p99Us,
          "client cores": result.cpu.fraction,
          [OTHERS]: othersCores + stolenCores,
        },
      };
    },
  };
}

export const fetchQuestion: Question = {
  name: "fetch",
  title: "FETCH of 64 KiB from the page cache",
  about:
    `Over loopback, closed loop, through a log of ${LOG_BYTES >> 20} MiB from start to end and again. \`sendfile\` takes the bytes from the file to the ` +
    "socket; the heap path reads them into memory and sends them. The client takes what comes into its memory, and in the last case drops it in " +
    "the kernel, so that the server is what is measured.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 1 : 3;
    await inDirectory(stand, async (directory) => {
      const running: Running[] = [];
      try {
        for (const fetch of ["ZERO_COPY", "HEAP"] as const) {
          for (const kind of serverKinds) {
            const setup = { ...usual, fetch };
            await warmMemory(stand, LOG_BYTES);
            const server = await kind.start(stand, `${directory}/${kind.name}-${fetch}`, setup);
            const name = `${kind.name}, ${fetch === "HEAP" ? "heap" : "sendfile"}`;
            running.push({ kind, setup, name, server, records: 0 });
            running.push({ ...(running.pop() as Running), records: await fill(stand, server) });
          }
        }
        // Compared with the floor's sendfile, so it comes last.
        const order = [running[0], running[2], running[3], running[1]];
        const cases: [string, Flags][] = [
          ["one connection, one in flight", { connections: 1, depth: 1 }],
          ["one connection, 8 in flight", { connections: 1, depth: 8 }],
          ["8 connections, 4 in flight each", { connections: 8, depth: 4 }],
          ["8 connections, 4 in flight each, dropped by the client", { connections: 8, depth: 4, discard: true }],
        ];
        for (const [label, load] of stand.quick ? cases.slice(1, 2) : cases) {
          const one: Case = {
            label,
            flush: "none",
            unit: "GB/s",
            sample: `${seconds} s`,
            sides: order.map((each) => sideOf(stand, each, { ...load, seconds, warmup: 0.2 })),
          };
          await measure(one);
        }
      } finally {
        for (const { server } of running) await server.kill();
      }
    });
  },
};
