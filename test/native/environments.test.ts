// Native objects when what is around them goes: dropped and collected in every state, worker_threads that come, end and are
// terminated in the middle of barriers and scans, processes that exit and are killed while busy.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { AppendStatus } from "../../src/native/binding.js";
import { tempDir } from "../support/tmp.js";
import { append, created, optionsOf, payloads } from "./support/segments.js";

const script = (name: string): string => fileURLToPath(new URL(`support/${name}`, import.meta.url));
const run = promisify(execFile);

const busyWorker = (dir: string, name: string, rounds: number): Worker =>
  new Worker(script("busy.mjs"), { workerData: { dir, name, rounds } });

it("what is forgotten is collected in every state, cuts nothing that it should not, and what was under way is finished", async () => {
  const { stdout } = await run(process.execPath, ["--expose-gc", script("forgotten.mjs"), tempDir("gc")]);
  expect(JSON.parse(stdout)).toEqual({
    collected: 10,
    sizes: { "open-0": 7, "open-1": 4 << 20, "busy-0": 7, "busy-1": 4 << 20, "sealing-0": 7, "sealing-1": 7 },
    heads: true,
    released: true,
  });
});

it("two worker_threads use the addon beside the main thread, and each ends by itself", async () => {
  const dir = tempDir("workers");
  const workers = ["a", "b"].map((name) => busyWorker(dir, name, 2));
  const writer = await created(optionsOf({ path: "MAPPED", format: "crc32c" }));
  expect(append(writer, payloads([10])).status).toBe(AppendStatus.OK);
  const codes = await Promise.all(workers.map(async (worker) => (await once(worker, "exit"))[0] as number));
  expect(codes).toEqual([0, 0]);
  expect(readdirSync(dir)).toEqual([]);
  expect(await writer.barrier()).toBe(18);
});

it("worker_threads are terminated in the middle of barriers, scans and reads, again and again", async () => {
  const dir = tempDir("workers");
  for (let round = 0; round < 6; round++) {
    const workers = [0, 1].map((index) => busyWorker(dir, `${round}-${index}`, 0));
    await Promise.all(workers.map((worker) => once(worker, "message")));
    await new Promise((resolve) => setTimeout(resolve, round * 3));
    expect(await Promise.all(workers.map((worker) => worker.terminate()))).toEqual([1, 1]);
  }
  const writer = await created(optionsOf({ path: "MAPPED", format: "crc32c" }));
  append(writer, payloads([10]));
  expect(await writer.barrier()).toBe(18);
});

it("a process whose only work is a promise of the addon waits for it, and then ends by itself", async () => {
  const { stdout } = await run(process.execPath, [script("busy.mjs"), tempDir("busy"), "only", "1"]);
  expect(stdout).toBe("busy\n");
});

it("a process that exits in the middle of everything ends with its own code", async () => {
  const code = `process.argv.splice(1, 1, process.argv[1]); setTimeout(() => process.exit(7), 60); await import(${JSON.stringify(script("busy.mjs"))});`;
  for (let round = 0; round < 3; round++) {
    const args = ["--input-type=module", "-e", code, "-", tempDir("busy"), "exit", "0"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    expect(await once(child, "exit")).toEqual([7, null]);
  }
});
