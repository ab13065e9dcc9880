// How many requests does one connection get through that keeps 256 of them in flight: the broker's own speed, with as little waiting
// and as few system calls as there can be.

import { produceCase } from "./lib/produce-case.js";
import type { Question } from "./lib/question.js";
import { usual } from "./lib/servers.js";

const RECORDS = 10;
const RECORD_BYTES = 128;

export const producePipelined: Question = {
  name: "produce-pipelined",
  title: "PRODUCE, one connection, 256 requests in flight",
  about:
    "Requests of 10 × 128 bytes over loopback, closed loop, acknowledged when written. Client and server have a core each. The floor is a " +
    "single-threaded epoll server that cuts frames, checks, sums and copies into a mapping whose pages a helper thread prepares.",
  ask: async (stand, measure) => {
    const requests = stand.quick ? 300_000 : 1_000_000;
    const load = { connections: 1, depth: 256, records: RECORDS, size: RECORD_BYTES, ack: "written" };
    const setups = [usual, { ...usual, format: "plain" as const }, { ...usual, mode: "FILE_CHANNEL" as const }];
    for (const setup of stand.quick ? setups.slice(0, 2) : setups) {
      const label = `${setup.mode}, ${setup.format}, 10 × 128 B`;
      const bytes = requests * RECORDS * (RECORD_BYTES + 8);
      await measure(
        produceCase(stand, { label, setup, flush: "WRITTEN", load, requests, warmupRequests: 100_000, bytes }),
      );
    }
  },
};
