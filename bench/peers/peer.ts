// What the bench must know of a peer: how it is started, what it promises when it acknowledges, and the tools that its makers ship to load it.

import type { PeerProcess } from "./process.js";
import type { Found } from "./programs.js";

/** Where this checkout lies, in front of what a command takes from it. */
const HERE = /\/[^\s:]*?\/(?=(?:\.cache|bench)\/peers\/)/g;

/** Payload of every record. */
export const RECORD_BYTES = 128;

/** Where a record is when its sender is told so. */
export type Level = "memory" | "written" | "forced";

export interface Setting {
  /** "appendfsync always" */
  readonly name: string;
  readonly level: Level;
  /** What has happened to a record when it is acknowledged, and so which crash it outlives. */
  readonly promise: string;
}

/** A server that runs, and what is loaded on it. */
export interface At {
  readonly port: number;
  readonly topic: string;
  /** Empty, for whatever the tool wants to put somewhere. */
  readonly directory: string;
}

export interface ToolLatency {
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
}

export interface ToolFigures {
  readonly records: number;
  readonly recordsPerSecond: number;
  readonly latency?: ToolLatency;
}

export interface ToolRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Throws when the output is not what it should be: a tool that failed must not become a figure. */
  readonly parse: (output: string) => ToolFigures;
}

/** How much it shall do: tools that count take the records, those that look at the clock the seconds. */
export interface Amount {
  readonly records: number;
  readonly seconds: number;
}

export interface Tool {
  readonly name: string;
  /** What is done before it counts, so that the rate is known and everybody is warm. */
  readonly warmRecords: number;
  /** It goes through the log once, whatever time that takes. */
  readonly once?: boolean;
  readonly run: (at: At, setting: Setting, amount: Amount) => ToolRun;
}

export interface Peer {
  readonly id: "redis" | "nats" | "kafka";
  readonly name: string;
  readonly version: string;
  /** One that takes long to start and to get warm goes on for a whole case, with a topic of its own for each sample. */
  readonly lasting: boolean;
  readonly settings: readonly Setting[];
  /** As a person would type it. */
  readonly serverCommand: (setting: Setting) => string;
  readonly start: (directory: string, setting: Setting) => Promise<PeerProcess>;
  /** 64 connections, each with one record in flight. */
  readonly closedLoop: Tool;
  /** One connection with as much in flight as suits it; how much is in its name. */
  readonly pipelined: Tool;
  /** From the start of the log on, about so many bytes at once. */
  readonly read: (maxBytes: number) => Tool;
  /** Its Node client, which sides/peer-client.ts drives. */
  readonly node: { readonly name: string; readonly reads: boolean; readonly found: Found<string> };
}

/** For the report: without the port and the payload, which are this run's alone. */
export const shown = ({ command, args }: ToolRun, at: At): string =>
  [command.slice(command.lastIndexOf("/") + 1), ...args]
    .map((arg) =>
      arg === PAYLOAD ? `<${RECORD_BYTES} bytes>` : arg.replaceAll(HERE, "").replaceAll(String(at.port), "PORT"),
    )
    .join(" ");

export const PAYLOAD = "x".repeat(RECORD_BYTES);
export const CONNECTIONS = 64;
/** Of the case of one setting, by whose clients load it. */
export const closedLoopLabel = (setting: string, clients: "native tools" | "Node clients"): string =>
  `${setting}: ${CONNECTIONS} connections, one record in flight each, ${clients}`;
/** Pipelined: requests in flight, and records in each. */
export const DEPTH = 256;
export const BATCH = 10;
