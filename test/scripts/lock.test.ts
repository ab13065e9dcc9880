// The lock of the set-up, between real processes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { tempDir } from "../support/tmp.js";
import { importScript, scriptPath } from "./module.js";

interface Lock {
  takeLock(path: string, onWait?: (pid: number) => void): Promise<() => void>;
}

const { takeLock } = await importScript<Lock>("lib/lock.mjs");

const inChild = (body: string) =>
  spawn(process.execPath, [
    "--input-type=module",
    "-e",
    `import { takeLock } from ${JSON.stringify(pathToFileURL(scriptPath("lib/lock.mjs")).href)};
     import { appendFileSync } from "node:fs";
     ${body}`,
  ]);

it("lets one process in at a time", async () => {
  const dir = tempDir("lock");
  const trace = join(dir, "trace");
  const children = Array.from({ length: 6 }, () =>
    inChild(`const letGo = await takeLock(${JSON.stringify(join(dir, "lock"))});
      appendFileSync(${JSON.stringify(trace)}, "in ");
      await new Promise((resolve) => setTimeout(resolve, 20));
      appendFileSync(${JSON.stringify(trace)}, "out ");
      letGo();`),
  );
  const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
  expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
  expect(readFileSync(trace, "utf8")).toBe("in out ".repeat(6));
});

it("is taken over at once from an owner that was killed", async () => {
  const path = join(tempDir("lock"), "lock");
  const child = inChild(`await takeLock(${JSON.stringify(path)}); console.log("held"); setInterval(() => {}, 1000);`);
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
  const waited: number[] = [];
  const letGo = await takeLock(path, (pid) => waited.push(pid));
  expect(waited).toEqual([]);
  letGo();
});

it("tells who has it, and waits", async () => {
  const path = join(tempDir("lock"), "lock");
  const letGo = await takeLock(path);
  const second = new Promise<() => void>((resolve, reject) => {
    takeLock(path, (pid) => {
      expect(pid).toBe(process.pid);
      letGo();
    }).then(resolve, reject);
  });
  (await second)();
});

it("is taken over from an owner elsewhere that has been silent for long", async () => {
  const path = join(tempDir("lock"), "lock");
  mkdirSync(path);
  const owner = join(path, "1-x");
  writeFileSync(owner, JSON.stringify({ pid: 1, host: "another-machine" }));
  utimesSync(owner, new Date(), new Date(Date.now() - 60_000));
  (await takeLock(path))();
});
