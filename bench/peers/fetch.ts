// `npm run bench -- peers --fetch`: gets the peers into .cache/peers, each through the ordinary client of its registry and in the version named
// here. Never at install and never in a test. What fails is said, and the others are still tried.

import { execFile } from "node:child_process";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheOf } from "./programs.js";

const run = promisify(execFile);
const TIMEOUT_MS = 15 * 60_000;

const NATS_SERVER = "github.com/nats-io/nats-server/v2@v2.15.2";
const NATS_CLI = "github.com/nats-io/natscli/nats@v0.5.0";
const KAFKA_VERSION = "4.1.0";
/** Redis comes as the system's packages have it, with the two libraries that a system without Redis lacks. */
const REDIS_PACKAGES = ["redis-server", "redis-tools", "libjemalloc2", "liblzf1"];
export const NODE_CLIENTS: Readonly<Record<string, string>> = {
  redis: "6.3.1",
  "@nats-io/transport-node": "3.4.0",
  "@nats-io/jetstream": "3.4.0",
  "@platformatic/kafka": "1.35.0",
};

type Fetch = (directory: string) => Promise<void>;

async function command(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) {
  await run(program, args, { ...options, timeout: TIMEOUT_MS, maxBuffer: 64 << 20 });
}

const fetchRedis: Fetch = async (directory) => {
  const download = () => command("apt-get", ["download", ...REDIS_PACKAGES], { cwd: directory });
  // Lists of packages that are old or not there: a download fails, and goes through after an update.
  await download().catch(async () => {
    await command("apt-get", ["update"]);
    await download();
  });
  for (const name of await readdir(directory)) {
    if (!name.endsWith(".deb")) continue;
    await command("dpkg-deb", ["-x", join(directory, name), directory]);
    await rm(join(directory, name));
  }
};

const fetchNats: Fetch = async (directory) => {
  for (const module of [NATS_SERVER, NATS_CLI]) {
    await command("go", ["install", module], { env: { ...process.env, GOBIN: directory } });
  }
};

const fetchKafka: Fetch = async (directory) => {
  const pom = join(directory, "pom.xml");
  await writeFile(pom, pomOf(KAFKA_VERSION));
  const goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";
  await command("mvn", [
    "-q",
    "-B",
    "-f",
    pom,
    goal,
    `-DoutputDirectory=${join(directory, "lib")}`,
    "-DincludeScope=runtime",
  ]);
};

const fetchNodeClients: Fetch = async (directory) => {
  await writeFile(
    join(directory, "package.json"),
    `${JSON.stringify({ private: true, dependencies: NODE_CLIENTS })}\n`,
  );
  await command("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: directory });
};

/** A project that has nothing but the server, its tools and what they need. */
export function pomOf(version: string): string {
  const dependency = (artifact: string): string =>
    `<dependency><groupId>org.apache.kafka</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  return [
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>',
    "<groupId>millrace.bench</groupId><artifactId>kafka-peer</artifactId><version>1</version><packaging>pom</packaging>",
    `<dependencies>${["kafka_2.13", "kafka-tools"].map(dependency).join("")}</dependencies></project>`,
    "",
  ].join("\n");
}

const WHAT: readonly (readonly [name: string, fetch: Fetch])[] = [
  ["redis", fetchRedis],
  ["node", fetchNodeClients],
  ["kafka", fetchKafka],
  ["nats", fetchNats],
];

/** Resolves with what failed and why. */
export async function fetchPeers(
  root: string,
  say: (text: string) => void,
  what: readonly (readonly [name: string, fetch: Fetch])[] = WHAT,
): Promise<ReadonlyMap<string, string>> {
  const failed = new Map<string, string>();
  for (const [name, fetch] of what) {
    say(`${name}: fetching`);
    const target = join(cacheOf(root), name);
    // Beside it and renamed into place, so that half of a peer is never taken for one.
    const partial = `${target}.${process.pid}`;
    try {
      await mkdir(partial, { recursive: true });
      await fetch(partial);
      await rm(target, { recursive: true, force: true });
      await rename(partial, target);
      say(`${name}: there`);
    } catch (error) {
      const reason = error instanceof Error ? error.message.trim() : String(error);
      failed.set(name, reason);
      say(`${name}: cannot be had: ${reason}`);
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
  }
  return failed;
}
