// `millrace bench`: a short load on a broker, and how long it took to answer.

import { type Command, InvalidArgumentError, Option } from "commander";
import type { Connection } from "../../client/connection.js";
import { RegionBuilder, recordRegion } from "../../client/record-region.js";
import { AckPolicy } from "../../model/ack-policy.js";
import { counted } from "../../model/plural.js";
import { duration, integer, size } from "../../ops/settings/kinds.js";
import { LENGTH_BYTES } from "../../protocol/frame.js";
import { produceRequestBytes } from "../../protocol/produce.js";
import { type BrokerOption, connectTo, onBroker, withBroker } from "../connect.js";
import { Failed, Usage } from "../failure.js";
import { helpText } from "../help.js";
import type { Io } from "../io.js";
import { parseRate } from "../produce/pace.js";
import { Progress } from "../progress.js";
import { StoppedBySignal, type StopSignal } from "../stop.js";
import { stylesOf } from "../style.js";
import { option, topicName } from "../values.js";
import type { Load } from "./load.js";
import type { BenchResult } from "./report.js";

interface BenchVerbOptions extends BrokerOption {
  readonly topic: string;
  /** Records a second. */
  readonly rate: number | "max";
  readonly recordBytes: number;
  readonly batch: number;
  readonly ack: "forced" | "written";
  readonly connections: number;
  readonly inFlight: number;
  readonly duration: number;
  readonly warmUp: number;
  readonly json?: boolean;
}

const MIB = 1024 * 1024;
const ACKS = { forced: AckPolicy.FORCED, written: AckPolicy.WRITTEN } as const;

const EXAMPLES = `
It appends records that mean nothing: give it a topic of its own, as the broker's setting \`topics = "bench:4"\` makes one.

With --rate N requests are due at their times whether or not those before them were answered, and a latency counts from when its request
was due: a broker that stands still shows in everything that was due meanwhile. With --rate max the next request goes out when one is
answered: that says what the broker can take, and little about latencies. Requests go to the partitions in turn.

^C ends it with what was measured until then.

A latency is that of a whole request, --batch records. A figure is worth something with its machine, ack and load beside it, and with
nothing else running.

Examples:
  $ millrace bench
  $ millrace bench --rate 20000 --record-bytes 1KiB --batch 10 --duration 30s
  $ millrace bench --rate max --ack written --connections 8 --json | jq .recordsPerSecond
`;

export function benchCommand(program: Command, io: Io): void {
  withBroker(
    program
      .command("bench")
      .summary("measure how fast a broker answers")
      .description("Put a short load on a broker and show its throughput and latencies."),
  )
    .option("--topic <name>", "where the records go", topicName, "bench")
    .option("--rate <n/s|max>", "records a second, or as many as are answered", parseRateOrMax, 10_000)
    .addOption(option("--record-bytes <size>", "how large each record is", size(1, 64 * MIB), 100))
    .addOption(option("--batch <n>", "records in a request", integer(1, 1_000_000), 10))
    .addOption(
      new Option("--ack <when>", "when a request is answered: on the disk, or in the log")
        .choices(Object.keys(ACKS))
        .default("forced"),
    )
    .addOption(option("--connections <n>", "how many there are", integer(1, 1000), 4))
    .addOption(option("--in-flight <n>", "with --rate max: open requests of each connection", integer(1, 512), 8))
    .addOption(option("--duration <time>", "how long it is measured", duration(100, 3_600_000), 5_000))
    .addOption(option("--warm-up <time>", "how long it runs before", duration(0, 600_000), 1_000))
    .option("--json", "print JSON instead of a drawing")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((options: BenchVerbOptions) => onBroker(options, io, (first) => bench(first, options, io)));
}

function parseRateOrMax(written: string): number | "max" {
  if (written === "max") return "max";
  try {
    return parseRate(written);
  } catch {
    throw new InvalidArgumentError("It takes records a second, 100 or 100/s, or max.");
  }
}

async function bench(first: Connection, options: BenchVerbOptions, io: Io): Promise<void> {
  const { topic, recordBytes, batch } = options;
  const [found] = (await first.metadata()).filter((each) => each.topic === topic);
  if (found === undefined) {
    throw new Failed(`the broker at ${first.address} has no topic ${topic}`, [
      `the broker's setting topics makes one, as in --topics ${topic}:4; --topic names another, which is filled with rubbish`,
    ]);
  }
  const bytesMax = first.maxFrameBytes + LENGTH_BYTES - produceRequestBytes(topic, 0);
  if (batch * RegionBuilder.cost(recordBytes) > bytesMax) {
    const asked = `--batch ${batch} of --record-bytes ${recordBytes}`;
    throw new Usage(`${asked} does not fit a request, which takes ${bytesMax} bytes, 4 of them beside each record`);
  }
  const record = Buffer.alloc(recordBytes, "x");
  const region = recordRegion(Array.from({ length: batch }, () => record));
  const others = await connectMore(options, io);
  try {
    await measure([first, ...others], found.partitions.length, region, options, io);
  } finally {
    for (const connection of others) connection.destroy();
  }
}

async function connectMore(options: BenchVerbOptions, io: Io): Promise<Connection[]> {
  const connecting = Array.from({ length: options.connections - 1 }, () => connectTo(options, io));
  const settled = await Promise.allSettled(connecting);
  const connections = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failure = settled.find((each) => each.status === "rejected");
  if (failure === undefined) return connections;
  for (const connection of connections) connection.destroy();
  throw failure.reason;
}

async function measure(
  connections: readonly Connection[],
  partitions: number,
  region: ReturnType<typeof recordRegion>,
  options: BenchVerbOptions,
  io: Io,
): Promise<void> {
  // Only here: the other verbs need neither the histogram nor the time to load it.
  const { Load } = await import("./load.js");
  const { reportText } = await import("./report.js");
  const { rate, batch, recordBytes } = options;
  const progress = new Progress(io, () => performance.now(), "record");
  const load: Load = new Load({
    topic: options.topic,
    partitions,
    connections,
    region,
    ack: ACKS[options.ack],
    requestsPerSecond: rate === "max" ? undefined : rate / batch,
    inFlight: options.inFlight,
    warmUpMs: options.warmUp,
    durationMs: options.duration,
    onProgress: () => progress.show(load.sent * batch, load.sent * batch * recordBytes, load.share),
  });
  let signal: StopSignal | undefined;
  const unheard = io.onStopSignal((which) => {
    signal ??= which;
    load.stop();
  });
  let failure: unknown;
  try {
    await load.run();
  } catch (error) {
    failure = error;
  } finally {
    unheard();
    progress.clear();
  }
  const result = await resultOf(load, connections[0].address, partitions, options);
  // What was measured before it ended was measured.
  if (load.latencies.count > 0) {
    await io.stdout.write(Buffer.from(options.json ? `${JSON.stringify(result)}\n` : reportText(result, stylesOf(io))));
  }
  if (failure !== undefined) throw failure;
  if (signal !== undefined) throw new StoppedBySignal(signal, [stoppedText(result, load)]);
  judge(result, load.measuredMs);
}

/** Below what was measured, or instead of it. */
function stoppedText({ durationMs }: BenchResult, { latencies, measuredMs, sent }: Load): string {
  if (latencies.count === 0)
    return `nothing was measured: ${counted(sent, "request")} went out, the warm-up among them`;
  return `measured for ${(measuredMs / 1000).toFixed(1)} s of ${durationMs / 1000} s`;
}

async function resultOf(
  load: Load,
  broker: string,
  partitions: number,
  options: BenchVerbOptions,
): Promise<BenchResult> {
  const { thisMachine } = await import("./report.js");
  const { topic, ack, rate, inFlight, recordBytes, batch, connections, warmUp, duration } = options;
  const requests = load.latencies.count;
  const seconds = Math.max(load.measuredMs, 1) / 1000;
  return {
    broker,
    topic,
    partitions,
    ack,
    loop: rate === "max" ? "closed" : "open",
    askedRecordsPerSecond: rate === "max" ? null : rate,
    inFlight: rate === "max" ? inFlight : null,
    recordBytes,
    batchRecords: batch,
    connections,
    warmUpMs: warmUp,
    durationMs: duration,
    requests,
    records: requests * batch,
    failed: Object.fromEntries(load.failed),
    recordsPerSecond: Math.round((requests * batch) / seconds),
    bytesPerSecond: Math.round((requests * batch * recordBytes) / seconds),
    latencyMs: load.latencies.summary,
    lateMs: load.lateness.summary,
    machine: thisMachine(),
  };
}

/** So much longer than asked for it may take to its last answer: more, and the load piled up. */
const LONGER = 1.05;
/** What a short load may take longer: one slow answer is no pile. */
const LATE_MS = 500;

function judge(result: BenchResult, measuredMs: number): void {
  const { failed, askedRecordsPerSecond, recordsPerSecond, requests, durationMs } = result;
  const failures = Object.entries(failed);
  if (failures.length > 0) {
    const times = failures.reduce((sum, [, each]) => sum + each, 0);
    throw new Failed(`${times} of ${times + requests} requests failed: ${failures.map(([code]) => code).join(", ")}`);
  }
  if (requests === 0) throw new Failed("no request was due in that time: --rate, --batch and --duration");
  if (askedRecordsPerSecond !== null && measuredMs > LONGER * durationMs + LATE_MS) {
    throw new Failed(`${recordsPerSecond} of ${askedRecordsPerSecond} records/s were reached`, [
      "latencies then say how long the load ran and not how fast the broker is: a lower --rate, or --rate max",
    ]);
  }
}
