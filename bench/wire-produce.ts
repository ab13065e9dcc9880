// PRODUCE end to end as programs use it: few connections and many, waiting for each answer or not, as fast as it goes and at a pace.

import { bothLoops, withEndpoints } from "./lib/endpoints.js";
import type { Question } from "./lib/question.js";
import { usual } from "./lib/servers.js";

const RECORD_BYTES = 128;
const PIPELINED = 16;
const WARM_UP = 100_000;

export const wireProduce: Question = {
  name: "wire-produce",
  title: "PRODUCE end to end, by connections and depth",
  about:
    `Requests of 1 × ${RECORD_BYTES} bytes over loopback, acknowledged when written, to servers that run all the time and keep two segments. Closed ` +
    `loop: one request in flight on each connection, or ${PIPELINED}. Open loop: requests begin at fixed times, at half of what the slower of both ` +
    "can in a closed loop, and the 99th percentile is counted from when a request was due.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 1 : 4;
    const modes = stand.full ? (["MAPPED", "FILE_CHANNEL"] as const) : (["MAPPED"] as const);
    for (const mode of modes) {
      await withEndpoints(stand, { ...usual, mode, keepSegments: 2 }, async (endpoints) => {
        for (const { server } of endpoints) {
          const load = { port: server.port, topic: "bench", connections: 4, depth: 64, requests: WARM_UP };
          await stand.tools.load(load);
        }
        for (const connections of stand.quick ? [64] : [1, 64, 1000]) {
          for (const depth of stand.quick ? [1] : [1, PIPELINED]) {
            const what = `${mode}, ${connections} connection${connections === 1 ? "" : "s"}, ${depth} in flight each`;
            const flags = { connections, depth, records: 1, size: RECORD_BYTES, ack: "written" };
            await bothLoops(stand, endpoints, measure, { label: what, flush: "WRITTEN", flags, seconds }, PIPELINED);
          }
        }
      });
    }
  },
};
