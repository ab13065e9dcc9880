// Servers of peers and the tools that load them are processes: none outlives its sample, however that ends, and no file does.

import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import type { Stand } from "../../../bench/lib/stand.js";
import type { Tools } from "../../../bench/lib/tools.js";
import { accounted, parseChildrenCpu, peerSample, runTool } from "../../../bench/peers/accounts.js";
import { Host, type Hosting, type Lease } from "../../../bench/peers/host.js";
import type { ToolFigures } from "../../../bench/peers/peer.js";
import { freePort, PeerProcess } from "../../../bench/peers/process.js";
import { tempDir } from "../../support/tmp.js";

const PEERS = fileURLToPath(new URL("../../../bench/peers", import.meta.url));

const standOn = (directory: string): Stand => ({
  tools: { touch: () => Promise.resolve({ bytesPerSecond: 1 }) } as unknown as Tools,
  ...{ directory, root: directory, quick: true, rounds: 1, progress: () => undefined },
});

/** A server that says something, keeps a file in its directory, and can be told to end before it listens. */
async function startServer(directory: string, before = ""): Promise<PeerProcess> {
  const port = await freePort();
  const listen = `require("net").createServer().listen(${port}, "127.0.0.1")`;
  const script = `require("fs").mkdirSync(${JSON.stringify(directory)});console.error("up");${before};${listen}`;
  return PeerProcess.start({ command: process.execPath, args: ["-e", script], port });
}

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const refuses = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    connect(port, "127.0.0.1")
      .once("connect", () => resolve(false))
      .once("error", () => resolve(true));
  });

const hosting = (more: Partial<Hosting> = {}): Hosting => ({
  start: (directory) => startServer(directory),
  lasting: false,
  topic: (sample) => `topic${sample}`,
  ...more,
});

describe("a host", () => {
  it("lends a fresh server on an empty directory to each sample, and leaves neither process nor file", async () => {
    const directory = tempDir();
    const host = new Host(standOn(directory), hosting());
    const leases: Lease[] = [];
    for (let sample = 0; sample < 2; sample++) {
      await host.lend(async (lease) => {
        expect(runs(lease.pid)).toBe(true);
        expect(await readdir(lease.directory)).toEqual([]);
        await writeFile(join(lease.directory, "file"), "");
        leases.push(lease);
      });
    }
    expect(leases[0].pid).not.toBe(leases[1].pid);
    expect(leases.map(({ pid }) => runs(pid))).toEqual([false, false]);
    expect(await refuses(leases[1].port)).toBe(true);
    expect(await readdir(directory)).toEqual([]);
  });

  it("keeps a lasting server for a whole case, prepared once, with a topic for each sample, until it is closed", async () => {
    const directory = tempDir();
    let prepared = 0;
    const prepare = async (): Promise<void> => {
      prepared++;
    };
    const host = new Host(standOn(directory), hosting({ lasting: true, prepare }));
    const first = await host.lend((lease) => Promise.resolve(lease));
    const second = await host.lend((lease) => Promise.resolve(lease));
    expect([first.pid, first.topic, second.topic, prepared]).toEqual([second.pid, "topic0", "topic1", 1]);
    expect(runs(first.pid)).toBe(true);
    await host.close();
    await host.close();
    expect(runs(first.pid)).toBe(false);
    expect(await readdir(directory)).toEqual([]);
  });

  it("leaves nothing of a sample that fails", async () => {
    const directory = tempDir();
    let pid = 0;
    const failing = new Host(standOn(directory), hosting()).lend((lease) => {
      pid = lease.pid;
      return Promise.reject(new Error("the tool failed"));
    });
    await expect(failing).rejects.toThrow("the tool failed");
    expect(runs(pid)).toBe(false);
    expect(await readdir(directory)).toEqual([]);
  });

  it("leaves nothing of a server that cannot be prepared, or does not start", async () => {
    const directory = tempDir();
    let pid = 0;
    const prepare = (lease: Lease): Promise<void> => {
      pid = lease.pid;
      return Promise.reject(new Error("it cannot be filled"));
    };
    const unprepared = new Host(standOn(directory), hosting({ lasting: true, prepare }));
    await expect(unprepared.lend(() => Promise.resolve())).rejects.toThrow("it cannot be filled");
    expect(runs(pid)).toBe(false);
    const dead = new Host(standOn(directory), hosting({ start: (data) => startServer(data, "process.exit(3)") }));
    await expect(dead.lend(() => Promise.resolve())).rejects.toThrow(/did not start: it ended with 3\s+up/);
    expect(await readdir(directory)).toEqual([]);
  });
});

describe("a peer's server", () => {
  it("is an error with a reason when its program is not there", async () => {
    const port = await freePort();
    await expect(PeerProcess.start({ command: "/not/there", args: [], port })).rejects.toThrow("ENOENT");
  });

  it("ends with the bench that is ended in the middle of a sample, and so does its directory", async () => {
    const directory = tempDir();
    const parts = join(directory, "parts");
    const entryPoints = ["host", "process"].map((name) => join(PEERS, `${name}.ts`));
    await build({ entryPoints, outdir: parts, bundle: true, splitting: true, platform: "node", format: "esm" });
    const stand = { directory: join(directory, "data"), tools: {} };
    const script = [
      'import { writeFileSync } from "node:fs";',
      'import { Host } from "./parts/host.js";',
      'import { freePort, PeerProcess } from "./parts/process.js";',
      "const start = async () => {",
      "  const port = await freePort();",
      `  const listen = 'require("net").createServer().listen(' + port + ', "127.0.0.1")';`,
      '  return PeerProcess.start({ command: process.execPath, args: ["-e", listen], port });',
      "};",
      `const stand = { ...${JSON.stringify(stand)}, tools: { touch: () => Promise.resolve() } };`,
      'await new Host(stand, { start, lasting: false, topic: () => "" }).lend(async ({ pid }) => {',
      '  writeFileSync(new URL("pid", import.meta.url), String(pid));',
      "  process.exit(3);",
      "});",
    ].join("\n");
    await writeFile(join(directory, "package.json"), '{ "type": "module" }');
    await writeFile(join(directory, "bench.js"), script);
    const bench = { command: process.execPath, args: [join(directory, "bench.js")], parse: () => figures };
    await expect(runTool(bench)).rejects.toThrow("ended with 3");
    const pid = Number(await readFile(join(directory, "pid"), "utf8"));
    expect(pid).toBeGreaterThan(0);
    for (let look = 0; look < 100 && runs(pid); look++) await sleep(20);
    expect(runs(pid)).toBe(false);
    expect(await readdir(join(directory, "data"))).toEqual([]);
  });
});

const figures: ToolFigures = { records: 1000, recordsPerSecond: 500, latency: { p50Us: 1, p99Us: 2, maxUs: 3 } };
const node = (script: string) => ({ command: process.execPath, args: ["-e", script], parse: () => figures });

describe("a tool", () => {
  it("gives what is read out of all that it prints, on either stream", async () => {
    const parse = (output: string): ToolFigures => ({ records: output.length, recordsPerSecond: 1 });
    const run = { ...node('console.log("12"); console.error("345")'), parse };
    expect((await runTool(run)).records).toBe("12\n345\n".length);
  });

  it("that fails is an error with what it said, and so is one whose output cannot be read", async () => {
    await expect(runTool(node('console.error("no server"); process.exit(2)'))).rejects.toThrow(/with 2:\s+no server/);
    await expect(runTool({ ...node(""), command: "/not/there" })).rejects.toThrow("ENOENT");
    const parse = (): ToolFigures => {
      throw new Error("no figures");
    };
    await expect(runTool({ ...node(""), parse })).rejects.toThrow("no figures");
  });

  it.skipIf(!existsSync("/proc/self/stat"))(
    "is charged with its own processor time, and the server with its own",
    async () => {
      const spin = "while (process.cpuUsage().user < 400_000);";
      const [, accounts] = await accounted(process.pid, () => runTool(node(spin)));
      expect(accounts.clientCpu).toBeGreaterThan(0.39);
      expect(accounts.serverCpu).toBeLessThan(accounts.clientCpu);
    },
  );

  it("has its children's processor time beside its own in the kernel's line", () => {
    const stat = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 250 125 1000 50 20 0";
    expect(parseChildrenCpu(stat)).toBe(10.5);
  });
});

describe("a sample", () => {
  it("has the same columns whoever the client was, and no latencies where there are none", () => {
    const accounts = { serverCpu: 0.002, clientCpu: 0.004, othersCores: 0.1 };
    expect(peerSample(figures, accounts)).toEqual({
      value: 500,
      details: {
        ...{ "p50 µs": 1, "p99 µs": 2, "max µs": 3 },
        ...{ "server CPU µs/record": 2, "client CPU µs/record": 4, "other cores": 0.1 },
      },
    });
    expect(Object.keys(peerSample({ records: 1, recordsPerSecond: 1 }, accounts).details)).toHaveLength(3);
  });
});
