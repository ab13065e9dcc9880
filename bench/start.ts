// How long until a broker takes connections: empty, after a clean stop with few and many segments, and after a SIGKILL.

import { execFile } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Case, Side } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { ServerProcess } from "./lib/server-process.js";
import { startBroker, TOPIC, usual } from "./lib/servers.js";
import { inDirectory, type Stand } from "./lib/stand.js";
import { commandLine, type Flags } from "./lib/tools.js";

const run = promisify(execFile);
const MiB = 1 << 20;

/** The least that any program on Node needs to say that it is ready. */
const bareNode: Side = {
  name: "bare Node",
  command: `node -e 'console.log("node ready port=0")'`,
  measure: async () => {
    const program = 'console.log("node ready port=0"); setInterval(() => {}, 1000)';
    const server = await ServerProcess.start(process.execPath, ["-e", program]);
    await server.kill();
    return { value: server.readyMs, details: {} };
  },
};

const commandOf = (more: Flags): string => commandLine("node dist/broker.js", { topics: `${TOPIC}:1`, ...more });

/** Of a request as `fill` sends it: 100 records of 128 bytes, each with its size and sum. */
const BATCH_BYTES = 100 * 136;

async function fill(stand: Stand, server: ServerProcess, requests: number): Promise<void> {
  await stand.tools.load({ port: server.port, topic: TOPIC, depth: 64, records: 100, size: 128, requests });
}

async function emptyStart(stand: Stand): Promise<Case> {
  const side: Side = {
    name: "millrace",
    command: commandOf({}),
    measure: () =>
      inDirectory(stand, async (directory) => {
        const server = await startBroker(stand, directory, usual);
        const stopMs = await server.stop();
        return { value: server.readyMs, details: { "stop ms": stopMs } };
      }),
  };
  return { label: "empty data directory", flush: "none", unit: "ms", sample: "one start", sides: [side, bareNode] };
}

/** Small segments, so that there are many of them without filling the disk. */
const SMALL: Flags = { "segment-bytes": "1MiB", "max-frame-bytes": "512KiB" };

/** So many that the last of `segments` is half full. A batch lies in one segment: what is left at the end of each counts after a thousand. */
export const requestsFor = (segments: number, segmentBytes: number = MiB): number =>
  Math.floor((segments - 0.5) * Math.floor(segmentBytes / BATCH_BYTES));

/** A data directory that a clean stop left with so many segments; `there`: how many they are. */
async function withSegments(
  stand: Stand,
  segments: number,
  action: (directory: string, there: number) => Promise<void>,
): Promise<void> {
  await inDirectory(stand, async (directory) => {
    const first = await startBroker(stand, directory, usual, SMALL);
    await fill(stand, first, requestsFor(segments));
    await first.stop();
    const names = await readdir(join(directory, "data", `${TOPIC}-0`));
    await action(directory, names.filter((name) => name.endsWith(".log")).length);
  });
}

function startSide(stand: Stand, directory: string, name: string): Side {
  return {
    name,
    command: commandOf(SMALL),
    measure: async () => {
      const server = await startBroker(stand, directory, usual, SMALL);
      const stopMs = await server.stop();
      return { value: server.readyMs, details: { "stop ms": stopMs } };
    },
  };
}

async function afterCleanStop(stand: Stand, segments: number, measure: (one: Case) => Promise<void>): Promise<void> {
  await withSegments(stand, segments, (directory, there) =>
    measure({
      label: `after a clean stop, ${there} segments`,
      flush: "none",
      unit: "ms",
      sample: "one start",
      sides: [startSide(stand, directory, "millrace"), bareNode],
    }),
  );
}

/** In turn, so that the ratio is one of neighbours. */
async function manyAndFew(stand: Stand, measure: (one: Case) => Promise<void>): Promise<void> {
  await withSegments(stand, 1000, (many, manyThere) =>
    withSegments(stand, 10, (few, fewThere) =>
      measure({
        label: "after a clean stop, many segments against few",
        flush: "none",
        unit: "ms",
        sample: "one start",
        sides: [startSide(stand, many, `${manyThere} segments`), startSide(stand, few, `${fewThere} segments`)],
      }),
    ),
  );
}

/** One large segment that nobody forced and nobody sealed: all of it is scanned. */
async function afterKill(stand: Stand, onDisk: boolean, measure: (one: Case) => Promise<void>): Promise<void> {
  const more = { "segment-bytes": "1GiB" };
  const bytes = (stand.quick ? 200 : 500) * MiB;
  await inDirectory(stand, async (directory) => {
    const template = join(directory, "template");
    const first = await startBroker(stand, template, usual, more);
    await fill(stand, first, Math.floor(bytes / BATCH_BYTES));
    await first.kill();
    const perGiB = (ms: number): number => ms / 1000 / (bytes / 2 ** 30);
    const inCopy = async <T>(action: (copy: string) => Promise<T>): Promise<T> => {
      const copy = join(directory, "copy");
      await mkdir(copy);
      try {
        // Holes stay holes: a copy that had zeros on the disk instead would make a start read them.
        await run("cp", ["-r", "--sparse=always", join(template, "data"), copy]);
        const segment = join(copy, "data", `${TOPIC}-0`, `${"0".repeat(20)}.log`);
        if (onDisk) await run("sync", [segment]);
        return await action(copy);
      } finally {
        await rm(copy, { recursive: true, force: true });
      }
    };
    const millrace: Side = {
      name: "millrace, to the ready line",
      command: commandOf(more),
      measure: () =>
        inCopy(async (copy) => {
          const server = await startBroker(stand, copy, usual, more);
          await server.kill();
          return { value: perGiB(server.readyMs), details: { ms: server.readyMs } };
        }),
    };
    const floor: Side = {
      name: "floor",
      command: "floor scan --cold",
      measure: () =>
        inCopy(async (copy) => {
          const path = join(copy, "data", `${TOPIC}-0`, `${"0".repeat(20)}.log`);
          const { seconds } = await stand.tools.scan({ path, cold: true });
          return { value: perGiB(seconds * 1000), details: { ms: seconds * 1000 } };
        }),
    };
    const state = onDisk ? "what was written is on the disk" : "what was written is still to be forced";
    await measure({
      label: `after SIGKILL, one segment of ${bytes / MiB} MiB, ${state}`,
      flush: "WRITTEN",
      unit: "s/GiB",
      sample: "one start",
      sides: [millrace, floor],
    });
  });
}

/** A thousand are made once and then only opened; making them takes as long as a thousand barriers, which CI has not. */
const segmentsAsked = ({ quick, brief }: Stand): readonly number[] =>
  brief ? [10] : quick ? [10, 1000] : [10, 100, 1000];

export const start: Question = {
  name: "start",
  title: "Start to the ready line",
  about:
    "From the start of the process. After a SIGKILL the unsealed segment is forced, dropped from the page cache, read from the disk and checked " +
    "(128-byte records, `crc32c`); the floor does just that.",
  ask: async (stand, measure) => {
    await measure(await emptyStart(stand));
    for (const segments of segmentsAsked(stand)) await afterCleanStop(stand, segments, measure);
    if (!stand.quick) await manyAndFew(stand, measure);
    await afterKill(stand, true, measure);
    if (!stand.quick) await afterKill(stand, false, measure);
  },
};
