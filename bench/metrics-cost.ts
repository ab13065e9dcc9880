// What it costs to be watched: the broker with its side port, scraped and asked for its last seconds each second, against the
// broker without one.

import { produceCase } from "./lib/produce-case.js";
import type { Question } from "./lib/question.js";
import type { ServerProcess } from "./lib/server-process.js";
import { type ServerKind, startBroker, usual } from "./lib/servers.js";

const EACH_MS = 1_000;

/** Until the server is gone. An answer that is none is a failure: nothing would be measured. */
async function watch({ opsPort }: ServerProcess): Promise<void> {
  for (let next = 0; ; ) {
    for (const path of ["/metrics", `/api/rates?since=${next}`]) {
      const answer = await fetch(`http://127.0.0.1:${opsPort}${path}`).catch(() => undefined);
      if (answer === undefined) return;
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
      const text = await answer.text().catch(() => "");
      if (path !== "/metrics" && text !== "") next = (JSON.parse(text) as { next: number }).next;
    }
    await new Promise((resolve) => setTimeout(resolve, EACH_MS));
  }
}

const kinds: readonly ServerKind[] = [
  {
    name: "scraped each second",
    start: async (stand, directory, setup) => {
      const server = await startBroker(stand, directory, setup, { "ops-enabled": "true", "ops-port": 0 });
      void watch(server);
      return server;
    },
    command: () => "node dist/broker.js --ops-port 0; curl /metrics and /api/rates each second",
  },
  {
    name: "without a side port",
    start: startBroker,
    command: () => "node dist/broker.js --ops-enabled false",
  },
];

export const metricsCost: Question = {
  name: "metrics-cost",
  title: "What metrics cost",
  about:
    "The same load on a broker that is scraped each second, numbers for charts included, and on one without a side port. Requests and barriers are " +
    "timed in both: the clock is read twice for each turn in any case.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 2 : 5;
    const loads = [
      {
        label: "64 connections, 1 × 128 B",
        load: { connections: 64, depth: 1, records: 1, size: 128, ack: "written" },
        rate: 250_000,
      },
      {
        label: "1 connection, 256 in flight, 1 × 128 B",
        load: { connections: 1, depth: 256, records: 1, size: 128, ack: "written" },
        rate: 700_000,
      },
    ];
    for (const { label, load, rate } of loads) {
      const bytes = seconds * rate * 136;
      const what = { label, setup: usual, flush: "WRITTEN", load, seconds, warmupRequests: 50_000, bytes };
      await measure(produceCase(stand, what, kinds));
    }
  },
};
