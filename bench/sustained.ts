// A minute of writing, more than the page cache likes to hold: how even is it, what was its worst second, and what was the machine doing
// meanwhile. Throughput that a second of standstill interrupts is worth less than its mean says.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Case, Sample, Side } from "./lib/figures.js";
import { type MachineFigures, watchMachine } from "./lib/machine-watch.js";
import type { Question } from "./lib/question.js";
import { OTHERS } from "./lib/report.js";
import { floorFlags, startFloor, TOPIC, usual } from "./lib/servers.js";
import { inDirectory, loadServer, type ServerLoad, type Stand } from "./lib/stand.js";
import { timelineFigures, timelineOf } from "./lib/timeline.js";
import { commandLine, type Flags } from "./lib/tools.js";
import { commandOf, WatchedServer } from "./lib/watched-server.js";

const RECORDS = 64;
const RECORD_BYTES = 1024;
const SEGMENT = 128 << 20;
/** What stays on the disk; older segments are removed meanwhile, so that the disk does not fill. */
const KEEP_SEGMENTS = 64;

type Mode = "MAPPED" | "FILE_CHANNEL";

function sampleOf({ load, serverCpu, othersCores, stolenCores }: ServerLoad, machine: MachineFigures): Sample {
  const gigabytes = (RECORDS * RECORD_BYTES) / 1e9;
  const timeline = timelineOf(load.timeline.intervalMs, load.timeline.answers, load.seconds, gigabytes);
  const { median, worst, steadiness } = timelineFigures(timeline);
  return {
    value: load.payloadBytesPerSecond / 1e9,
    details: {
      "median GB/s": median,
      "worst second GB/s": worst,
      "worst to median": steadiness,
      "p99.9 ms": load.latency.p999Us / 1000,
      "longest append ms": load.latency.maxUs / 1000,
      "server cores": serverCpu / load.seconds,
      "dirty at most MB": machine.dirtyMaxBytes / 1e6,
      "write-back at most MB": machine.writebackMaxBytes / 1e6,
      "written to disk MB/s": machine.writtenBytesPerSecond / 1e6,
      "waiting for disk, share": machine.ioStallShare,
      "free at least GB": machine.freeMinBytes / 1e9,
      [OTHERS]: othersCores + stolenCores,
    },
    latency: load.latency,
    timeline,
  };
}

const settingsOf = (directory: string, mode: Mode) => ({
  "data.dir": directory,
  topics: `${TOPIC}:1`,
  "segment.mode": mode,
  "segment.bytes": SEGMENT,
  "retention.bytes": KEEP_SEGMENTS * SEGMENT,
  "retention.check.ms": 100,
});

function caseOf(stand: Stand, mode: Mode, rate: number | undefined): Case {
  const seconds = stand.quick ? 8 : 60;
  const load: Flags = {
    topic: TOPIC,
    connections: 4,
    depth: rate === undefined ? 4 : 64,
    records: RECORDS,
    size: RECORD_BYTES,
    ack: "written",
    rate,
    warmup: 2,
    seconds,
    "timeline-ms": 1000,
  };
  const more: Flags = { segment: SEGMENT, keep: KEEP_SEGMENTS, "force-full": true };
  const setup = { ...usual, mode, recordBytes: RECORD_BYTES };
  const millrace: Side = {
    name: "millrace",
    command: `${commandOf(settingsOf("", mode))}; ${commandLine("loadgen", load)}`,
    measure: () =>
      inDirectory(stand, async (directory) => {
        await mkdir(join(directory, "data"));
        const server = await WatchedServer.start(stand, settingsOf(join(directory, "data"), mode), { loop: true });
        try {
          await server.look();
          const { result, machine } = await watchMachine(async () => {
            const running = loadServer(stand, server, load);
            const pauses = await server.pausesDuring(running);
            return { load: await running, pauses };
          });
          const sample = sampleOf(result.load, machine);
          return { ...sample, details: { ...sample.details, ...result.pauses } };
        } finally {
          await server.kill();
        }
      }),
  };
  const floor: Side = {
    name: "floor",
    command: `${commandLine("floor serve", { ...floorFlags(setup), ...more })}; ${commandLine("loadgen", load)}`,
    measure: () =>
      inDirectory(stand, async (directory) => {
        const server = await startFloor(stand, directory, setup, more);
        try {
          const { result, machine } = await watchMachine(() => loadServer(stand, server, load));
          return sampleOf(result, machine);
        } finally {
          await server.kill();
        }
      }),
  };
  const pace = rate === undefined ? "as fast as it goes" : `${Math.round((rate * RECORDS * RECORD_BYTES) / 1e6)} MB/s`;
  return {
    label: `${mode}, ${pace}`,
    flush: "WRITTEN",
    unit: "GB/s",
    sample: `${seconds} s`,
    sides: [millrace, floor],
    roundsMax: 2,
  };
}

/** A pace that every disk of today keeps up with. */
const PACED = 3000;

export const sustained: Question = {
  name: "sustained",
  title: "A minute of sustained writing",
  about:
    `Requests of ${RECORDS} × ${RECORD_BYTES} bytes over 4 connections with 4 in flight each, acknowledged when written, for a minute; the newest ${KEEP_SEGMENTS} segments of ` +
    `${SEGMENT >> 20} MiB stay. A full segment is forced as it is sealed, so that what is written is limited by the disk in the end; the floor has its helper ` +
    "force full segments, too. The paced case is an open loop. *Longest append*: the slowest request, from its sending to its answer. *Longest pause*: the longest that the loop did not come round, of " +
    "which *pass* is what it ran and *block* what it slept in a call. *Waiting for disk*: the share of time in which some program did.",
  ask: async (stand, measure) => {
    for (const mode of ["MAPPED", "FILE_CHANNEL"] as const) {
      await measure(caseOf(stand, mode, undefined));
      if (!stand.quick) await measure(caseOf(stand, mode, PACED));
    }
  },
};
