// NATS JetStream: one stream in files, one replica, no deduplication ids. Loaded by the command that its makers ship (`nats bench`).

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { natsBenchFigures } from "./output.js";
import { type At, CONNECTIONS, type Peer, RECORD_BYTES, type Setting } from "./peer.js";
import { freePort, PeerProcess } from "./process.js";
import { type Found, findNats, findNodeClient, type NatsPrograms } from "./programs.js";

export const natsSettings: readonly Setting[] = [
  {
    name: "sync_interval 2m (default)",
    level: "written",
    promise:
      "The record was handed to the operating system by `write` (a stream with one replica flushes in place). Forced every two minutes: a power " +
      "cut loses as much.",
  },
  {
    name: "sync_interval always",
    level: "forced",
    promise: "The record was written to a file opened with `O_SYNC`, one write and one barrier for each record.",
  },
];

/** What its command has in flight by itself. With more of them, forced one by one, it gives up waiting after five seconds. */
const PIPELINE = 500;

const configOf = (setting: Setting, directory: string): string =>
  `jetstream { store_dir: "${directory}"${setting.level === "forced" ? ", sync_interval: always" : ""} }\n`;

function bench({ cli }: NatsPrograms, at: At, words: readonly string[], records: number, flags: readonly string[]) {
  const amount = ["--msgs", String(records), "--size", String(RECORD_BYTES), "--stream", at.topic, "--no-progress"];
  return {
    command: cli,
    args: ["--no-context", "-s", `nats://127.0.0.1:${at.port}`, "bench", "js", ...words, ...amount, ...flags],
    // It looks for contexts and keeps a history below these.
    env: { ...process.env, HOME: at.directory, XDG_CONFIG_HOME: at.directory, XDG_DATA_HOME: at.directory },
    parse: (output: string) => natsBenchFigures(output, records),
  };
}

/** Each connection gets as many. */
const even = (records: number): number => Math.ceil(records / CONNECTIONS) * CONNECTIONS;

export async function natsPeer(root: string): Promise<Found<Peer>> {
  const found = await findNats(root);
  if ("missing" in found) return found;
  const { there: programs, version } = found;
  const peer: Peer = {
    id: "nats",
    name: "NATS JetStream",
    version,
    lasting: false,
    settings: natsSettings,
    serverCommand: (setting) => `nats-server with ${configOf(setting, "DIRECTORY").trim()}`,
    start: async (directory, setting) => {
      await mkdir(directory, { recursive: true });
      const port = await freePort();
      const config = join(directory, "server.conf");
      await writeFile(config, configOf(setting, directory));
      return PeerProcess.start({
        command: programs.server,
        args: ["-c", config, "-a", "127.0.0.1", "-p", String(port)],
        port,
      });
    },
    closedLoop: {
      name: "nats bench js pub sync",
      warmRecords: 1280,
      run: (at, _setting, { records }) =>
        bench(programs, at, ["pub", "sync", at.topic], even(records), ["--create", "--clients", String(CONNECTIONS)]),
    },
    pipelined: {
      name: `nats bench js pub async, ${PIPELINE} in flight`,
      warmRecords: 4 * PIPELINE,
      run: (at, _setting, { records }) =>
        bench(programs, at, ["pub", "async", at.topic], records, [
          "--create",
          "--clients",
          "1",
          "--batch",
          String(PIPELINE),
        ]),
    },
    read: (maxBytes) => ({
      name: "nats bench js ordered",
      warmRecords: 0,
      once: true,
      run: (at, _setting, { records }) =>
        bench(programs, at, ["ordered"], records, ["--clients", "1", "--batch", String(maxBytes / RECORD_BYTES)]),
    }),
    node: { name: "nats.js", reads: false, found: await findNodeClient(root, "@nats-io/jetstream") },
  };
  return { there: peer, version };
}
