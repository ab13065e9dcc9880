// Figures out of what the peers' tools print. Pure. Each throws when it does not find what it looks for, and none takes an error for a result.

import type { ToolFigures, ToolLatency } from "./peer.js";

function unreadable(tool: string, output: string): Error {
  return new Error(`${tool} printed no figures:\n${output.slice(-2000)}`);
}

/** "12,530.67" */
const number = (text: string): number => Number(text.replaceAll(",", ""));

function positive(value: number, tool: string, output: string): number {
  if (!(Number.isFinite(value) && value > 0)) throw unreadable(tool, output);
  return value;
}

/**
 * `redis-benchmark --csv`: a line of names and one of values, all in quotes, latencies in milliseconds. `each`: records that a request
 * carries. With a pipeline its latency is that of a whole pipeline.
 */
export function redisBenchmarkFigures(output: string, requests: number, each: number): ToolFigures {
  const tool = "redis-benchmark";
  const lines = output.split("\n").filter((line) => line !== "");
  // It goes on when the server answers with errors, and says so on stderr.
  if (/\bERR\b|Error from server/.test(output)) throw unreadable(tool, output);
  const head = lines.findIndex((line) => line.startsWith('"test","rps"'));
  if (head < 0 || lines[head + 1] === undefined) throw unreadable(tool, output);
  const names = fieldsOf(lines[head]);
  // The first value is the command that was sent, which may hold anything.
  const values = fieldsOf(lines[head + 1]).slice(-(names.length - 1));
  const figure = (name: string): number => positive(Number(values[names.indexOf(name) - 1]), tool, output);
  return {
    records: requests * each,
    recordsPerSecond: figure("rps") * each,
    latency: {
      p50Us: figure("p50_latency_ms") * 1000,
      p99Us: figure("p99_latency_ms") * 1000,
      maxUs: figure("max_latency_ms") * 1000,
    },
  };
}

const fieldsOf = (line: string): string[] => line.slice(1, -1).split('","');

/** `nats bench`: one line for each client, and one for all; of a single client only its own. */
export function natsBenchFigures(output: string, records: number): ToolFigures {
  const tool = "nats bench";
  const rate = /^.*\bstats: ([\d,]+) msgs\/sec(.*)$/m.exec(output);
  if (rate === null || /\b(error|timeout|failed)\b/i.test(output)) throw unreadable(tool, output);
  // The percentiles of all are on a line of their own, after it.
  const behind = output.slice(rate.index);
  const find = (pattern: RegExp): number | undefined => {
    const text = pattern.exec(behind)?.[1];
    return text === undefined ? undefined : number(text);
  };
  const p50Us = find(/\bP50:? ([\d,.]+)us/);
  const p99Us = find(/\bP99:? ([\d,.]+)us/);
  const maxUs = find(/\blatencies per operation .*\bmax ([\d,.]+)us/) ?? find(/\bmax: ([\d,.]+)us/);
  const latency: ToolLatency | undefined =
    p50Us === undefined || p99Us === undefined || maxUs === undefined ? undefined : { p50Us, p99Us, maxUs };
  return { records, recordsPerSecond: positive(number(rate[1]), tool, output), latency };
}

/** kafka-producer-perf-test: the last line is about everything, the ones before are about five seconds each. */
export function kafkaProducerFigures(output: string): ToolFigures {
  const tool = "kafka-producer-perf-test";
  const pattern =
    /^(\d+) records sent, ([\d.]+) records\/sec .*, ([\d.]+) ms max latency, (\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th/m;
  const match = pattern.exec(output);
  if (match === null || /\bException\b/.test(output)) throw unreadable(tool, output);
  const [records, recordsPerSecond, max, p50, p99] = match.slice(1).map(Number);
  return {
    records: positive(records, tool, output),
    recordsPerSecond: positive(recordsPerSecond, tool, output),
    latency: { p50Us: p50 * 1000, p99Us: p99 * 1000, maxUs: max * 1000 },
  };
}

/** kafka-consumer-perf-test: a line of names and one of values. The rate is that of fetching, without the joining of a group. */
export function kafkaConsumerFigures(output: string): ToolFigures {
  const tool = "kafka-consumer-perf-test";
  const lines = output.split("\n");
  const head = lines.findIndex((line) => line.startsWith("start.time, end.time"));
  if (head < 0 || lines[head + 1] === undefined) throw unreadable(tool, output);
  const names = lines[head].split(", ");
  const values = lines[head + 1].split(", ");
  const figure = (name: string): number => positive(Number(values[names.indexOf(name)]), tool, output);
  return { records: figure("data.consumed.in.nMsg"), recordsPerSecond: figure("fetch.nMsg.sec") };
}

/** kafka/ClosedLoop.java */
export function closedLoopFigures(output: string): ToolFigures {
  const line = output.split("\n").find((each) => each.startsWith("{"));
  if (line === undefined) throw unreadable("ClosedLoop", output);
  const { records, seconds, p50Us, p99Us, maxUs } = JSON.parse(line) as {
    records: number;
    seconds: number;
  } & ToolLatency;
  return {
    records: positive(records, "ClosedLoop", output),
    recordsPerSecond: records / positive(seconds, "ClosedLoop", output),
    latency: { p50Us, p99Us, maxUs },
  };
}
