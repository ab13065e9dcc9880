// A case of PRODUCE over loopback: each sample has a server of its own on an empty directory, warmed up by a load that is not
// counted (a broker that runs for years is not measured by its first tenth of a second), then the load that is.

import type { Case, Sample, Side } from "./figures.js";
import { OTHERS } from "./report.js";
import { type ServerKind, type ServerSetup, serverKinds, TOPIC } from "./servers.js";
import { inDirectory, loadServer, type ServerLoad, type Stand, warmMemory } from "./stand.js";
import { commandLine, type Flags } from "./tools.js";

export interface ProduceLoad {
  readonly label: string;
  readonly setup: ServerSetup;
  readonly flush: string;
  /** For loadgen, without its length. */
  readonly load: Flags;
  readonly requests?: number;
  readonly seconds?: number;
  readonly warmupRequests: number;
  /** Requests of one record before those: they take little memory, and afterwards all code is compiled. */
  readonly compileRequests?: number;
  /** What a sample stores, about: so much memory is touched before. */
  readonly bytes: number;
}

export function produceCase(stand: Stand, what: ProduceLoad, kinds: readonly ServerKind[] = serverKinds): Case {
  const { label, flush, requests, seconds } = what;
  const sample = requests !== undefined ? `${requests} requests` : `${seconds} s`;
  return { label, flush, unit: "requests/s", sample, sides: kinds.map((kind) => sideOf(stand, what, kind)) };
}

function sideOf(stand: Stand, what: ProduceLoad, kind: ServerKind): Side {
  const load = { topic: TOPIC, ...what.load };
  const length = what.requests !== undefined ? { requests: what.requests } : { seconds: what.seconds };
  return {
    name: kind.name,
    command: `${kind.command(what.setup)}; ${commandLine("loadgen", { ...load, ...length })}`,
    measure: () =>
      inDirectory(stand, async (directory) => {
        await warmMemory(stand, what.bytes);
        const server = await kind.start(stand, directory, what.setup);
        try {
          const { compileRequests, warmupRequests } = what;
          if (compileRequests) await loadServer(stand, server, { ...load, records: 1, requests: compileRequests });
          await loadServer(stand, server, { ...load, requests: warmupRequests });
          return produceSample(await loadServer(stand, server, { ...load, ...length }));
        } finally {
          await server.kill();
        }
      }),
  };
}

export function produceSample({ load, serverCpu, othersCores, stolenCores }: ServerLoad): Sample {
  return {
    value: load.requestsPerSecond,
    details: {
      "payload MB/s": load.payloadBytesPerSecond / 1e6,
      "p50 µs": load.latency.p50Us,
      "p99 µs": load.latency.p99Us,
      "p99.9 µs": load.latency.p999Us,
      "max µs": load.latency.maxUs,
      "server CPU µs/request": (serverCpu / load.requests) * 1e6,
      "client cores": load.cpu.fraction,
      [OTHERS]: othersCores + stolenCores,
    },
    latency: load.latency,
  };
}
