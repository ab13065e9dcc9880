// How long does a request take that comes when the broker has other things to do, too: at a quarter, a half and three quarters of what it
// can. For FORCED the disk alone stands beside it.

import { join } from "node:path";
import { commonCeiling, type Endpoint, type Load, openCase, withEndpoints } from "./lib/endpoints.js";
import type { Side } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { TOPIC, usual } from "./lib/servers.js";
import { inDirectory, type Stand } from "./lib/stand.js";
import { commandLine } from "./lib/tools.js";
import { fillLog } from "./wire-fetch.js";

const RECORD_BYTES = 128;
const CONNECTIONS = 64;
/** Requests that may wait on a connection behind a stall; more, and the loop would not be open. */
const DEPTH = 64;
const SHARES = [0.25, 0.5, 0.75];
const LOG_BYTES = 128 << 20;

/** One small write and one `fdatasync` after the other: what a promise of durability costs at least. */
function bareBarrier(stand: Stand): Side {
  const flags = { how: "reserved", size: RECORD_BYTES, count: stand.quick ? 1000 : 5000 };
  return {
    name: "bare fdatasync",
    command: commandLine("floor barrier", flags),
    measure: () =>
      inDirectory(stand, async (directory) => {
        const { latency } = await stand.tools.barrier({ path: join(directory, "barrier.log"), ...flags });
        const { p50Us, p99Us, p999Us, maxUs } = latency;
        const details = { "p50 µs": p50Us, "p99 µs": p99Us, "p99.9 µs": p999Us, "max µs": maxUs };
        return { value: p99Us, details, latency };
      }),
  };
}

export const latencyQuestion: Question = {
  name: "latency",
  title: "Latency at a quarter, a half and three quarters of the ceiling",
  about:
    `Open loop over ${CONNECTIONS} connections: requests of 1 × ${RECORD_BYTES} bytes, or fetches of 64 KiB, begin at fixed times and are counted from then. The ` +
    "ceiling is what the slower of both servers makes in a closed loop just before, warm, with one request in flight on each connection. With FORCED a bare `fdatasync` after each " +
    "write of as many bytes is what both are compared with: its 99th percentile against that of a request.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 1 : 5;
    const shares = stand.quick ? [0.5] : SHARES;
    const atShares = async (endpoints: readonly Endpoint[], load: Load, last?: Side): Promise<void> => {
      const ceiling = await commonCeiling(stand, endpoints, load);
      for (const share of shares) {
        const label = `${load.label}, ${share * 100} % of the ceiling`;
        const open: Load = { ...load, label, flags: { ...load.flags, depth: DEPTH } };
        await measure(openCase(stand, endpoints, open, share * ceiling, last));
      }
    };
    const modes = stand.quick ? (["MAPPED"] as const) : (["MAPPED", "FILE_CHANNEL"] as const);
    for (const mode of modes) {
      await withEndpoints(stand, { ...usual, mode, keepSegments: 2 }, async (endpoints) => {
        for (const { server } of endpoints) {
          await stand.tools.load({ port: server.port, topic: TOPIC, connections: 4, depth: 64, requests: 100_000 });
        }
        const flags = { connections: CONNECTIONS, depth: 1, records: 1, size: RECORD_BYTES };
        const written = { label: `PRODUCE, ${mode}`, flush: "WRITTEN", flags: { ...flags, ack: "written" }, seconds };
        await atShares(endpoints, written);
        const forced = { label: `PRODUCE, ${mode}`, flush: "FORCED", flags: { ...flags, ack: "forced" }, seconds };
        await atShares(endpoints, forced, bareBarrier(stand));
      });
    }
    await withEndpoints(stand, usual, async (endpoints) => {
      let range = 0;
      for (const endpoint of endpoints) range = await fillLog(stand, endpoint, LOG_BYTES);
      const flags = {
        api: "fetch",
        connections: CONNECTIONS,
        depth: 1,
        size: RECORD_BYTES,
        range,
        "max-bytes": 64 << 10,
      };
      await atShares(endpoints, { label: "FETCH of 64 KiB", flush: "none", flags, seconds });
    });
  },
};
