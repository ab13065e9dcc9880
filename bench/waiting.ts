// What does a fetch cost that waits: memory, processor time while nothing happens, and how long until the last of them is answered
// when a record comes.

import { setTimeout as sleep } from "node:timers/promises";
import { native } from "../src/native/binding.js";
import type { Case, Sample, Side } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { startFloor, TOPIC, usual } from "./lib/servers.js";
import { inDirectory, type Stand } from "./lib/stand.js";
import { Waiters, type WaitersSetup, type Woken, waitersCommand } from "./lib/waiters.js";
import { commandOf, threadsCpuSeconds, WatchedServer } from "./lib/watched-server.js";

const FETCHES = 100_000;
const RECORD_BYTES = 128;
/** Descriptors of the broker and of the waiting program beside their connections. */
const OTHER_DESCRIPTORS = 1_000;
const SETTLE_MS = 1_000;
/** Longer than the broker looks after a partition that was written to. */
const IDLE_SETTLE_MS = 3_000;
/** Several times the broker's slowest periodic work, which comes once in a second. */
const IDLE_SECONDS = 10;
/** Until everything that was asked has been read, for a server that cannot be asked. */
const TAKEN_MS = 500;

const settingsOf = (directory: string, connections: number) => ({
  "data.dir": directory,
  topics: `${TOPIC}:1`,
  "connections.max": connections + 10,
  // A connection with several requests holds more of them than by default is wise.
  "connection.requests.max": 1024,
});

/** Starts a broker with everything connected and nothing asked. */
async function withWaiters<T>(
  stand: Stand,
  setup: WaitersSetup,
  loop: boolean,
  action: (server: WatchedServer, waiters: Waiters) => Promise<T>,
): Promise<T> {
  return inDirectory(stand, async (directory) => {
    const server = await WatchedServer.start(stand, settingsOf(directory, setup.connections), { loop });
    let waiters: Waiters | undefined;
    try {
      waiters = await Waiters.open(stand, server.port, TOPIC, setup);
      return await action(server, waiters);
    } finally {
      await waiters?.close();
      await server.kill();
    }
  });
}

/** Everything is asked and waits: the first fetch of each connection, the others behind it. */
async function askAll(server: WatchedServer, waiters: Waiters, setup: WaitersSetup): Promise<void> {
  const before = (await server.look()).statistics.fetchRequests;
  await waiters.ask();
  for (;;) {
    const { statistics } = await server.look();
    const all = statistics.fetchRequests - before === setup.fetches;
    if (all && statistics.fetchesWaiting === Math.min(setup.connections, setup.fetches)) break;
    await sleep(20);
  }
  await sleep(SETTLE_MS);
  await waiters.checkQuiet();
}

function memoryCase(stand: Stand, setups: readonly [string, WaitersSetup][]): Case {
  const commandFor = (setup: WaitersSetup): string =>
    `${commandOf(settingsOf("", setup.connections))}; ${waitersCommand(setup)}`;
  const sides = setups.map(
    ([name, setup]): Side => ({
      name: `a fetch, ${name}`,
      command: commandFor(setup),
      measure: () =>
        withWaiters(stand, setup, false, async (server, waiters) => {
          const before = (await server.lookCollected()).rss;
          await askAll(server, waiters, setup);
          const { rss, statistics } = await server.lookCollected();
          return { value: (rss - before) / setup.fetches, details: { waiting: statistics.fetchesWaiting } };
        }),
    }),
  );
  const [[, first]] = setups;
  const connection: Side = {
    name: "a connection that asks for nothing",
    command: commandFor(first),
    measure: () =>
      inDirectory(stand, async (directory) => {
        const server = await WatchedServer.start(stand, settingsOf(directory, first.connections), { loop: false });
        try {
          const before = (await server.lookCollected()).rss;
          const waiters = await Waiters.open(stand, server.port, TOPIC, first);
          await sleep(SETTLE_MS);
          const { rss } = await server.lookCollected();
          await waiters.close();
          return { value: (rss - before) / first.connections, details: {} };
        } finally {
          await server.kill();
        }
      }),
  };
  return {
    label: "memory",
    flush: "none",
    unit: "bytes",
    sample: "one broker",
    sides: [...sides, connection],
  };
}

function idleCase(stand: Stand, name: string, setup: WaitersSetup): Case {
  const seconds = stand.quick ? 3 : IDLE_SECONDS;
  const idle = (asked: boolean, connected: WaitersSetup): (() => Promise<Sample>) => {
    return () =>
      withWaiters(stand, connected, false, async (server, waiters) => {
        if (asked) await askAll(server, waiters, connected);
        await server.lookCollected();
        await sleep(IDLE_SETTLE_MS);
        const cpu = await server.cpuSeconds();
        const began = performance.now();
        await sleep(seconds * 1000);
        const used = (await server.cpuSeconds()) - cpu;
        const passed = (performance.now() - began) / 1000;
        await waiters.checkQuiet();
        const { statistics } = await server.look();
        return { value: (used / passed) * 1e6, details: { waiting: statistics.fetchesWaiting } };
      });
  };
  const command = `${commandOf(settingsOf("", setup.connections))}; ${waitersCommand(setup)}`;
  const none = { ...setup, connections: 1, fetches: 1 };
  return {
    label: `processor time while nothing happens, ${name}`,
    flush: "none",
    unit: "µs/s",
    sample: `${seconds} s`,
    sides: [
      { name: "they wait", command, measure: idle(true, setup) },
      { name: "one connection, nothing asked", command, measure: idle(false, none) },
      { name: "as many connections, nothing asked", command, measure: idle(false, setup) },
    ],
  };
}

async function wakeCase(
  stand: Stand,
  name: string,
  setup: WaitersSetup,
  measure: (one: Case) => Promise<void>,
): Promise<void> {
  await withWaiters(stand, setup, true, async (server, waiters) =>
    inDirectory(stand, async (directory) => {
      const floor = await startFloor(stand, directory, { ...usual, recordBytes: RECORD_BYTES });
      let atFloor: Waiters | undefined;
      try {
        atFloor = await Waiters.open(stand, floor.port, TOPIC, setup);
        const others = atFloor;
        const sampleOf = ({ latency }: Woken, cpuSeconds: number, more: Record<string, number> = {}): Sample => ({
          value: latency.maxUs / 1000,
          details: {
            "first ms": latency.minUs / 1000,
            "p50 ms": latency.p50Us / 1000,
            "server CPU µs/answer": (cpuSeconds / setup.fetches) * 1e6,
            ...more,
          },
        });
        await measure({
          label: `from a publish to the last answer, ${name}`,
          flush: "WRITTEN",
          unit: "ms",
          sample: "one publish",
          sides: [
            {
              name: "millrace",
              command: `${commandOf(settingsOf("", setup.connections))}; ${waitersCommand(setup)}`,
              measure: async () => {
                await askAll(server, waiters, setup);
                await server.lookCollected();
                const before = await server.cpuSeconds();
                const woken = await waiters.publish();
                const cpu = (await server.cpuSeconds()) - before;
                const { loop } = await server.look();
                return sampleOf(woken, cpu, { "longest pass ms": loop?.longestRunMs ?? Number.NaN });
              },
            },
            {
              name: "floor",
              command: `floor serve --size ${RECORD_BYTES}; ${waitersCommand(setup)}`,
              measure: async () => {
                await others.ask();
                await sleep(TAKEN_MS);
                await others.checkQuiet();
                const before = await threadsCpuSeconds(floor.pid);
                const woken = await others.publish();
                return sampleOf(woken, (await threadsCpuSeconds(floor.pid)) - before);
              },
            },
          ],
        });
      } finally {
        await atFloor?.close();
        await floor.kill();
      }
    }),
  );
}

export const waiting: Question = {
  name: "waiting",
  title: "Fetches that wait",
  about:
    "FETCH v2 at the end of the log over loopback, on as many connections as the limit of open files allows; of more fetches than that several " +
    "are on a connection, the first of them waits and the others behind it. Memory is what the process grows by, after a collection, from all " +
    "connected to all waiting. Processor time is that of all threads of the broker, compared with as many connections that ask for nothing; V8's tidying up is turned off. A " +
    "record is then published on a connection of its own; the waiting program takes the answers on the other core. The floor keeps a list and " +
    "answers from it, with the same two system calls for each. *Longest pass*: the longest that the loop's thread ran without coming round.",
  ask: async (stand, measure) => {
    const most = Math.min(FETCHES, native.openFilesLimit() - OTHER_DESCRIPTORS);
    const connections = stand.quick ? Math.min(2_000, most) : most;
    const fetches = stand.quick ? 10_000 : FETCHES;
    const alone: WaitersSetup = { connections, fetches: connections, size: RECORD_BYTES };
    const several: WaitersSetup = { connections, fetches, size: RECORD_BYTES };
    const named: [string, WaitersSetup][] = [[`${connections} on ${connections} connections`, alone]];
    if (fetches > connections) named.push([`${fetches} on ${connections} connections`, several]);
    await measure(memoryCase(stand, named));

    for (const [name, setup] of named.slice(-1)) await measure(idleCase(stand, name, setup));
    for (const [name, setup] of named) await wakeCase(stand, name, setup, measure);
  },
};
