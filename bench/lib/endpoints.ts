// Both servers, running beside each other for all cases of a question, and the loads on them: closed loop, which asks what they can, and
// open loop at a share of that, which asks what it is like to use them. One of them is loaded at a time.

import type { Case, Sample, Side } from "./figures.js";
import { OTHERS } from "./report.js";
import type { ServerProcess } from "./server-process.js";
import { type ServerKind, type ServerSetup, serverKinds, TOPIC } from "./servers.js";
import { inDirectory, loadServer, type Stand } from "./stand.js";
import { commandLine, type Flags } from "./tools.js";

export interface Endpoint {
  readonly name: string;
  readonly command: string;
  readonly server: ServerProcess;
}

/** What is the same in all cases of a load, and how they are named in the report. */
export interface Load {
  readonly label: string;
  readonly flush: string;
  /** For loadgen, without how long. */
  readonly flags: Flags;
  readonly seconds: number;
}

const PROBE_SECONDS = 0.6;
/** As long V8 compiles under a load that is new to it, on threads that take their time from the loop where there are two cores (seen: stalls of 40 ms). */
const WARM_SECONDS = 2;

export async function withEndpoints(
  stand: Stand,
  setup: ServerSetup,
  action: (endpoints: readonly Endpoint[]) => Promise<void>,
  kinds: readonly ServerKind[] = serverKinds,
): Promise<void> {
  await inDirectory(stand, async (directory) => {
    const endpoints: Endpoint[] = [];
    try {
      for (const kind of kinds) {
        const server = await kind.start(stand, `${directory}/${endpoints.length}`, setup);
        endpoints.push({ name: kind.name, command: kind.command(setup), server });
      }
      await action(endpoints);
    } finally {
      for (const { server } of endpoints) await server.kill();
    }
  });
}

/** What both of them can once they are warm: the lower of the two ceilings, in requests a second. */
export async function commonCeiling(stand: Stand, endpoints: readonly Endpoint[], { flags }: Load): Promise<number> {
  const rates: number[] = [];
  for (const { server } of endpoints) {
    const load = { topic: TOPIC, ...flags, warmup: WARM_SECONDS, seconds: PROBE_SECONDS };
    rates.push((await loadServer(stand, server, load)).load.requestsPerSecond);
  }
  return Math.min(...rates);
}

function detailsOf({
  load,
  serverCpu,
  othersCores,
  stolenCores,
}: Awaited<ReturnType<typeof loadServer>>): Sample["details"] {
  return {
    "payload MB/s": load.payloadBytesPerSecond / 1e6,
    "p50 µs": load.latency.p50Us,
    "p99 µs": load.latency.p99Us,
    "p99.9 µs": load.latency.p999Us,
    "max µs": load.latency.maxUs,
    "server CPU µs/request": (serverCpu / (load.requests + load.warmup)) * 1e6,
    "client cores": load.cpu.fraction,
    [OTHERS]: othersCores + stolenCores,
  };
}

export function closedCase(stand: Stand, endpoints: readonly Endpoint[], load: Load): Case {
  const flags = { topic: TOPIC, ...load.flags, warmup: 0.2, seconds: load.seconds };
  const sides = endpoints.map(
    ({ name, command, server }): Side => ({
      name,
      command: `${command}; ${commandLine("loadgen", flags)}`,
      measure: async () => {
        const done = await loadServer(stand, server, flags);
        return { value: done.load.requestsPerSecond, details: detailsOf(done), latency: done.load.latency };
      },
    }),
  );
  return { label: load.label, flush: load.flush, unit: "requests/s", sample: `${load.seconds} s`, sides };
}

/** The 99th percentile at a fixed rate, from when each request was due. `last`: a side that all are compared with instead of the floor. */
export function openCase(stand: Stand, endpoints: readonly Endpoint[], load: Load, rate: number, last?: Side): Case {
  // Three figures are enough to repeat it.
  const rounded = Number(rate.toPrecision(3));
  const flags = { topic: TOPIC, ...load.flags, rate: rounded, warmup: 0.2, seconds: load.seconds };
  const sides = endpoints.map(
    ({ name, command, server }): Side => ({
      name,
      command: `${command}; ${commandLine("loadgen", flags)}`,
      measure: async () => {
        const done = await loadServer(stand, server, flags);
        const details = { "requests/s": done.load.requestsPerSecond, ...detailsOf(done) };
        const { latency, generatorLag } = done.load;
        return {
          value: latency.p99Us,
          details: { ...details, "generator late p99 µs": generatorLag?.p99Us ?? Number.NaN },
          latency,
        };
      },
    }),
  );
  return {
    label: `${load.label}, p99`,
    flush: load.flush,
    unit: "µs",
    sample: `${load.seconds} s`,
    sides: last === undefined ? sides : [...sides, last],
  };
}

/**
 * As fast as it goes, and then at half of what the slower of both can. An open loop gets room for what a stall leaves behind, or it would become a
 * closed one: `roomDepth` requests in flight at least.
 */
export async function bothLoops(
  stand: Stand,
  endpoints: readonly Endpoint[],
  measure: (one: Case) => Promise<void>,
  load: Load & { readonly flags: { readonly depth: number } },
  roomDepth: number,
): Promise<void> {
  const closed: Load = { ...load, label: `${load.label}, closed loop` };
  await measure(closedCase(stand, endpoints, closed));
  const rate = 0.5 * (await commonCeiling(stand, endpoints, closed));
  const flags = { ...load.flags, depth: Math.max(load.flags.depth, roomDepth) };
  await measure(openCase(stand, endpoints, { ...load, label: `${load.label}, open loop`, flags }, rate));
}
