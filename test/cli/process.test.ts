// The program itself, with the system's pipes and files, against a broker in a process of its own.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type BrokerProcess, spawnReady, testSettings } from "../support/broker.js";
import { CliProcess, cliProgram, jsonRows } from "../support/cli.js";
import { tempDir } from "../support/tmp.js";

const LINES = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${"x".repeat(i % 90)}`);
const INPUT = `${LINES.join("\n")}\n`;

function inputFile(): string {
  const path = join(tempDir("input"), "in.log");
  writeFileSync(path, INPUT);
  return path;
}

/** It has written until nobody took more: what this process holds of it without reading on does not grow any longer. */
async function untilFull({ child }: CliProcess): Promise<void> {
  const held = (): number => child.stdout?.readableLength ?? 0;
  for (let before = 0; held() === 0 || held() !== before; ) {
    before = held();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

const brokerAt = ({ port }: BrokerProcess) => ["--broker", `127.0.0.1:${port}`];

async function filled(): Promise<BrokerProcess> {
  const broker = await spawnReady(testSettings(tempDir("data")));
  const produce = new CliProcess(["produce", "orders", ...brokerAt(broker)], { stdin: openSync(inputFile(), "r") });
  expect({ ...(await produce.exited), stderr: produce.stderr }).toEqual({ code: 0, signal: null, stderr: "" });
  return broker;
}

describe("the program", () => {
  it("does not take a directory for a file with nothing in it", async () => {
    const broker = await spawnReady(testSettings(tempDir("data")));
    const produce = new CliProcess(["produce", "orders", ...brokerAt(broker)], { stdin: openSync(tempDir("in"), "r") });
    expect((await produce.exited).code).toBe(1);
    expect(produce.stderr).toContain("stdin is a directory");
  });

  it("takes a file or a pipe in, and gives a file or a pipe out, byte for byte", async () => {
    const broker = await filled();
    const piped = new CliProcess(["produce", "orders", ...brokerAt(broker)]);
    piped.child.stdin?.end(INPUT);
    expect((await piped.exited).code).toBe(0);
    const toPipe = new CliProcess(["consume", "orders", "--until-end", ...brokerAt(broker)]);
    expect((await toPipe.exited).code).toBe(0);
    expect(toPipe.stdout.toString()).toBe(INPUT + INPUT);
    const path = join(tempDir("out"), "out.log");
    const toFile = new CliProcess(["consume", "orders", "--until-end", ...brokerAt(broker)], {
      stdout: openSync(path, "w"),
    });
    expect((await toFile.exited).code).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(INPUT + INPUT);
  });

  it("ends quietly when `head` has seen enough, with or without --until-end", async () => {
    const broker = await filled();
    for (const until of ["--until-end", ""]) {
      const command = `"$0" "$1" consume orders ${until} --broker 127.0.0.1:${broker.port} | head -n 3; echo "\${PIPESTATUS[0]}"`;
      const out = execFileSync("bash", ["-c", command, process.execPath, cliProgram()], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
      });
      expect(out).toBe(`${LINES.slice(0, 3).join("\n")}\n0\n`);
    }
  });

  it("fails when its output cannot be written, and a produce says what it has done", async () => {
    const broker = await filled();
    // One refuses with EBADF, the other with ENOSPC.
    const sinks = [openSync("/dev/null", "r"), ...(existsSync("/dev/full") ? [openSync("/dev/full", "w")] : [])];
    for (const stdout of sinks) {
      for (const args of [["consume", "orders", "--until-end"], ["topics"], ["offsets", "orders"], ["health"]]) {
        const verb = new CliProcess([...args, ...brokerAt(broker)], { stdout });
        expect({ args, ...(await verb.exited) }).toEqual({ args, code: 1, signal: null });
        expect(verb.stderr).toMatch(/^millrace: stdout cannot be written: E[A-Z]+: /);
      }
      const args = ["produce", "orders", "--print-offsets", ...brokerAt(broker)];
      const produce = new CliProcess(args, { stdout, stdin: openSync(inputFile(), "r") });
      expect((await produce.exited).code).toBe(1);
      expect(produce.stderr).toMatch(/^millrace: stdout cannot be written: E[A-Z]+: /);
      expect(produce.stderr).toContain("acknowledged 20000 lines");
    }
  });

  it("waits for a reader that is slow, without a deadline passing meanwhile", async () => {
    const broker = await filled();
    const consume = new CliProcess(["consume", "orders", "--until-end", ...brokerAt(broker)]);
    consume.child.stdout?.pause();
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(consume.child.exitCode).toBeNull();
    consume.child.stdout?.resume();
    expect((await consume.exited).code).toBe(0);
    expect(consume.stdout.toString()).toBe(INPUT);
  });

  it("follows, and prints what comes as it comes", async () => {
    const broker = await spawnReady(testSettings(tempDir("data")));
    const follow = new CliProcess(["consume", "orders", ...brokerAt(broker)]);
    for (const line of ["one", "two"]) {
      const produce = new CliProcess(["produce", "orders", ...brokerAt(broker)]);
      produce.child.stdin?.end(`${line}\n`);
      expect((await produce.exited).code).toBe(0);
      while (!follow.stdout.toString().endsWith(`${line}\n`)) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    follow.child.kill("SIGTERM");
    expect(await follow.exited).toEqual({ code: 143, signal: null });
    expect(follow.stderr).toBe("millrace: stopped by SIGTERM\n  printed 2 records\n");
  });

  it("ends with whole lines after ^C when its reader is slow, and at once after another when nobody reads", async () => {
    const broker = await filled();
    const slow = new CliProcess(["consume", "orders", ...brokerAt(broker)]);
    slow.child.stdout?.pause();
    await untilFull(slow);
    slow.child.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 200));
    slow.child.stdout?.resume();
    expect(await slow.exited).toEqual({ code: 130, signal: null });
    const out = slow.stdout.toString();
    expect(out.length).toBeLessThan(INPUT.length);
    expect(out.endsWith("\n") && INPUT.startsWith(out)).toBe(true);

    const stuck = new CliProcess(["consume", "orders", ...brokerAt(broker)]);
    stuck.child.stdout?.pause();
    const exited = new Promise((resolve) => stuck.child.once("exit", (_, signal) => resolve(signal)));
    await untilFull(stuck);
    stuck.child.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = performance.now();
    stuck.child.kill("SIGINT");
    // Its last write cannot end: the signal does what it does by itself, and a shell says 130.
    expect(await exited).toBe("SIGINT");
    expect(performance.now() - before).toBeLessThan(1500);
  });

  it("says what was acknowledged when the broker is killed under it, though stdin stays open", async () => {
    const broker = await spawnReady(testSettings(tempDir("data")));
    const produce = new CliProcess(["produce", "orders", "--print-offsets", "--linger-ms", "1", ...brokerAt(broker)]);
    produce.child.stdin?.write("one\ntwo\n");
    while (produce.stdout.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    broker.kill("SIGKILL");
    expect((await produce.exited).code).toBe(1);
    expect(produce.stderr).toContain("was lost");
    expect(produce.stderr).toContain("acknowledged 2 lines; read up to input line 2");
  });

  it("says on ^C what was acknowledged, and where to go on", async () => {
    const broker = await spawnReady(testSettings(tempDir("data")));
    const produce = new CliProcess(["produce", "orders", "--print-offsets", "--linger-ms", "1", ...brokerAt(broker)]);
    produce.child.stdin?.write("one\ntwo\nthr");
    while (produce.stdout.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    produce.child.kill("SIGINT");
    expect(await produce.exited).toEqual({ code: 130, signal: null });
    expect(produce.stderr).toContain("acknowledged 2 lines; read up to input line 2");
    expect(produce.stderr).toContain("go on from input line 3");
  });

  it("runs a broker: serve prints the ready line and nothing else on stdout, and stops cleanly on SIGTERM", async () => {
    const args = [
      cliProgram(),
      "serve",
      "--data-dir",
      tempDir("data"),
      "--port",
      "0",
      "--ops-enabled",
      "false",
      "--topics",
      "orders:2",
    ];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let stdout = "";
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    const exited = new Promise((resolve) => child.once("close", (code) => resolve(code)));
    while (!stdout.includes("\n")) await new Promise((resolve) => setTimeout(resolve, 5));
    const port = / port=(\d+) /.exec(stdout)?.[1];
    const topics = new CliProcess(["topics", "--json", "--broker", `127.0.0.1:${port}`]);
    expect((await topics.exited).code).toBe(0);
    expect(jsonRows(topics.stdout.toString())).toMatchObject([{ partition: 0 }, { partition: 1 }]);
    child.kill("SIGTERM");
    expect(await exited).toBe(0);
    expect(stdout).toMatch(/^millrace ready host=127\.0\.0\.1 port=\d+ ops=off pid=\d+ version=\S+\n$/);
  });

  it("leaves the broker's flags to the broker: its help, and its refusal of an unknown one", async () => {
    const help = new CliProcess(["serve", "--help"]);
    expect((await help.exited).code).toBe(0);
    expect(help.stdout.toString()).toContain("data.dir");
    const bad = new CliProcess(["serve", "--no-such-setting", "1"]);
    expect((await bad.exited).code).toBe(2);
    expect(bad.stderr).toContain("no-such-setting");
  });
});
