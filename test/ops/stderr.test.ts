// What the program says on stderr, and that whoever reads it, slowly, not at all or not any more, never decides whether the
// broker runs or how it ends. Real processes.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { brokerProgram, flags, spawnBroker, spawnReady, testSettings } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

const run = async (args: readonly string[], options?: Parameters<typeof spawnBroker>[1]) => {
  const broker = spawnBroker(args, options);
  const { code } = await broker.exited;
  return { code, stderr: broker.stderr, lines: broker.lines };
};

/** A data directory in which topic a has more partitions than is configured below. */
function withTwentyPartitions(): Record<string, unknown> {
  const dataDir = tempDir("stderr");
  for (let i = 0; i < 20; i++) mkdirSync(join(dataDir, `a-${i}`));
  return { ...testSettings(dataDir), topics: "a:2" };
}

/** Lets nobody read the child's stderr any more. */
const closeStderr = (child: ChildProcess): void => void child.stderr?.destroy();

describe("O01 a start that is refused", () => {
  it("O01 is told in one plain sentence that says it once, after a JSON line without a stack", async () => {
    const { code, stderr, lines } = await run(flags(withTwentyPartitions()));
    expect(code).toBe(2);
    const sentence = "topics: got a:2, and a has 20 partitions in the data directory; takes 20 or more";
    expect(stderr.trimEnd().split("\n").at(-1)).toContain(`millrace: not started: ${sentence}`);
    const told = lines.find(({ kind }) => kind === "broker.not-started");
    expect(told).toMatchObject({ level: "fatal", code: "BAD_CONFIG" });
    expect(JSON.stringify(told).split(sentence)).toHaveLength(2);
    expect(JSON.stringify(told)).not.toContain(".ts:");
    expect(told).not.toHaveProperty("err");
  });

  it("O01 is told in the same way for a wrong setting, for connections, and for a directory in use", async () => {
    const wrong = await run(["--prot=1", "--port=x"]);
    expect(wrong.stderr).toContain("millrace: --prot: no such flag");
    expect(wrong.lines).toMatchObject([{ kind: "broker.not-started", code: "BAD_CONFIG", level: "fatal" }]);
    expect(wrong.lines[0]?.problems).toHaveLength(2);
    const many = await run([...flags(testSettings(tempDir("stderr"))), "--connections-max=999999"]);
    expect(many.stderr).toMatch(/^millrace: not started: connections\.max: got 999999, .* ulimit -n\)$/m);
    const settings = testSettings(tempDir("stderr"));
    await spawnReady(settings);
    const second = await run(flags(settings));
    expect(second.code).toBe(3);
    expect(second.stderr).toMatch(/^millrace: not started: data\.dir .* in use by process \d+; stop that one, or /m);
  });

  it("O01 is told in the same way where no addon fits, and settings can be looked at without one", async () => {
    // The loader takes it for the system that it is asked to load for.
    const environment = { npm_config_platform: "win32" };
    const { code, stderr, lines } = await run(flags(testSettings(tempDir("stderr"))), { environment });
    expect(code).toBe(1);
    expect(lines).toMatchObject([{ kind: "broker.not-started", code: "ADDON_UNAVAILABLE", level: "fatal" }]);
    const plain = stderr.trimEnd().split("\n").slice(1);
    expect(plain).toEqual([expect.stringMatching(/^millrace: not started: millrace runs on Linux and macOS; win32-/)]);
    expect((await run(["--print-config"], { environment })).code).toBe(0);
  });

  it("O01 is only the sentence on a terminal", async () => {
    const shown = execFileSync("python3", ["-c", TERMINAL, process.execPath, brokerProgram(), "--prot=1"], {
      cwd: tempDir("stderr"),
      encoding: "utf8",
    });
    expect(shown.replaceAll("\r", "")).toBe(
      "millrace: --prot: no such flag; did you mean --port?\nmillrace: not started; --help lists all settings\ncode 2\n",
    );
  });

  it("O01 has its exit code when nobody reads stderr any more", async () => {
    for (const args of [flags(withTwentyPartitions()), ["--prot=1"]]) {
      const broker = spawnBroker(args);
      closeStderr(broker.child);
      expect(await broker.exited).toEqual({ code: 2, signal: null });
    }
  });
});

describe("a reader of stderr", () => {
  it("that goes away does not end the broker, nor keep it from ending", async () => {
    const broker = await spawnReady(testSettings(tempDir("stderr")));
    closeStderr(broker.child);
    expect(await broker.stop()).toBe(0);
  });

  it("that takes nothing does not keep the broker from starting and ending; what it reads then is in order", async () => {
    const fifo = join(tempDir("stderr"), "fifo");
    execFileSync("mkfifo", [fifo]);
    // 2000 topics that are not configured are 2000 lines, more than a pipe takes.
    const dataDir = tempDir("stderr");
    for (let i = 0; i < 2_000; i++) mkdirSync(join(dataDir, `t${i}-0`));
    const holder = spawn("sh", ["-c", `exec 3<${fifo}; read line; cat <&3`], { stdio: ["pipe", "pipe", "ignore"] });
    onTestFinished(() => void holder.kill("SIGKILL"));
    let read = "";
    holder.stdout.on("data", (chunk: Buffer) => {
      read += chunk.toString();
    });
    const broker = spawnBroker(flags(testSettings(dataDir)), {
      wrapper: ["sh", "-c", `exec "$@" 2>${fifo}`, "sh"],
    });
    await broker.ready();
    expect(await broker.stop()).toBe(0);
    holder.stdin.end("\n");
    await new Promise((resolve) => holder.once("close", resolve));
    const told = [...read.matchAll(/"topic":"t(\d+)"/g)].map(([, n]) => Number(n));
    expect(told.length).toBeGreaterThan(100);
    const times = read.split("\n").flatMap((line) => /"time":"([^"]+)"/.exec(line)?.[1] ?? []);
    expect(times).toEqual([...times].sort());
  });

  it("that is a terminal held with ^S does not stop the loop", async () => {
    const dataDir = tempDir("stderr");
    for (let i = 0; i < 2_000; i++) mkdirSync(join(dataDir, `t${i}-0`));
    const command = [process.execPath, brokerProgram(), ...flags(testSettings(dataDir))];
    const held = spawn("python3", ["-c", HELD_TERMINAL, ...command]);
    onTestFinished(() => void held.kill("SIGKILL"));
    let out = "";
    held.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
    const code = await new Promise((resolve) => held.once("close", resolve));
    expect(out).toContain("millrace ready ");
    expect(code).toBe(0);
  });
});

/** Runs a program with a terminal that takes nothing as its stderr; ends it when it is ready, and with its exit code. */
const HELD_TERMINAL = `
import os, subprocess, sys
master, slave = os.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave)
line = child.stdout.readline()
os.write(1, line)
child.terminate()
try:
    sys.exit(child.wait(10))
finally:
    child.kill()
`;

/** Runs a program with a terminal as its stderr, and shows what was on it and the exit code. */
const TERMINAL = `
import os, subprocess, sys
master, slave = os.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stderr=slave)
os.close(slave)
code = child.wait()
shown = os.read(master, 65536)
os.write(1, shown + b"code %d\\n" % code)
`;

describe("O04 a terminal that is closed", () => {
  it("O04 stops the broker cleanly", async () => {
    const broker = await spawnReady(testSettings(tempDir("stderr")));
    broker.kill("SIGHUP");
    expect(await broker.exited).toEqual({ code: 0, signal: null });
  });
});
