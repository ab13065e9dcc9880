// What `bench` says in the end: what was asked, what came of it, on which machine, and the latencies drawn.

import { cpus, release, totalmem, type } from "node:os";
import { counted } from "../../model/plural.js";
import type { Styles } from "../style.js";
import { type LatencySummary, PERCENTILES } from "./latencies.js";

/** Everything that a figure needs to mean anything. What --json prints. */
export interface BenchResult {
  readonly broker: string;
  readonly topic: string;
  readonly partitions: number;
  /** forced: on the disk when it counts; written: in the broker's log. */
  readonly ack: "forced" | "written";
  readonly loop: "open" | "closed";
  /** Records a second that were asked for; null: as many as are answered. */
  readonly askedRecordsPerSecond: number | null;
  /** Closed loop: open requests of a connection. */
  readonly inFlight: number | null;
  readonly recordBytes: number;
  readonly batchRecords: number;
  readonly connections: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** Of the time after the warm-up. */
  readonly requests: number;
  readonly records: number;
  readonly failed: Readonly<Record<string, number>>;
  readonly recordsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly latencyMs: LatencySummary;
  /** Of that, before the request was sent. */
  readonly lateMs: LatencySummary;
  readonly machine: Machine;
}

export interface Machine {
  readonly processors: string;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
}

export function thisMachine(): Machine {
  const all = cpus();
  return {
    processors: `${all.length} × ${all[0]?.model.trim() ?? "unknown"}`,
    memoryBytes: totalmem(),
    system: `${type()} ${release()}`,
    node: process.version,
  };
}

const BAR_CELLS = 40;
const count = (value: number): string => Math.round(value).toLocaleString("en-US");

export function reportText(result: BenchResult, { strong, faint }: Styles): string {
  const { machine, latencyMs, lateMs } = result;
  const asked = result.askedRecordsPerSecond;
  const loop =
    asked === null
      ? `closed loop, ${counted(result.inFlight ?? 0, "open request")} for each connection`
      : `open loop, ${count(asked)} records/s`;
  const failures = Object.entries(result.failed).map(([code, times]) => `${count(times)} failed with ${code}`);
  return [
    `${strong("target")}   ${result.topic}, ${counted(result.partitions, "partition")}, at ${result.broker}; ack ${result.ack}`,
    `${strong("load")}     ${loop}; ${counted(result.recordBytes, "byte")} a record, ${count(result.batchRecords)} a request, ` +
      `${counted(result.connections, "connection")}; ${result.durationMs / 1000} s after ${result.warmUpMs / 1000} s of warm-up`,
    `${strong("result")}   ${count(result.recordsPerSecond)} records/s, ${(result.bytesPerSecond / 1e6).toFixed(1)} MB/s; ` +
      [`${count(result.requests)} requests`, ...failures].join(", "),
    `${strong("machine")}  ${machine.processors}, ${(machine.memoryBytes / 2 ** 30).toFixed(1)} GiB, ${machine.system}, Node ${machine.node}` +
      "; the load runs on it",
    "",
    `latency in ms, from when a request was ${asked === null ? "sent" : "due"} to its answer; each cell of a bar is the same factor`,
    ...drawn(latencyMs),
    faint(
      `sent late by ${lateMs.percentiles.p99?.toFixed(3)} ms (p99), ${lateMs.max.toFixed(3)} ms (max), which is part of it`,
    ),
    "",
  ].join("\n");
}

/** On a logarithmic scale: the slowest may take a thousand times as long as most. */
function drawn({ min, percentiles, max }: LatencySummary): string[] {
  const rows = [...PERCENTILES.map(({ name }) => [name, percentiles[name] ?? 0] as const), ["max", max] as const];
  const lowest = Math.max(min, 0.001);
  const span = Math.log(Math.max(max, lowest * 1.01) / lowest);
  const width = Math.max(...rows.map(([, ms]) => ms.toFixed(3).length));
  return rows.map(([name, ms]) => {
    const share = Math.log(Math.max(ms, lowest) / lowest) / span;
    const bar = "#".repeat(1 + Math.round(share * (BAR_CELLS - 1)));
    return `${name.padStart(7)}  ${ms.toFixed(3).padStart(width)}  ${bar}`;
  });
}
