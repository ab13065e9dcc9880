// What do the sums cost: the same load on a broker that stores `crc32c` and on one that stores `plain`.

import { produceCase } from "./lib/produce-case.js";
import type { Question } from "./lib/question.js";
import { brokerFlags, type ServerKind, type ServerSetup, startBroker, usual } from "./lib/servers.js";
import { SAMPLE_BYTES_MAX } from "./lib/stand.js";
import { argumentsOf } from "./lib/tools.js";

const kinds: readonly ServerKind[] = (["crc32c", "plain"] as const).map((format) => ({
  name: format,
  start: (stand, directory, setup) => startBroker(stand, directory, { ...setup, format }),
  command: (setup: ServerSetup) => ["node dist/broker.js", ...argumentsOf(brokerFlags({ ...setup, format }))].join(" "),
}));

export const sums: Question = {
  name: "sums",
  title: "What sums cost",
  about:
    "The same PRODUCE over loopback, closed loop, acknowledged when written, on a broker that stores a sum with each record (`crc32c`) and on one that " +
    "does not (`plain`); a ratio is the part of the speed that is left with sums. Reading costs the broker nothing: it sends what lies in the file. " +
    "What sums cost a recovery is in *recovery*, what they cost a client in *client-consumer*.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 1 : 4;
    const modes = stand.quick ? (["MAPPED"] as const) : (["MAPPED", "FILE_CHANNEL"] as const);
    const sizes = [
      { records: 10, size: 128 },
      { records: 64, size: 1024 },
    ];
    for (const mode of modes) {
      for (const { records, size } of sizes) {
        const load = { connections: 1, depth: 64, records, size, ack: "written" };
        const label = `${mode}, 64 in flight, ${records} × ${size} B`;
        // Memory goes round, as in a broker that has run for a while.
        const setup = { ...usual, mode, keepSegments: 2 };
        const warmupRequests = Math.round(500_000 / records);
        const what = { label, setup, flush: "WRITTEN", load, seconds, warmupRequests, bytes: SAMPLE_BYTES_MAX };
        await measure(produceCase(stand, what, kinds));
      }
    }
  },
};
