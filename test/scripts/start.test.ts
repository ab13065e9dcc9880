// `npm start` as people use it: what is on stdout, which signals reach the broker, how it ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";

/** Without what tests are told by the environment: a broker refuses a MILLRACE_ variable that is no setting of it. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_")));

/** A broker by `npm start` in a process group of its own, after its ready line. */
async function start() {
  const flags = ["--port", "0", "--ops-port", "0", "--data-dir", tempDir("start")];
  const npm = spawn("npm", ["start", "--", ...flags], {
    cwd: root,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(npm, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  let stdout = "";
  let stderr = "";
  npm.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const pid = await new Promise<number>((resolve, reject) => {
    npm.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
      const ready = /^millrace ready .* pid=(\d+) .*\n/m.exec(stdout)?.[1];
      if (ready !== undefined) resolve(Number(ready));
    });
    npm.once("exit", (code) => reject(new Error(`npm start ended with ${code}:\n${stdout}${stderr}`)));
  });
  return { npm, pid, exited, text: () => ({ stdout, stderr }) };
}

/** Lines on stdout that are not npm's banner. */
const own = (stdout: string): string[] => stdout.split("\n").filter((line) => line !== "" && !line.startsWith(">"));

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it("prints the ready line and nothing else, and SIGTERM to npm stops the broker cleanly", async () => {
  const { npm, pid, exited, text } = await start();
  npm.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  expect(isAlive(pid)).toBe(false);
  expect(own(text().stdout)).toEqual([
    expect.stringMatching(/^millrace ready host=127\.0\.0\.1 port=\d+ ops=\d+ pid=\d+ version=/),
  ]);
});

it("^C in a terminal, which reaches the broker twice, is one wish to stop", async () => {
  const { npm, exited, text } = await start();
  if (npm.pid === undefined) throw new Error("npm did not start");
  process.kill(-npm.pid, "SIGINT"); // to npm and to the broker; npm passes its own on
  expect(await exited, text().stderr).toEqual([0, null]);
});

it("a refusal to start is the exit code of npm start", async () => {
  const npm = spawn("npm", ["start", "--", "--no-such-flag"], { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  npm.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  expect(await once(npm, "exit")).toEqual([2, null]);
  expect(own(stdout)).toEqual([]);
});
