// Redis Streams: XADD, one record an entry with one field. Everything that a server of this kind would do beside (snapshots, rewriting its
// append-only file) is turned off, in its favour.

import { mkdir } from "node:fs/promises";
import { redisBenchmarkFigures } from "./output.js";
import { type At, BATCH, CONNECTIONS, DEPTH, PAYLOAD, type Peer, RECORD_BYTES, type Setting } from "./peer.js";
import { freePort, PeerProcess } from "./process.js";
import { type Found, findNodeClient, findRedis, type RedisPrograms } from "./programs.js";

export const redisSettings: readonly Setting[] = [
  {
    name: "appendonly no",
    level: "memory",
    promise: "The record is in the memory of the server. A crash of the process loses everything.",
  },
  {
    name: "appendfsync everysec",
    level: "written",
    promise:
      "The record was handed to the operating system by `write` before the answer, unless the `fsync` of a thread was still at work: then the " +
      "write waits for it, up to two seconds, and the answer does not. Forced once a second: a power cut loses a second or two.",
  },
  {
    name: "appendfsync always",
    level: "forced",
    promise:
      "The record was written and forced by `fdatasync`. One barrier covers all requests of a turn of the event loop.",
  },
];

const PIPELINE = BATCH * DEPTH;

function serverFlags({ name }: Setting): string[] {
  const flags =
    name === "appendonly no"
      ? ["--appendonly", "no"]
      : ["--appendonly", "yes", `--${name.split(" ")[0]}`, name.split(" ")[1]];
  return ["--save", "", "--auto-aof-rewrite-percentage", "0", ...flags];
}

const quoted = (flags: readonly string[]): string => flags.map((flag) => (flag === "" ? '""' : flag)).join(" ");

function benchmark(
  { benchmark: command, env }: RedisPrograms,
  flags: readonly string[],
  each: number,
  requests: number,
  words: readonly string[],
) {
  return (at: At) => ({
    command,
    args: ["-h", "127.0.0.1", "-p", String(at.port), ...flags, "-n", String(requests), "--csv", ...words],
    env,
    parse: (output: string) => redisBenchmarkFigures(output, requests, each),
  });
}

const xadd = (topic: string): string[] => ["XADD", topic, "*", "d", PAYLOAD];

export async function redisPeer(root: string): Promise<Found<Peer>> {
  const found = await findRedis(root);
  if ("missing" in found) return found;
  const { there: programs, version } = found;
  const peer: Peer = {
    id: "redis",
    name: "Redis Streams",
    version,
    lasting: false,
    settings: redisSettings,
    serverCommand: (setting) => `redis-server ${quoted(serverFlags(setting))}`,
    start: async (directory, setting) => {
      await mkdir(directory, { recursive: true });
      const port = await freePort();
      const args = ["--bind", "127.0.0.1", "--port", String(port), "--dir", directory, ...serverFlags(setting)];
      return PeerProcess.start({ command: programs.server, args, env: programs.env, port });
    },
    closedLoop: {
      name: "redis-benchmark",
      warmRecords: 20_000,
      run: (at, _setting, { records }) =>
        benchmark(programs, ["-c", String(CONNECTIONS)], 1, records, xadd(at.topic))(at),
    },
    pipelined: {
      name: `redis-benchmark, ${PIPELINE} in flight`,
      warmRecords: 200_000,
      run: (at, _setting, { records }) =>
        benchmark(programs, ["-c", "1", "-P", String(PIPELINE)], 1, records, xadd(at.topic))(at),
    },
    read: (maxBytes) => {
      const count = maxBytes / RECORD_BYTES;
      return {
        name: "redis-benchmark, XRANGE of the first",
        warmRecords: 100 * count,
        run: (at, _setting, { records }) => {
          const words = ["XRANGE", at.topic, "-", "+", "COUNT", String(count)];
          return benchmark(programs, ["-c", "1"], count, Math.ceil(records / count), words)(at);
        },
      };
    },
    node: { name: "node-redis", reads: true, found: await findNodeClient(root, "redis") },
  };
  return { there: peer, version };
}
