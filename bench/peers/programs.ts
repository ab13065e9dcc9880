// Where the peers' programs are: what `--fetch` has put into the cache (fetch.ts), else what this machine has. Each answers with its version, or
// with the reason why it cannot be had, which the report shows in place of figures.

import { execFile } from "node:child_process";
import { access, constants, readdir, readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export type Found<T> = { readonly there: T; readonly version: string } | { readonly missing: string };

export interface RedisPrograms {
  readonly server: string;
  readonly benchmark: string;
  /** With the libraries of an unpacked package. */
  readonly env: NodeJS.ProcessEnv;
}

export interface NatsPrograms {
  readonly server: string;
  readonly cli: string;
}

export interface KafkaPrograms {
  readonly java: string;
  readonly classPath: string;
}

export const HOW_TO_FETCH = "`npm run bench -- peers --fetch` gets it";

export const cacheOf = (root: string): string => join(root, ".cache", "peers");
/** The Node clients of the peers. */
export const nodeModulesOf = (root: string): string => join(cacheOf(root), "node", "node_modules");

/** The first of `directories` with a program of this name. */
export async function programIn(directories: readonly string[], name: string): Promise<string | undefined> {
  for (const directory of directories) {
    const path = join(directory, name);
    const runs = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return path;
  }
  return undefined;
}

const searchPath = (): string[] => (process.env.PATH ?? "").split(delimiter).filter((directory) => directory !== "");

/** What it says of its version, or why it cannot be run. */
async function versionOf(program: string, pattern: RegExp, env: NodeJS.ProcessEnv): Promise<Found<string>> {
  try {
    const { stdout, stderr } = await run(program, ["--version"], { env, timeout: 20_000 });
    const version = pattern.exec(stdout + stderr)?.[1];
    return version === undefined ? { missing: `${program} does not say its version` } : { there: program, version };
  } catch (error) {
    return { missing: `${program} cannot be run: ${error instanceof Error ? error.message.trim() : String(error)}` };
  }
}

export async function findRedis(root: string, path = searchPath()): Promise<Found<RedisPrograms>> {
  const unpacked = join(cacheOf(root), "redis", "usr");
  const directories = [join(unpacked, "bin"), ...path];
  const server = await programIn(directories, "redis-server");
  const benchmark = await programIn(directories, "redis-benchmark");
  if (server === undefined || benchmark === undefined) {
    return { missing: `there is no redis-server with its redis-benchmark here; ${HOW_TO_FETCH}` };
  }
  const lib = join(unpacked, "lib");
  const triplets = await readdir(lib).catch(() => []);
  const libraries = [...triplets.map((triplet) => join(lib, triplet)), process.env.LD_LIBRARY_PATH ?? ""];
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.filter((directory) => directory !== "").join(delimiter) };
  const version = await versionOf(server, /\bv=(\S+)/, env);
  return "missing" in version ? version : { there: { server, benchmark, env }, version: version.version };
}

export async function findNats(root: string, path = searchPath()): Promise<Found<NatsPrograms>> {
  const directories = [join(cacheOf(root), "nats"), ...path];
  const server = await programIn(directories, "nats-server");
  const cli = await programIn(directories, "nats");
  if (server === undefined || cli === undefined) {
    return { missing: `there is no nats-server with its command nats here; ${HOW_TO_FETCH}` };
  }
  const version = await versionOf(server, /\bv(\d\S*)/, process.env);
  return "missing" in version ? version : { there: { server, cli }, version: version.version };
}

export async function findKafka(root: string, path = searchPath()): Promise<Found<KafkaPrograms>> {
  const java = await programIn(path, "java");
  if (java === undefined) return { missing: "there is no java here" };
  const home = process.env.KAFKA_HOME;
  const places = [join(cacheOf(root), "kafka", "lib"), ...(home === undefined ? [] : [join(home, "libs")])];
  for (const directory of places) {
    const names = await readdir(directory).catch(() => []);
    const version = kafkaVersionOf(names);
    if (version !== undefined) return { there: { java, classPath: join(directory, "*") }, version };
  }
  return { missing: `there are no jars of Kafka here (nor in $KAFKA_HOME/libs); ${HOW_TO_FETCH}` };
}

/** By the name of the server's jar: `kafka_SCALA-VERSION.jar`. */
export function kafkaVersionOf(names: readonly string[]): string | undefined {
  const versions = names.map((name) => /^kafka_[\d.]+-(\d[\w.]*)\.jar$/.exec(name)?.[1]);
  return versions.find((version) => version !== undefined);
}

/** The version of a Node client, or why it cannot be had. */
export async function findNodeClient(root: string, name: string): Promise<Found<string>> {
  const directory = join(nodeModulesOf(root), name);
  const text = await readFile(join(directory, "package.json"), "utf8").catch(() => undefined);
  if (text === undefined) return { missing: `there is no Node client ${name} here; ${HOW_TO_FETCH}` };
  const { version } = JSON.parse(text) as { version: string };
  return { there: directory, version };
}
