// What does a consumer cost that has caught up: how often it asks, and what the broker spends on that, when it waits and when it polls.

import { join } from "node:path";
import type { Case, Side } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { startBroker, TOPIC, usual } from "./lib/servers.js";
import { inDirectory, LOOPBACK_CONGESTION } from "./lib/stand.js";
import { commandLine, type Flags } from "./lib/tools.js";
import { threadsCpuSeconds, WatchedServer } from "./lib/watched-server.js";

const WAIT_MS = 500;
const LONG_WAIT_MS = 5_000;
const POLL_EVERY_MS = 10;

export const idleRequests: Question = {
  name: "idle-requests",
  title: "A consumer that has caught up",
  about:
    `One connection that asks for what follows the end of a log to which nothing is written. It waits ${WAIT_MS} ms or ${LONG_WAIT_MS / 1000} s with ` +
    "each request (FETCH v2), asks again after a pause (v1), or again as soon as it was answered. Each is compared with the waiting of " +
    `${WAIT_MS} ms. A record that comes meanwhile is seen by those who wait at once, and by who pauses half a pause later. *Longest pass*: the ` +
    "longest that the loop's thread ran without coming round, on a broker that is watched for it, which costs what the other one does not spend.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 3 : 15;
    const watchedSeconds = stand.quick ? 1 : 3;
    await inDirectory(stand, async (directory) => {
      const server = await startBroker(stand, directory, usual);
      const watched = await WatchedServer.start(
        stand,
        { "data.dir": join(directory, "watched"), topics: `${TOPIC}:1` },
        { loop: true },
      );
      try {
        for (const { port } of [server, watched]) {
          await stand.tools.load({ port, topic: TOPIC, requests: 1, size: 128 });
        }
        const sideOf = (name: string, flags: Flags): Side => {
          const load = { api: "fetch", topic: TOPIC, from: 1, drain: 60, ...flags, seconds };
          return {
            name,
            command: `node dist/broker.js; ${commandLine("loadgen", load)}`,
            measure: async () => {
              const before = await threadsCpuSeconds(server.pid);
              const began = performance.now();
              const { requests } = await stand.tools.idle({
                port: server.port,
                congestion: LOOPBACK_CONGESTION,
                ...load,
              });
              const passed = (performance.now() - began) / 1000;
              const cpu = (await threadsCpuSeconds(server.pid)) - before;
              await watched.look();
              await stand.tools.idle({
                port: watched.port,
                congestion: LOOPBACK_CONGESTION,
                ...load,
                seconds: watchedSeconds,
              });
              const { loop } = await watched.look();
              return {
                value: requests / passed,
                details: {
                  "server CPU µs/s": (cpu / passed) * 1e6,
                  "longest pass ms": loop?.longestRunMs ?? Number.NaN,
                },
              };
            },
          };
        };
        const one: Case = {
          label: "one consumer",
          flush: "none",
          unit: "requests/s",
          sample: `${seconds} s`,
          sides: [
            sideOf(`waits ${LONG_WAIT_MS / 1000} s`, { "max-wait": LONG_WAIT_MS }),
            sideOf(`asks every ${POLL_EVERY_MS} ms`, { rate: 1000 / POLL_EVERY_MS }),
            sideOf("asks all the time", {}),
            sideOf(`waits ${WAIT_MS} ms`, { "max-wait": WAIT_MS }),
          ],
        };
        await measure(one);
      } finally {
        await watched.stop();
        await server.kill();
      }
    });
  },
};
