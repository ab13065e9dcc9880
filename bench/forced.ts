// What does durability cost, and how far do those who wait together share it: producers that wait for the disk, 1 to 200 of them.

import { join } from "node:path";
import type { Case } from "./lib/figures.js";
import { produceCase } from "./lib/produce-case.js";
import type { Question } from "./lib/question.js";
import { usual } from "./lib/servers.js";
import { inDirectory, type Stand } from "./lib/stand.js";
import { commandLine } from "./lib/tools.js";

const RECORD_BYTES = 128;

/** The disk alone, without a server: what one write and one barrier behind it cost. */
function bareBarriers(stand: Stand): Case {
  const count = stand.quick ? 1000 : 5000;
  const hows = ["msync", "mapped", "written", "growing", "reserved"] as const;
  return {
    label: `bare barriers, ${RECORD_BYTES} B each`,
    flush: "each write",
    unit: "barriers/s",
    sample: `${count} barriers`,
    sides: hows.map((how) => {
      const flags = { how, size: RECORD_BYTES, count };
      return {
        name: how,
        command: commandLine("floor barrier", flags),
        measure: () =>
          inDirectory(stand, async (directory) => {
            const result = await stand.tools.barrier({ path: join(directory, "barrier.log"), ...flags });
            const { p50Us, p99Us, p999Us, maxUs } = result.latency;
            const details = { "p50 µs": p50Us, "p99 µs": p99Us, "p99.9 µs": p999Us, "max µs": maxUs };
            return { value: result.barriersPerSecond, details };
          }),
      };
    }),
  };
}

export const forced: Question = {
  name: "forced",
  title: "PRODUCE, forced to disk",
  about:
    "Producers that send one request of 1 × 128 bytes and wait until it is forced, closed loop over loopback. One barrier covers everybody who " +
    "waits. The floor does the same group commit with `fdatasync` on a thread. Below: the disk alone, one small write and one barrier after the " +
    "other (`msync` and `mapped`: a store into a mapping of reserved blocks; `written`, `growing`, `reserved`: `pwrite` and `fdatasync` over blocks " +
    "that were written, not there, or reserved).",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 1 : 4;
    const modes = stand.quick ? (["MAPPED"] as const) : (["MAPPED", "FILE_CHANNEL"] as const);
    for (const mode of modes) {
      for (const connections of stand.quick ? [1, 64] : [1, 8, 64, 200]) {
        const what = {
          label: `${mode}, ${connections} producer${connections === 1 ? "" : "s"}`,
          setup: { ...usual, mode },
          flush: "FORCED",
          load: { connections, depth: 1, records: 1, size: RECORD_BYTES, ack: "forced" },
          seconds,
          warmupRequests: 50 * connections,
          bytes: 64 << 20,
        };
        await measure(produceCase(stand, what));
      }
    }
    await measure(bareBarriers(stand));
  },
};
