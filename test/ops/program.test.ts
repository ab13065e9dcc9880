// The broker as a program: what it prints, how it ends, what it refuses. Real processes.

import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { connectTo, flags, spawnBroker, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { fetch, produce, readFetched, readProduced, readStored } from "../support/wire.js";

const run = async (args: readonly string[], options?: Parameters<typeof spawnBroker>[1]) => {
  const broker = spawnBroker(args, options);
  const { code } = await broker.exited;
  return { code, stdout: broker.stdout, stderr: broker.stderr, lines: broker.lines };
};

describe("the ready line", () => {
  it("is the one line on stdout, ever; everything else is JSON on stderr", async () => {
    const broker = await spawnReady({ ...testSettings(tempDir("ready")), "ops.enabled": true, "ops.port": 0 });
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(broker.stdout).toBe(
      `millrace ready host=127.0.0.1 port=${broker.port} ops=${broker.opsPort} pid=${broker.pid} version=${version}\n`,
    );
    const line = broker.stdout;
    const wire = await connectTo(broker);
    for (let i = 0; i < 100; i++) await wire.ask(produce([ascii("x")]));
    expect(await broker.stop()).toBe(0);
    expect(broker.stdout).toBe(line);
    const lines = broker.stderr.trimEnd().split("\n");
    expect(broker.lines).toHaveLength(lines.length);
    for (const { level, msg } of broker.lines) expect([typeof level, typeof msg]).toEqual(["string", "string"]);
    // A hundred requests, and no line for any of them.
    expect(lines.length).toBeLessThan(20);
    const kinds = broker.lines.map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(["broker.ready", "broker.stopping", "broker.stopped"]));
  });

  it("says so when the side port is off", async () => {
    const broker = await spawnReady(testSettings(tempDir("ready")));
    expect(broker.stdout).toContain(" ops=off ");
  });

  it("comes soon after Node itself has started", async () => {
    const began = performance.now();
    await spawnReady(testSettings(tempDir("ready")));
    // 300 ms beyond Node's own start is the aim, and bench/start measures it; this only finds what went badly wrong.
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

describe("O01 the program refuses what it does not understand", () => {
  it("O01 exit code 2, one line for each problem on stderr, nothing on stdout, and nothing was made", async () => {
    const cwd = tempDir("cwd");
    const { code, stdout, stderr } = await run(["--prot=1", "--segment-bytes=huge"], {
      cwd,
      environment: { MILLRACE_HOTS: "x" },
    });
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain("millrace: --prot: no such flag; did you mean --port?\n");
    expect(stderr).toContain(
      'millrace: segment.bytes: got "huge" (flag --segment-bytes); takes a size from 4KiB to 1GiB',
    );
    expect(stderr).toContain("millrace: MILLRACE_HOTS: no such setting (environment); did you mean MILLRACE_HOST?\n");
    expect(() => readFileSync(join(cwd, "millrace-data/.lock"))).toThrow("ENOENT");
  });

  it("O01 a contradiction, a file that is not there, connections that the limit of open files does not allow", async () => {
    expect((await run(["--fetch-max-bytes=1MiB"])).code).toBe(2);
    expect((await run(["--config", "/nowhere.toml"])).stderr).toContain("cannot read /nowhere.toml");
    const named = await run([], { environment: { MILLRACE_CONFIG: "/etc/millrace.toml" } });
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining("the file is named by --config")]);
    const { code, stderr } = await run([...flags(testSettings(tempDir("o01"))), "--connections-max=999999"]);
    expect(code).toBe(2);
    expect(stderr).toContain("connections.max: got 999999, and the limit of open files is ");
  });

  it("O02 ./millrace.toml is read when it is there, and --print-config says what came from where", async () => {
    const cwd = tempDir("cwd");
    writeFileSync(join(cwd, "millrace.toml"), "port = 1\n[topics.orders]\npartitions = 2\n");
    const { code, stdout } = await run(["--print-config", "--host=::1"], {
      cwd,
      environment: { MILLRACE_LOG_LEVEL: "warn" },
    });
    expect(code).toBe(0);
    expect(stdout).toContain("port = 1  # ./millrace.toml\n");
    expect(stdout).toContain('host = "::1"  # flag --host\n');
    expect(stdout).toContain('log.level = "warn"  # environment MILLRACE_LOG_LEVEL\n');
    expect(stdout).toContain('[topics."orders"]\npartitions = 2  # ./millrace.toml [topics.orders]\n');
  });

  it("O01 ./millrace.toml that leads nowhere, or is a directory, is a refusal and not the defaults", async () => {
    const [nowhere, directory] = [tempDir("cwd"), tempDir("cwd")];
    symlinkSync("/nowhere/millrace.toml", join(nowhere, "millrace.toml"));
    mkdirSync(join(directory, "millrace.toml"));
    for (const [cwd, errno] of [
      [nowhere, "ENOENT"],
      [directory, "EISDIR"],
    ] as const) {
      const { code, stderr } = await run(["--print-config"], { cwd });
      expect(code).toBe(2);
      expect(stderr).toContain(`millrace: the file of settings: cannot read ./millrace.toml: ${errno}`);
    }
  });

  it("--help and --version", async () => {
    const help = await run(["--help"]);
    expect(help.code).toBe(0);
    expect(help.stdout).toContain("--connection-requests-max (1024)");
    expect((await run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("the data directory", () => {
  it("O05 a second broker on it refuses to start and names the first one's pid", async () => {
    const dataDir = tempDir("o05");
    const first = await spawnReady({ ...testSettings(dataDir), "ops.enabled": true, "ops.port": 0 });
    const second = await run(flags({ ...testSettings(dataDir), "ops.enabled": true, "ops.port": first.opsPort }));
    expect(second.code).toBe(3);
    expect(second.stdout).toBe("");
    expect(second.lines.at(-1)?.msg).toContain(`in use by process ${first.pid}`);
    expect(readProduced(await (await connectTo(first)).ask(produce([ascii("x")]))).base).toBe(0);
  });

  it("O05 the lock of a broker that was killed does not outlive it", async () => {
    const dataDir = tempDir("o05");
    const first = await spawnReady(testSettings(dataDir));
    first.kill("SIGKILL");
    await first.exited;
    await spawnReady(testSettings(dataDir));
  });

  it("one that is a file, or of a layout that is not known, is exit code 4", async () => {
    const dir = tempDir("layout");
    writeFileSync(join(dir, "file"), "");
    const notADirectory = await run(flags(testSettings(join(dir, "file"))));
    expect(notADirectory.code).toBe(4);
    expect(notADirectory.lines.at(-1)?.msg).toContain(`${join(dir, "file")} is there, and is no directory`);
    const below = await run(flags(testSettings(join(dir, "file/in/it"))));
    expect(below.code).toBe(4);
    expect(below.lines.at(-1)?.msg).toContain(`${join(dir, "file")} is there, and is no directory`);
    for (const content of ['{"layout":2}', "{}", "not JSON"]) {
      mkdirSync(join(dir, "data"), { recursive: true });
      writeFileSync(join(dir, "data/millrace.json"), content);
      const { code, lines } = await run(flags(testSettings(join(dir, "data"))));
      expect(code).toBe(4);
      expect(lines.at(-1)?.msg).toContain("millrace.json");
    }
  });

  it("one with files of somebody else leaves them, and names them: as a warning where no broker was before", async () => {
    const dir = tempDir("foreign");
    const theirs = ["PG_VERSION", "base", "notes.txt"];
    for (const name of ["base", "lost+found"]) mkdirSync(join(dir, name));
    for (const name of ["PG_VERSION", "notes.txt"]) writeFileSync(join(dir, name), name);
    const settings = { ...testSettings(dir), "socket.path": join(dir, "broker.sock") };
    for (const isNew of [true, false]) {
      const broker = await spawnReady(settings);
      const told = broker.lines.filter(({ kind }) => kind === "data-dir.foreign");
      expect(told).toMatchObject([{ entries: 3, names: theirs }]);
      const asked = /is data\.dir the one that was meant\?$/.test(told[0]?.msg ?? "");
      expect([asked, told[0]?.level]).toEqual([isNew, isNew ? "warn" : "info"]);
      expect(await broker.stop()).toBe(0);
    }
    expect(readdirSync(dir).filter((name) => theirs.includes(name))).toEqual(theirs);
    const own = await spawnReady(testSettings(tempDir("own")));
    expect(own.lines.filter(({ kind }) => kind === "data-dir.foreign")).toEqual([]);
  });

  it("one that is named by way of a directory that is not there is the one that the name comes to", async () => {
    const dir = tempDir("dots");
    const broker = await spawnReady(testSettings(`${dir}/missing/../data`));
    expect(broker.lines.find(({ kind }) => kind === "broker.ready")?.dataDir).toBe(join(dir, "data"));
    expect(await broker.stop()).toBe(0);
    expect(readdirSync(dir)).toEqual(["data"]);
  });

  it("where a directory or a file is, no socket can be, and it says that", async () => {
    const dir = tempDir("socket");
    writeFileSync(join(dir, "file"), "");
    for (const [path, what] of [
      [dir, "a directory"],
      [join(dir, "file"), "a file"],
    ] as const) {
      // Also where a broker was before.
      for (const dataDir of [join(dir, "new"), join(dir, "old")]) {
        if (dataDir.endsWith("old")) expect(await (await spawnReady(testSettings(dataDir))).stop()).toBe(0);
        const { code, lines } = await run(flags({ ...testSettings(dataDir), "socket.path": path }));
        expect(code).toBe(1);
        const msg = `socket.path ${path}: cannot listen: ${what} is there; choose another socket.path`;
        expect(lines.at(-1)?.msg).toContain(msg);
      }
    }
    expect(readdirSync(dir).sort()).toEqual(["file", "old"]);
  });

  it("a port that somebody has is exit code 1, names the setting, and leaves no new directory behind", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    const dir = tempDir("port");
    const { code, lines } = await run(flags({ ...testSettings(join(dir, "data")), port }));
    const ops = { "ops.enabled": true, "ops.port": port };
    const side = await run(flags({ ...testSettings(join(dir, "data")), ...ops }));
    taken.close();
    expect([code, side.code]).toEqual([1, 1]);
    expect(lines.at(-1)?.msg).toContain(`host 127.0.0.1, port ${port}: cannot listen: somebody listens there already`);
    expect(side.lines.at(-1)?.msg).toContain("choose another ops.port");
    expect(readdirSync(dir)).toEqual([]);
  });
});

describe("an address that cannot be had", () => {
  it("is told with the setting and with what it takes", async () => {
    const { code, lines } = await run(flags({ ...testSettings(tempDir("listen")), port: 4710, host: "203.0.113.5" }));
    expect(code).toBe(1);
    const told = "not started: host 203.0.113.5, port 4710: cannot listen: that address is not this machine's";
    expect(lines.at(-1)?.msg).toBe(
      `${told} (EADDRNOTAVAIL); choose another host: 127.0.0.1 for this machine alone, 0.0.0.0 for all of its addresses`,
    );
  });
});

describe("O04 signals", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`O04 ${signal} stops it cleanly: exit code 0, and the next start has nothing to recover`, async () => {
      const settings = testSettings(tempDir("o04"));
      const broker = await spawnReady(settings);
      const wire = await connectTo(broker);
      await wire.ask(produce(Array.from({ length: 100 }, (_, i) => ascii(`${i}`))));
      broker.kill(signal);
      expect(await broker.exited).toEqual({ code: 0, signal: null });
      await wire.closed;
      const again = await spawnReady(settings);
      expect(readFetched(await (await connectTo(again)).ask(fetch(0))).highWatermark).toBe(100);
      expect(again.lines.filter(({ kind }) => kind === "recovery.torn")).toEqual([]);
    });
  }

  it("O04 signals that ask other programs to open their logs anew neither end it nor open a debugger, and are told", async () => {
    const broker = await spawnReady(testSettings(tempDir("o04")));
    for (const signal of ["SIGUSR1", "SIGUSR2"] as const) {
      broker.kill(signal);
      const told = () => broker.lines.filter(({ kind, signal: of }) => kind === "signal.ignored" && of === signal);
      await expect.poll(told, { timeout: 10_000 }).toHaveLength(1);
    }
    await (await connectTo(broker)).ask(produce([ascii("x")]));
    expect(await broker.stop()).toBe(0);
    expect(broker.stderr).not.toContain("Debugger");
  });

  it("O04 a start that does not come to an end is given up after stop.timeout.ms as well", async () => {
    const dataDir = tempDir("o04");
    // Whoever opens it to read waits for somebody who writes.
    mkdirSync(join(dataDir, "orders-0"));
    const pipe = join(dataDir, "orders-0", "partition.json");
    execFileSync("mkfifo", [pipe]);
    const broker = spawnBroker(flags({ ...testSettings(dataDir), "stop.timeout.ms": "300ms" }));
    while (!broker.lines.some(({ kind }) => kind === "broker.starting")) await pause(10);
    broker.kill("SIGTERM");
    while (!broker.lines.some(({ kind }) => kind === "broker.gave-up")) await pause(10);
    // Lets a thread of it go that still waits there, as Node may wait for that one; without waiting itself where nobody is left.
    try {
      closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
    } catch (error) {
      expect(error).toMatchObject({ code: "ENXIO" });
    }
    expect(await broker.exited).toEqual({ code: 1, signal: null });
    expect(broker.stdout).toBe("");
  });

  it("O04 a second signal ends it at once, with exit code 1", async () => {
    // A client that takes nothing keeps the first stop waiting.
    const broker = await spawnReady({ ...testSettings(tempDir("o04")), "stop.timeout.ms": "20s" });
    const wire = await connectTo(broker);
    await wire.ask(produce([new Uint8Array(1_000_000)]));
    wire.socket.pause();
    for (let i = 0; i < 200; i++) wire.send(fetch(0, { maxBytes: 1_000_000 }));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = performance.now();
    broker.kill("SIGTERM");
    await new Promise((resolve) => setTimeout(resolve, 200));
    broker.kill("SIGINT");
    expect(await broker.exited).toEqual({ code: 1, signal: null });
    expect(performance.now() - before).toBeLessThan(5_000);
    expect(broker.lines.at(-1)).toMatchObject({ kind: "broker.gave-up" });
  });
});

describe("a broker that is killed", () => {
  for (const mode of ["MAPPED", "FILE_CHANNEL"]) {
    for (const format of ["plain", "crc32c"]) {
      it(`${mode}, ${format}: has everything that was acknowledged when it is started again`, async () => {
        const settings = { ...testSettings(tempDir("kill")), "segment.mode": mode, "record.format": format };
        const headerBytes = format === "plain" ? 4 : 8;
        let acknowledged = 0;
        for (let round = 0; round < 3; round++) {
          const broker = await spawnReady(settings);
          const wire = await connectTo(broker);
          let sent = readFetched(await wire.ask(fetch(0))).highWatermark;
          expect(sent).toBeGreaterThanOrEqual(acknowledged);
          const write = async (): Promise<void> => {
            const batch = Array.from({ length: 20 }, () => ascii(`record ${sent++}`));
            acknowledged = readProduced(await wire.ask(produce(batch, { ack: 1 }))).base + 20;
          };
          // The time counts from the first answer on: before it a busy machine may take longer than that.
          await write();
          const killed = pause(150).then(() => broker.kill("SIGKILL"));
          try {
            for (;;) await write();
          } catch {
            // the connection ended with the broker
          }
          await killed;
          await broker.exited;
        }
        const wire = await connectTo(await spawnReady(settings));
        const got: Uint8Array[] = [];
        for (;;) {
          const { payload } = readFetched(await wire.ask(fetch(got.length)));
          if (payload.length === 0) break;
          got.push(...readStored(payload, headerBytes).payloads);
        }
        expect(got.length).toBeGreaterThanOrEqual(acknowledged);
        expect(acknowledged).toBeGreaterThan(0);
        for (const [i, record] of got.entries()) expect(Buffer.from(record).toString()).toBe(`record ${i}`);
      });
    }
  }
});
