// FETCH end to end as programs use it: few connections and many, waiting for each answer or not, as fast as it goes and at a pace.

import { bothLoops, type Endpoint, withEndpoints } from "./lib/endpoints.js";
import type { Question } from "./lib/question.js";
import { TOPIC, usual } from "./lib/servers.js";
import type { Stand } from "./lib/stand.js";

const RECORD_BYTES = 128;
const RECORDS_EACH = 100;
const LOG_BYTES = 256 << 20;
const PIPELINED = 4;
/** A page of a log, and what a consumer that is behind asks for. */
const MAX_BYTES = [4 << 10, 64 << 10];

/** Returns how many records there are. */
export async function fillLog(stand: Stand, { server }: Endpoint, bytes: number): Promise<number> {
  const requests = Math.ceil(bytes / (RECORDS_EACH * (RECORD_BYTES + 8)));
  const load = { port: server.port, topic: TOPIC, depth: 64, records: RECORDS_EACH, size: RECORD_BYTES, requests };
  await stand.tools.load(load);
  return requests * RECORDS_EACH;
}

export const wireFetch: Question = {
  name: "wire-fetch",
  title: "FETCH end to end, by connections and depth",
  about:
    `Through a log of ${LOG_BYTES >> 20} MiB in the page cache over loopback, each connection from another place on. Closed loop: one request in ` +
    `flight on each connection, or ${PIPELINED}. Open loop: requests begin at fixed times, at half of what the slower of both can in a closed loop, ` +
    "and the 99th percentile is counted from when a request was due.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 1 : 4;
    const fetches = stand.full ? (["ZERO_COPY", "HEAP"] as const) : (["ZERO_COPY"] as const);
    for (const fetch of fetches) {
      await withEndpoints(stand, { ...usual, fetch }, async (endpoints) => {
        let range = 0;
        for (const endpoint of endpoints) range = await fillLog(stand, endpoint, LOG_BYTES);
        for (const maxBytes of stand.quick ? MAX_BYTES.slice(1) : MAX_BYTES) {
          for (const connections of stand.quick ? [64] : [1, 64, 1000]) {
            for (const depth of stand.quick || !(stand.full || connections === 1) ? [1] : [1, PIPELINED]) {
              const path = fetch === "HEAP" ? "heap" : "sendfile";
              const flight = `${connections} connection${connections === 1 ? "" : "s"}, ${depth} in flight each`;
              const what = `${maxBytes >> 10} KiB, ${path}, ${flight}`;
              const flags = { api: "fetch", connections, depth, size: RECORD_BYTES, range, "max-bytes": maxBytes };
              await bothLoops(stand, endpoints, measure, { label: what, flush: "none", flags, seconds }, PIPELINED);
            }
          }
        }
      });
    }
  },
};
