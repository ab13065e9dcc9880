// The examples of --help, as docs/cli.md has them, in a shell, on a broker that has what they speak of.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import { type BrokerProcess, spawnReady, testSettings } from "../support/broker.js";
import { cliProgram } from "../support/cli.js";
import { tempDir } from "../support/tmp.js";

const page = readFileSync(join(packageRoot(), "docs/cli.md"), "utf8");
const hasJq = spawnSync("jq", ["--version"], { stdio: "ignore" }).status === 0;

/** By verb, in the order of the page. */
const examples = page
  .split(/^## /m)
  .slice(1)
  .flatMap((section) => {
    const verb = section.split("\n", 1)[0] ?? "";
    return [...section.matchAll(/^ {2}\$ (.*)$/gm)].map(([, command = ""]) => ({ verb, command }));
  });

/** What stands for places and amounts that a test does not have. */
function here(command: string, broker: BrokerProcess): string {
  const smaller = command
    .replace("127.0.0.1:4710", `127.0.0.1:${broker.port}`)
    .replace("/mnt/other/", "../other/")
    .replace("/var/lib/millrace", "./millrace-data")
    .replace("--duration 30s", "")
    .replace("--rate 20000", "--rate 2000")
    .replace(/^millrace bench/, "millrace bench --duration 300ms --warm-up 0")
    .replace("--port 4720 --ops-port 4721", "--port 0 --ops-port 0");
  return hasJq ? smaller : smaller.replace(/ \| jq .*$/, "");
}

const followsOn = /^tail -F|--from latest \|/;

it("each example does what it shows", async () => {
  const dir = join(tempDir("examples"), "work");
  for (const made of ["home/.zfunc", "home/.config/fish/completions", "../other"]) {
    mkdirSync(join(dir, made), { recursive: true });
  }
  const topics = "orders:3,logs:1,events:2,blobs:1,bench:2";
  const broker = await spawnReady({ ...testSettings(join(dir, "millrace-data")), topics });
  writeFileSync(join(dir, "orders.log"), Array.from({ length: 1500 }, (_, i) => `order ${i}\n`).join(""));
  writeFileSync(join(dir, "app.log"), "started\n\nstopped\n");

  const run = (command: string, seconds?: number) =>
    new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
      const millrace = `millrace() { "${process.execPath}" "${cliProgram()}" "$@"; }`;
      const child = spawn("bash", ["--norc", "-c", `set -o pipefail; ${millrace}\n${command}`], {
        cwd: dir,
        detached: true,
        env: {
          PATH: process.env.PATH,
          HOME: join(dir, "home"),
          MILLRACE_BROKER: `127.0.0.1:${broker.port}`,
          MILLRACE_DISK_RESERVE_BYTES: "0",
        },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const end = (signal: NodeJS.Signals): void => {
        try {
          process.kill(-(child.pid ?? 0), signal);
        } catch {
          // It has ended.
        }
      };
      onTestFinished(() => end("SIGKILL"));
      if (seconds !== undefined) setTimeout(() => end("SIGTERM"), seconds * 1000);
      const shown = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const) {
        child[name].on("data", (chunk: Buffer) => {
          shown[name] += chunk.toString();
        });
      }
      child.once("close", (code) => resolve({ code, ...shown }));
    });

  for (const partition of [0, 1, 2]) {
    const { code } = await run(`millrace produce orders --partition ${partition} < orders.log`);
    expect(code).toBe(0);
  }
  // A repair wants the broker stopped.
  const offline = examples.filter(({ command }) => command.includes("--repair"));
  const seen = new Map<string, number>();
  for (const { verb, command } of examples) {
    seen.set(verb, (seen.get(verb) ?? 0) + 1);
    if (command.includes("--repair")) continue;
    const isServe = command.startsWith("millrace serve");
    const { code, stdout, stderr } = await run(
      here(command, broker),
      followsOn.test(command) ? 1.5 : isServe ? 3 : undefined,
    );
    if (followsOn.test(command))
      expect({ command, stderr }).toEqual({ command, stderr: expect.not.stringMatching(/error|ECONN/i) });
    else if (isServe)
      expect({ command, stdout }).toEqual({ command, stdout: expect.stringMatching(/^millrace ready /) });
    else expect({ command, code, stderr: code === 0 ? "" : stderr }).toEqual({ command, code: 0, stderr: "" });
    if (command.includes("| jq")) expect(stdout.trim(), command).not.toMatch(/^(|null)$/);
  }
  expect(Object.fromEntries(seen)).toMatchObject({
    produce: 4,
    consume: 5,
    topics: 3,
    offsets: 3,
    health: 1,
    verify: 2,
  });
  const logs = await run("millrace consume logs --until-end");
  expect(logs.stdout).toBe("started\nstopped\n");

  expect(await broker.stop()).toBe(0);
  for (const { command } of offline) expect({ command, ...(await run(command)) }).toMatchObject({ command, code: 0 });
}, 90_000);
