// Drives a Node client, of millrace or of a peer, in a process of its own: a closed loop of requests, or reading a log again and again. Its own
// processor time and the server's are those of the time that counts, without start and warm-up.

import { createHistogram } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { cpuOf, machineCpu } from "../lib/cpu.js";
import { printResult } from "../lib/side.js";
import type { NodeFigures } from "../peers/cases.js";
import { openKafka } from "../peers/clients/kafka.js";
import { openMillrace } from "../peers/clients/millrace.js";
import { openNats } from "../peers/clients/nats.js";
import type { NodeClient, OpenOptions } from "../peers/clients/node-client.js";
import { openRedis } from "../peers/clients/redis.js";

const openers: Readonly<Record<string, (options: OpenOptions) => Promise<NodeClient>>> = {
  millrace: openMillrace,
  redis: openRedis,
  nats: openNats,
  kafka: openKafka,
};

const NAMES = [
  ...["client", "modules", "port", "server", "topic", "warmup", "seconds"],
  ...["connections", "depth", "records", "size", "ack", "read", "range"],
];
const { values } = parseArgs({ options: Object.fromEntries(NAMES.map((name) => [name, { type: "string" as const }])) });
const text = (name: string, other = ""): string => (values[name] as string | undefined) ?? other;
const number = (name: string, other: number): number => Number(text(name, String(other)));

const size = number("size", 128);
const options: OpenOptions = {
  modules: text("modules"),
  port: number("port", 0),
  topic: text("topic"),
  connections: number("connections", 1),
  records: number("records", 1),
  payload: new Uint8Array(size).fill(97),
  ack: text("ack") === "forced" ? "forced" : "written",
};
const depth = number("depth", 1);
const maxBytes = number("read", 0);

const histogram = createHistogram();
let counting = false;
let over = false;
let records = 0;

/** One request after the other; those in flight when it is over are not counted. */
async function sendAll(send: () => Promise<unknown>): Promise<void> {
  while (!over) {
    const sent = performance.now();
    await send();
    if (!counting) continue;
    histogram.record(Math.max(1, Math.round((performance.now() - sent) * 1000)));
    records += options.records;
  }
}

async function readAll(client: NodeClient): Promise<void> {
  const read = client.read?.bind(client);
  if (read === undefined) throw new Error(`${text("client")} reads nothing here`);
  while (!over) {
    const began = records;
    const got = await read(maxBytes, number("range", 1), (some) => {
      if (counting && !over) records += some;
      return !over;
    });
    if (got === 0 || (records === began && counting && !over)) throw new Error("there is nothing to read");
  }
}

const sleep = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function measured(): Promise<NodeFigures> {
  await sleep(number("warmup", 1));
  const server = number("server", process.pid);
  const look = () => Promise.all([machineCpu(), cpuOf(server)]);
  const [machine, before] = await look();
  const cpu = process.cpuUsage();
  const began = performance.now();
  counting = true;
  await sleep(number("seconds", 1));
  counting = false;
  over = true;
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const [machineAfter, after] = await look();
  const clientCpu = (user + system) / 1e6;
  const serverCpu = after.user + after.system - before.user - before.system;
  const others = machineAfter.busy - machine.busy - clientCpu - serverCpu + machineAfter.stolen - machine.stolen;
  const latency = {
    p50Us: histogram.percentile(50),
    p99Us: histogram.percentile(99),
    maxUs: histogram.max,
  };
  return {
    records,
    recordsPerSecond: records / seconds,
    latency: maxBytes > 0 ? undefined : latency,
    serverCpu,
    clientCpu,
    othersCores: Math.max(0, others) / seconds,
  };
}

const open = openers[text("client")];
if (open === undefined) throw new Error(`--client ${text("client")} is none of ${Object.keys(openers).join(", ")}`);
const client = await open(options);
const work =
  maxBytes > 0 ? [readAll(client)] : client.links.flatMap((send) => Array.from({ length: depth }, () => sendAll(send)));
const [result] = await Promise.all([measured(), ...work]);
if (result.records === 0) throw new Error("nothing was acknowledged");
printResult(result);
process.exit();
