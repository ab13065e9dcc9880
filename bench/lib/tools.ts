// The native tools as functions: run one, take the JSON it prints. A tool that fails fails the bench, with what it said.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { endsWithUs } from "./children.js";

const run = promisify(execFile);

export interface ToolPaths {
  readonly floor: string;
  readonly loadgen: string;
  readonly waiters: string;
}

export interface Latency {
  readonly count: number;
  readonly meanUs: number;
  readonly minUs: number;
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly p9999Us: number;
  readonly maxUs: number;
}

export interface FloorAppend {
  readonly batches: number;
  readonly storedBytes: number;
  readonly seconds: number;
  readonly batchesPerSecond: number;
  readonly storedBytesPerSecond: number;
  readonly worstSliceUs: number;
}

export interface FloorBarrier {
  readonly barriers: number;
  readonly barriersPerSecond: number;
  readonly latency: Latency;
}

export interface FloorScan {
  readonly records: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly bytesPerSecond: number;
}

export interface FloorTouch {
  readonly bytesPerSecond: number;
}

export interface LoadResult {
  readonly api: "produce" | "fetch";
  readonly loop: "open" | "closed";
  readonly requests: number;
  readonly warmup: number;
  readonly unanswered: number;
  readonly seconds: number;
  readonly requestsPerSecond: number;
  readonly errorCount: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly bytesOut: number;
  readonly bytesIn: number;
  readonly latency: Latency;
  readonly timeline: { readonly intervalMs: number; readonly answers: readonly number[] };
  readonly cpu: { readonly user: number; readonly system: number; readonly fraction: number };
  readonly payloadBytesPerSecond: number;
  /** PRODUCE. */
  readonly recordsAcknowledged?: number;
  readonly baseOffsetMin?: number;
  readonly logEndMax?: number;
  /** FETCH. */
  readonly payloadBytes?: number;
  readonly emptyAnswers?: number;
  /** Open loop. */
  readonly scheduled?: number;
  readonly generatorLag?: Latency;
}

/** Flags as they stand on a command line. `true` is a flag without a value; undefined leaves it out. */
export type Flags = Readonly<Record<string, string | number | boolean | undefined>>;

export function argumentsOf(flags: Flags): string[] {
  return Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    return value === true ? [`--${name}`] : [`--${name}`, String(value)];
  });
}

/** For the report: what was run, without the paths and ports that were this run's alone. */
export function commandLine(name: string, flags: Flags): string {
  const without = Object.fromEntries(Object.entries(flags).filter(([key]) => !["path", "dir", "port"].includes(key)));
  return [name, ...argumentsOf(without)].join(" ");
}

export class Tools {
  constructor(readonly paths: ToolPaths) {}

  append = (flags: Flags): Promise<FloorAppend> => this.#json(this.paths.floor, ["append", ...argumentsOf(flags)]);
  barrier = (flags: Flags): Promise<FloorBarrier> => this.#json(this.paths.floor, ["barrier", ...argumentsOf(flags)]);
  scan = (flags: Flags): Promise<FloorScan> => this.#json(this.paths.floor, ["scan", ...argumentsOf(flags)]);
  touch = (bytes: number): Promise<FloorTouch> => this.#json(this.paths.floor, ["touch", "--bytes", String(bytes)]);

  /** One load. Answers with an error, empty fetches and requests without an answer are a failure: they would flatter. */
  async load(flags: Flags): Promise<LoadResult> {
    const result = await this.#json<LoadResult>(this.paths.loadgen, argumentsOf(flags));
    if (result.errorCount > 0) throw new Error(`loadgen got errors by code: ${JSON.stringify(result.errors)}`);
    if (result.unanswered > 0) throw new Error(`loadgen: ${result.unanswered} requests got no answer`);
    if ((result.emptyAnswers ?? 0) > 0) throw new Error(`loadgen: ${result.emptyAnswers} fetches brought nothing`);
    return result;
  }

  /** A load of fetches at the end of a log: they bring nothing, which elsewhere is a failure. */
  async idle(flags: Flags): Promise<LoadResult> {
    const result = await this.#json<LoadResult>(this.paths.loadgen, argumentsOf(flags));
    if (result.errorCount > 0) throw new Error(`loadgen got errors by code: ${JSON.stringify(result.errors)}`);
    if (result.payloadBytes !== 0) throw new Error("loadgen: a fetch at the end of the log brought something");
    return result;
  }

  async #json<T>(path: string, args: readonly string[]): Promise<T> {
    const running = run(path, args, { maxBuffer: 64 << 20 });
    endsWithUs(running.child);
    const { stdout } = await running;
    return JSON.parse(stdout) as T;
  }
}
