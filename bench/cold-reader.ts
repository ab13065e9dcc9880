// Does one who reads a week-old log disturb those who produce: their latency with a reader of cold data beside them and without, and how
// long the loop does not come round.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type NativeFile, native } from "../src/native/binding.js";
import type { Case, Sample, Side } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { inDirectory, LOOPBACK_CONGESTION, type Stand } from "./lib/stand.js";
import { commandLine, type Flags, type LoadResult } from "./lib/tools.js";
import { commandOf, WatchedServer } from "./lib/watched-server.js";

const MiB = 1 << 20;
const COLD = "old";
const HOT = "new";
const RECORD_BYTES = 1000;
const STORED_BYTES = RECORD_BYTES + 8;
const SEGMENT_BYTES = 16 * MiB;
/** A fetch of 1 MiB each. */
const READER_RATE = 100;
/** The broker's code is compiled while it runs: what it does in its first second says nothing. */
const WARM_UP_REQUESTS = 100_000;

const settingsOf = (directory: string) => ({
  "data.dir": directory,
  topics: `${COLD}:1,${HOT}:1`,
  "segment.bytes": SEGMENT_BYTES,
});

/**
 * Drops a log's segments from the page cache, first all of them, then each that a reader in sequence has left behind. Never one that it is
 * in or comes to next: dropping what was just read in for it would make the broker wait for the disk, which no disk does.
 */
class Dropper {
  readonly #files: NativeFile[] = [];
  #dropped = 0;

  static async of(directory: string): Promise<Dropper> {
    const dropper = new Dropper();
    for (const name of (await readdir(directory)).filter((each) => each.endsWith(".log")).sort()) {
      const file = await native.openFile(join(directory, name), { writable: false });
      await file.dropCache(0);
      dropper.#files.push(file);
    }
    return dropper;
  }

  /** `bytes`: what has been read, round after round. */
  async dropBehind(bytes: number): Promise<void> {
    for (const last = Math.floor(bytes / SEGMENT_BYTES) - 1; this.#dropped < last; this.#dropped++) {
      await this.#files[this.#dropped % this.#files.length].dropCache(0);
    }
  }

  close(): void {
    for (const file of this.#files) file.close();
  }
}

async function fill(stand: Stand, directory: string, bytes: number): Promise<number> {
  const server = await WatchedServer.start(stand, settingsOf(directory), { loop: false });
  const records = 256;
  const requests = Math.floor(bytes / (records * STORED_BYTES));
  await stand.tools.load({ port: server.port, topic: COLD, depth: 8, records, size: RECORD_BYTES, requests });
  // Cleanly: every byte is on the disk then, and only what is can be dropped.
  await server.stop();
  return records * requests;
}

interface Reader {
  readonly name: string;
  readonly load: Flags | undefined;
  /** It reads from the disk, not from the page cache. */
  readonly cold: boolean;
}

/** Both paths, as they will be used, on the log that is not read from the disk. */
async function warmUp(stand: Stand, port: number, produce: Flags): Promise<void> {
  const common = { port, topic: HOT, congestion: LOOPBACK_CONGESTION };
  const { connections, depth, ack } = produce;
  await stand.tools.load({ ...common, connections, depth, ack, requests: WARM_UP_REQUESTS });
  const fetches = { api: "fetch", size: 128, range: WARM_UP_REQUESTS, discard: true, connections: 4, depth: 4 };
  await stand.tools.load({ ...common, ...fetches, requests: WARM_UP_REQUESTS / 10 });
}

function sideOf(stand: Stand, directory: string, { name, load, cold }: Reader, produce: Flags): Side {
  const commands = [commandOf(settingsOf("")), commandLine("loadgen", produce)];
  if (load !== undefined) commands.push(commandLine("loadgen", load));
  return {
    name,
    command: commands.join("; "),
    measure: async (): Promise<Sample> => {
      const dropper = await Dropper.of(join(directory, `${COLD}-0`));
      const server = await WatchedServer.start(stand, settingsOf(directory), { loop: true });
      try {
        const common = { port: server.port, congestion: LOOPBACK_CONGESTION };
        await warmUp(stand, server.port, produce);
        if (!cold && load !== undefined) await stand.tools.load({ ...common, ...load, rate: undefined });
        const first = (await server.look()).statistics;
        const reading = load === undefined ? undefined : stand.tools.load({ ...common, ...load });
        const producing = stand.tools.load({ ...common, ...produce });
        let last = first;
        const pauses = await server.pausesDuring(producing, async ({ statistics }) => {
          last = statistics;
          if (cold) await dropper.dropBehind(statistics.sendfileBytes - first.sendfileBytes);
        });
        const { latency } = await producing;
        const read: LoadResult | undefined = await reading;
        return {
          value: latency.p99Us,
          details: {
            "p50 µs": latency.p50Us,
            "p99.9 µs": latency.p999Us,
            "max µs": latency.maxUs,
            "read MB/s": (read?.payloadBytesPerSecond ?? 0) / 1e6,
            "cold reads": last.coldReads - first.coldReads,
            ...pauses,
          },
        };
      } finally {
        await server.stop();
        dropper.close();
      }
    },
  };
}

interface Produce {
  readonly label: string;
  readonly flush: string;
  readonly load: Flags;
}

function producesOf(quick: boolean): Produce[] {
  const many = { connections: 64, depth: 1 };
  const all: Produce[] = [
    { label: "64 producers, one request each in flight", flush: "WRITTEN", load: { ...many, ack: "written" } },
    { label: "64 producers, one request each in flight", flush: "FORCED", load: { ...many, ack: "forced" } },
    {
      label: "5000 requests/s, open loop",
      flush: "WRITTEN",
      load: { connections: 4, depth: 64, rate: 5_000, ack: "written" },
    },
  ];
  return quick ? all.slice(0, 1) : all;
}

export const coldReader: Question = {
  name: "cold-reader",
  title: "PRODUCE beside a reader of cold data",
  about:
    "The 99th percentile of requests of 1 × 128 bytes, while one connection reads another log in fetches of 1 MiB: from the disk, its segments " +
    "dropped from the page cache before it comes and again behind it; or from the cache, which shows what is the sharing of two cores and what " +
    "is the disk. Each is compared with nobody reading. *Longest pass*: the longest that the loop's thread ran without coming round; *block*: " +
    "that it slept in a call meanwhile; *pause*: both, and the time in which others had the processors.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 2 : 4;
    await inDirectory(stand, async (directory) => {
      const range = await fill(stand, directory, (stand.quick ? 256 : 896) * MiB);
      const fetch = { api: "fetch", topic: COLD, "max-bytes": MiB, size: RECORD_BYTES, range, discard: true, seconds };
      const paced = { ...fetch, rate: READER_RATE, depth: 8 };
      const readers: Reader[] = [
        { name: `beside a reader of the disk, ${READER_RATE} MiB/s`, load: paced, cold: true },
        { name: `beside a reader of the cache, ${READER_RATE} MiB/s`, load: paced, cold: false },
        { name: "beside a reader of the disk, as fast as it goes", load: { ...fetch, depth: 2 }, cold: true },
        { name: "alone", load: undefined, cold: true },
      ];
      for (const { label, flush, load } of producesOf(stand.quick)) {
        const produce = { topic: HOT, ...load, seconds };
        const one: Case = {
          label,
          flush,
          unit: "µs",
          sample: `${seconds} s`,
          sides: readers.map((reader) => sideOf(stand, directory, reader, produce)),
        };
        await measure(one);
      }
    });
  },
};
