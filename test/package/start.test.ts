// What a start costs with the installed package and defaults: time to the ready line beyond that of Node itself, both in one run and in
// turns, and resident memory when idle. The best of several, as each other program of this machine can only add to it.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tempDir } from "../support/tmp.js";
import { type Project, projectWithMillrace } from "./support/project.js";

const rounds = 7;
const startMs = 300;
const residentMiB = 90;

interface Started {
  readonly readyMs: number;
  readonly residentMiB: number;
}

/** Starts a program of Node, waits for its first line, then until it has been idle for a while. */
async function start(project: Project, args: readonly string[]): Promise<Started> {
  const since = performance.now();
  const child = spawn(project.node, args, { env: project.env, stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    await new Promise((resolve, reject) => {
      child.stdout.once("data", resolve);
      void ended.then(() => reject(new Error(`${args.join(" ")} ended before its first line`)));
    });
    const readyMs = performance.now() - since;
    await new Promise((resolve) => setTimeout(resolve, 500));
    return { readyMs, residentMiB: process.platform === "linux" ? resident(child.pid ?? 0) : 0 };
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

function resident(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

const least = (starts: readonly Started[], of: keyof Started): number => Math.min(...starts.map((each) => each[of]));

it("O01: a broker with defaults is ready within 300 ms beyond Node's own start, and rests in less than 90 MiB", async (context) => {
  const project = await projectWithMillrace(context);
  const brokers: Started[] = [];
  const bare: Started[] = [];
  for (let round = 0; round < rounds; round++) {
    bare.push(await start(project, ["-e", 'console.log("ready"); setInterval(() => {}, 1000)']));
    // Defaults, but for what would meet another broker of this machine.
    const where = ["--data-dir", tempDir("start"), "--port", "0", "--ops-port", "0"];
    brokers.push(await start(project, [join(project.installed, "dist/broker.js"), ...where]));
  }
  const beyond = least(brokers, "readyMs") - least(bare, "readyMs");
  const memory = least(brokers, "residentMiB");
  console.log(
    `ready ${beyond.toFixed(0)} ms after Node would be (${least(bare, "readyMs").toFixed(0)} ms), ${memory.toFixed(1)} MiB resident`,
  );
  expect(beyond).toBeGreaterThan(0);
  expect(beyond).toBeLessThan(startMs);
  if (process.platform !== "linux") context.skip("resident memory is read from /proc");
  expect(memory).toBeGreaterThan(0);
  expect(memory).toBeLessThan(residentMiB);
});
