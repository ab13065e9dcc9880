// Where peers are found, what is said when they are not, and what fetching leaves behind.

import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fetchPeers, pomOf } from "../../../bench/peers/fetch.js";
import { findKafka, findNats, findNodeClient, findRedis, kafkaVersionOf } from "../../../bench/peers/programs.js";
import { tempDir } from "../../support/tmp.js";

async function program(directory: string, name: string, says: string, mode = 0o755): Promise<string> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, name);
  await writeFile(path, `#!/bin/sh\necho '${says}'\n`);
  await chmod(path, mode);
  return path;
}

const REDIS = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64";

describe("finding peers", () => {
  it("takes what was fetched before what the machine has, with the libraries that came with it", async () => {
    const root = tempDir();
    const usr = join(root, ".cache", "peers", "redis", "usr");
    const server = await program(join(usr, "bin"), "redis-server", REDIS);
    await program(join(usr, "bin"), "redis-benchmark", "");
    await mkdir(join(usr, "lib", "x86_64-linux-gnu"), { recursive: true });
    await program(join(root, "path"), "redis-server", REDIS.replace("7.0.15", "6.0.0"));
    const found = await findRedis(root, [join(root, "path")]);
    expect(found).toMatchObject({ there: { server }, version: "7.0.15" });
    expect("there" in found && found.there.env.LD_LIBRARY_PATH).toContain(join(usr, "lib", "x86_64-linux-gnu"));
  });

  it("takes what the machine has when nothing was fetched", async () => {
    const root = tempDir();
    const server = await program(join(root, "b"), "nats-server", "nats-server: v2.15.2");
    const cli = await program(join(root, "b"), "nats", "v0.5.0");
    const found = await findNats(root, [join(root, "a"), join(root, "b")]);
    expect(found).toEqual({ there: { server, cli }, version: "2.15.2" });
  });

  it("says why there are no figures: missing, half there, not to be run, without a version", async () => {
    const root = tempDir();
    const path = join(root, "path");
    expect(await findRedis(root, [path])).toMatchObject({ missing: expect.stringMatching(/no redis-server.*--fetch/) });
    expect(await findNats(root, [path])).toMatchObject({ missing: expect.stringMatching(/no nats-server.*--fetch/) });
    expect(await findKafka(root, [path])).toMatchObject({ missing: "there is no java here" });
    expect(await findNodeClient(root, "redis")).toMatchObject({ missing: expect.stringMatching(/redis.*--fetch/) });

    await program(path, "java", "");
    expect(await findKafka(root, [path])).toMatchObject({ missing: expect.stringContaining("no jars") });
    await program(path, "nats-server", "nats-server: v2.15.2");
    expect(await findNats(root, [path])).toMatchObject({ missing: expect.stringContaining("nats") });
    await program(path, "redis-server", REDIS, 0o644);
    await program(path, "redis-benchmark", "");
    expect(await findRedis(root, [path])).toMatchObject({ missing: expect.stringContaining("no redis-server") });
    await program(path, "redis-server", "something else");
    expect(await findRedis(root, [path])).toMatchObject({ missing: expect.stringContaining("version") });
    await writeFile(join(path, "redis-server"), "#!/bin/sh\necho 'a library is not there' >&2\nexit 127\n");
    expect(await findRedis(root, [path])).toMatchObject({ missing: expect.stringContaining("a library is not there") });
  });

  it("knows a Kafka by the jar of its server and a Node client by its package", async () => {
    expect(kafkaVersionOf(["kafka-clients-4.1.0.jar", "kafka-tools-4.1.0.jar"])).toBeUndefined();
    expect(kafkaVersionOf(["kafka-clients-4.0.0.jar", "kafka_2.13-4.1.0.jar"])).toBe("4.1.0");
    const root = tempDir();
    const directory = join(root, ".cache", "peers", "node", "node_modules", "@a", "b");
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "package.json"), '{ "version": "1.2.3" }');
    expect(await findNodeClient(root, "@a/b")).toEqual({ there: directory, version: "1.2.3" });
  });
});

describe("fetching peers", () => {
  it("goes on when one cannot be had, says why, and leaves no half of it", async () => {
    const root = tempDir();
    const said: string[] = [];
    const failed = await fetchPeers(root, (text) => said.push(text), [
      [
        "first",
        async (directory) => {
          await writeFile(join(directory, "half"), "");
          throw new Error("the registry does not have it");
        },
      ],
      ["second", (directory) => writeFile(join(directory, "whole"), "new")],
    ]);
    expect([...failed]).toEqual([["first", "the registry does not have it"]]);
    expect(said).toContain("first: cannot be had: the registry does not have it");
    expect(await readdir(join(root, ".cache", "peers"))).toEqual(["second"]);
  });

  it("puts the new one in the place of the old one, and keeps the old one when it fails", async () => {
    const root = tempDir();
    const put = (text: string) => (directory: string) => writeFile(join(directory, "file"), text);
    await fetchPeers(root, () => undefined, [["it", put("old")]]);
    await fetchPeers(root, () => undefined, [["it", () => Promise.reject(new Error("no"))]]);
    const file = join(root, ".cache", "peers", "it", "file");
    expect(await readFile(file, "utf8")).toBe("old");
    await fetchPeers(root, () => undefined, [["it", put("new")]]);
    expect(await readFile(file, "utf8")).toBe("new");
  });

  it("asks Maven for the server and its tools in one version", () => {
    expect(pomOf("4.1.0").match(/<artifactId>(kafka\S+?)<\/artifactId><version>4\.1\.0</g)).toHaveLength(2);
  });
});
