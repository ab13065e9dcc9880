// Each setting of a peer is really what its server is started with, and no other: programs of the peers' names write down what they were told.

import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { kafkaPeer, serverProperties } from "../../../bench/peers/kafka.js";
import { natsPeer } from "../../../bench/peers/nats.js";
import type { At, Peer, Setting, Tool } from "../../../bench/peers/peer.js";
import type { Found } from "../../../bench/peers/programs.js";
import { redisPeer } from "../../../bench/peers/redis.js";
import { tempDir } from "../../support/tmp.js";

let root: string;
const at: At = { port: 7, topic: "bench", directory: "/tool" };
const amount = { records: 100_000, seconds: 3 };

/** Listens on the port behind `--port` or `-p`, and leaves its arguments and the file behind `-c` where it was told to keep its data. */
const SERVER = `#!/usr/bin/env node
const { readFileSync, writeFileSync } = require("fs");
const args = process.argv.slice(2);
if (args[0] === "--version") console.log("Redis server v=7.0.15 nats-server: v2.15.2");
else {
  const behind = (...names) => args[args.findIndex((arg) => names.includes(arg)) + 1];
  const config = args.includes("-c") ? readFileSync(behind("-c"), "utf8") : "";
  const directory = /store_dir: "(.*?)"/.exec(config)?.[1] ?? behind("--dir");
  writeFileSync(directory + "/told", args.join(" ") + "\\n" + config);
  require("net").createServer().listen(Number(behind("--port", "-p")), "127.0.0.1");
}
`;

beforeAll(async () => {
  root = tempDir();
  const cache = join(root, ".cache", "peers");
  for (const path of ["redis/usr/bin/redis-server", "redis/usr/bin/redis-benchmark", "nats/nats-server", "nats/nats"]) {
    const file = join(cache, path);
    await mkdir(join(file, ".."), { recursive: true });
    await writeFile(file, SERVER);
    await chmod(file, 0o755);
  }
});

function there(found: Found<Peer>): Peer {
  if ("missing" in found) throw new Error(found.missing);
  return found.there;
}

/** What the server of each setting was told, without what differs from run to run. */
async function told(peer: Peer): Promise<string[]> {
  return Promise.all(
    peer.settings.map(async (setting, index) => {
      const directory = join(root, `${peer.id}-${index}`);
      const server = await peer.start(directory, setting);
      await server.kill();
      return (await readFile(join(directory, "told"), "utf8"))
        .replaceAll(directory, "DIR")
        .replaceAll(String(server.port), "PORT");
    }),
  );
}

const argsOf = (peer: Peer, tool: Tool): string => {
  const setting = peer.settings.at(-1) as Setting;
  return tool.run(at, setting, amount).args.join(" ");
};

describe("Redis", () => {
  it("is started with its append-only file off, forced each second, and always, and never with snapshots", async () => {
    const lines = await told(there(await redisPeer(root)));
    const common = "--bind 127.0.0.1 --port PORT --dir DIR --save  --auto-aof-rewrite-percentage 0";
    expect(lines).toEqual([
      `${common} --appendonly no\n`,
      `${common} --appendonly yes --appendfsync everysec\n`,
      `${common} --appendonly yes --appendfsync always\n`,
    ]);
  });

  it("is loaded on 64 connections, with 2560 commands in flight on one, and read in so many records as make the bytes", async () => {
    const peer = there(await redisPeer(root));
    expect(argsOf(peer, peer.closedLoop)).toMatch(/^-h 127.0.0.1 -p 7 -c 64 -n 100000 --csv XADD bench \* d x{128}$/);
    expect(argsOf(peer, peer.pipelined)).toMatch(/-c 1 -P 2560 -n 100000 --csv XADD bench \* d x{128}$/);
    expect(argsOf(peer, peer.read(64 << 10))).toMatch(/-c 1 -n 196 --csv XRANGE bench - \+ COUNT 512$/);
  });
});

describe("NATS", () => {
  it("is started with the usual interval of barriers, and with a barrier for each record", async () => {
    const lines = await told(there(await natsPeer(root)));
    const flags = "-c DIR/server.conf -a 127.0.0.1 -p PORT\n";
    expect(lines).toEqual([
      `${flags}jetstream { store_dir: "DIR" }\n`,
      `${flags}jetstream { store_dir: "DIR", sync_interval: always }\n`,
    ]);
  });

  it("is loaded on 64 connections with as many records each, and keeps what its command leaves in the sample's directory", async () => {
    const peer = there(await natsPeer(root));
    const closed = argsOf(peer, peer.closedLoop);
    expect(closed).toMatch(/bench js pub sync bench --msgs 100032 --size 128 --stream bench/);
    expect(closed).toMatch(/--clients 64$/);
    expect(argsOf(peer, peer.pipelined)).toMatch(/pub async bench --msgs 100000 .*--clients 1 --batch 500$/);
    expect(argsOf(peer, peer.read(1 << 20))).toMatch(/ordered --msgs 100000 .*--batch 8192$/);
    const { env } = peer.closedLoop.run(at, peer.settings[0], amount);
    expect([env?.HOME, env?.XDG_CONFIG_HOME, env?.XDG_DATA_HOME]).toEqual(["/tool", "/tool", "/tool"]);
  });
});

describe("Kafka", () => {
  it("forces each batch in the setting that promises it, and in no other", async () => {
    const lib = join(root, ".cache", "peers", "kafka", "lib");
    await mkdir(lib, { recursive: true });
    await writeFile(join(lib, "kafka_2.13-4.1.0.jar"), "");
    const bin = join(root, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "java"), "");
    await chmod(join(bin, "java"), 0o755);
    const path = process.env.PATH;
    process.env.PATH = bin;
    const peer = there(await kafkaPeer(root));
    process.env.PATH = path;
    const properties = peer.settings.map((setting) => serverProperties("/d", 1, 2, setting));
    expect(properties.map((text) => text.includes("log.flush.interval.messages=1\n"))).toEqual([false, true]);
    expect(peer.settings.map(({ level }) => level)).toEqual(["written", "forced"]);
    expect(properties[0]).toContain("listeners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2\n");
    expect(argsOf(peer, peer.closedLoop)).toMatch(/ClosedLoop\.java 127\.0\.0\.1:7 bench 64 128 3 3$/);
    expect(argsOf(peer, peer.pipelined)).toMatch(/--num-records 100000 .*bootstrap\.servers=127\.0\.0\.1:7 acks=all$/);
    expect(argsOf(peer, peer.read(64 << 10))).toMatch(
      /--messages 100000 --fetch-size 65536 --bootstrap-server 127\.0\.0\.1:7$/,
    );
  });
});
