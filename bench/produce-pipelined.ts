// How many requests does one connection get through that keeps 256 of them in flight: the broker's own speed, with as little waiting
// and as few system calls as there can be.

import { produceCase } from "./lib/produce-case.js";
import type { Question } from "./lib/question.js";
import { type ServerSetup, usual } from "./lib/servers.js";
import { SAMPLE_BYTES_MAX } from "./lib/stand.js";

const RECORDS = 10;
const RECORD_BYTES = 128;
/** With fewer, a fifth of the broker's processor time in a short sample is the compiler's. */
const COMPILE_REQUESTS = 500_000;
const WARMUP_REQUESTS = 60_000;

export const producePipelined: Question = {
  name: "produce-pipelined",
  title: "PRODUCE, one connection, 256 requests in flight",
  about:
    "Requests of 10 × 128 bytes over loopback, closed loop, acknowledged when written. Client and server have a core each. The floor is a " +
    "single-threaded epoll server that cuts frames, checks, sums and copies into a mapping whose pages a helper thread prepares, 64 MiB ahead as the " +
    "broker does (or makes one `pwrite` for each receive); it seals and forces nothing. The short samples stay within the memory that the machine has at hand; the long " +
    "ones go on with the oldest segments removed, so that memory goes round.",
  ask: async (stand, measure) => {
    const load = { connections: 1, depth: 256, records: RECORDS, size: RECORD_BYTES, ack: "written" };
    const ask = (setup: ServerSetup, requests: number, what: string): Promise<void> => {
      const label = `${setup.mode}, ${setup.format}, ${what}`;
      const bytes = Math.min(requests * RECORDS * (RECORD_BYTES + 8), SAMPLE_BYTES_MAX);
      return measure(
        produceCase(stand, {
          label,
          setup,
          flush: "WRITTEN",
          load,
          requests,
          compileRequests: COMPILE_REQUESTS,
          warmupRequests: WARMUP_REQUESTS,
          bytes,
        }),
      );
    };
    for (const mode of ["MAPPED", "FILE_CHANNEL"] as const) {
      for (const format of stand.quick ? (["crc32c"] as const) : (["crc32c", "plain"] as const)) {
        await ask({ ...usual, mode, format }, stand.quick ? 150_000 : 250_000, "short");
      }
      if (!stand.quick) await ask({ ...usual, mode, keepSegments: 2 }, 3_000_000, "long");
    }
  },
};
