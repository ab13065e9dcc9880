// How many requests get through when many clients each wait for their answer before they send again: system calls and wake-ups weigh
// most here.

import { produceCase } from "./lib/produce-case.js";
import type { Question } from "./lib/question.js";
import { usual } from "./lib/servers.js";

export const produceConnections: Question = {
  name: "produce-connections",
  title: "PRODUCE, 64 connections, one request each in flight",
  about: "Requests of 1 × 128 bytes over loopback, closed loop, acknowledged when written.",
  ask: async (stand, measure) => {
    const load = { connections: 64, depth: 1, records: 1, size: 128, ack: "written" };
    const seconds = stand.quick ? 1 : 4;
    for (const format of stand.quick ? (["crc32c"] as const) : (["crc32c", "plain"] as const)) {
      const label = `MAPPED, ${format}, 1 × 128 B`;
      const setup = { ...usual, format };
      const bytes = seconds * 250_000 * 136;
      await measure(
        produceCase(stand, { label, setup, flush: "WRITTEN", load, seconds, warmupRequests: 50_000, bytes }),
      );
    }
  },
};
