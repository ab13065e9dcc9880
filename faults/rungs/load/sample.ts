// What a broker holds: memory, descriptors, and what it says of itself.

import { readdir, readFile } from "node:fs/promises";
import type { BrokerProcess } from "../../lib/broker-process.js";

export interface Sample {
  /** Since the rung began, in seconds. */
  readonly at: number;
  /** Memory that is no file's, in bytes: pages of mapped segments are the page cache's. */
  readonly memory: number;
  readonly descriptors: number;
  readonly connections: number;
  readonly queuedBytes: number;
  readonly waitingFetches: number;
}

/** Longer than the bystander may wait: this is no measure of the side port. */
const METRICS_MS = 60_000;

export async function sampleOf(broker: BrokerProcess, at: number): Promise<Sample> {
  const [status, descriptors, metrics] = await Promise.all([
    readFile(`/proc/${broker.pid}/status`, "utf8"),
    readdir(`/proc/${broker.pid}/fd`),
    fetch(`http://127.0.0.1:${broker.opsPort}/metrics`, { signal: AbortSignal.timeout(METRICS_MS) }),
  ]);
  const text = await metrics.text();
  const sum = (name: string): number => {
    const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    if (lines.length === 0) throw new Error(`the broker has no gauge ${name}`);
    return lines.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  };
  return {
    at,
    memory: Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) * 1024,
    descriptors: descriptors.length,
    connections: sum("millrace_connections"),
    queuedBytes: sum("millrace_queued_bytes"),
    waitingFetches: sum("millrace_fetches_waiting"),
  };
}
