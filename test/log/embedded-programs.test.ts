// The embedded log in processes of their own: the example of its documentation, and how such a process ends.

import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { openLog } from "../../src/index.js";
import { tempDir } from "../support/tmp.js";
import { runProgram } from "./support/program.js";
import { bytesOf, collect, texts } from "./support/records.js";

it("the examples of its documentation run and print what one expects", async () => {
  const files = ["embedded.ts", "embedded-log.ts"].map((name) => new URL(`../../src/log/${name}`, import.meta.url));
  const source = (await Promise.all(files.map((file) => readFile(file, "utf8")))).join("\n");
  const examples = [...source.matchAll(/@example\n *\* ```ts\n([\s\S]*?) *\* ```/g)].map(([, code = ""]) =>
    code.replaceAll(/^ *\* ?/gm, ""),
  );
  const prints = ["0 signed up\n1 paid\n2 sent\n", "0 it begins\n", "today\n"];
  expect(examples).toHaveLength(prints.length);
  for (const [i, example] of examples.entries()) {
    const { code, stdout, stderr } = await runProgram(example, tempDir());
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: prints[i], stderr: "" });
  }
});

const open = `
  import { openLog } from "millrace";
  const log = await openLog("log", { diskReserveBytes: 0 });
  const bytes = (text: string) => new TextEncoder().encode(text);`;

it("an open log keeps no process alive, and what was acknowledged is there when it has ended without closing", async () => {
  const dir = tempDir();
  const program = `${open}
    await log.append(bytes("forced"));
    await log.append(bytes("written"), { ack: "written" });
    console.log("done", log.logEndOffset);`;
  const { code, stdout, stderr, ms } = await runProgram(program, dir);
  expect([code, stdout, stderr]).toEqual([0, "done 2\n", ""]);
  // Soon, and not when some timer has run out.
  expect(ms).toBeLessThan(8000);
  await using log = await openLog(`${dir}/log`, { diskReserveBytes: 0 });
  // The end of a process is not a loss of power: what was only written is there, too.
  expect(texts(await collect(log))).toEqual(["forced", "written"]);
});

it("a process with an append under way lives until that has ended", async () => {
  const program = `${open}
    void log.append(bytes("a")).then((offset) => console.log("forced", offset));`;
  const { code, stdout } = await runProgram(program, tempDir());
  expect([code, stdout]).toEqual([0, "forced 0\n"]);
});

it("an append that nobody catches ends the process as any rejected promise does", async () => {
  const program = `${open}
    await log.close();
    await log.append(bytes("late"));`;
  const { code, stderr } = await runProgram(program, tempDir());
  expect(code).toBe(1);
  expect(stderr).toContain("CLOSED");
});

it("after a kill in the middle of appending, all that was acknowledged is there, in order and without gaps", async () => {
  const dir = tempDir();
  const program = `${open}
    import { writeSync } from "node:fs";
    let next = 0;
    const producer = async () => {
      while (next < 1_000_000) {
        const n = next++;
        const offset = await log.append(bytes("record " + n), { ack: n % 10 === 0 ? "forced" : "written" });
        writeSync(1, n + " " + offset + "\\n");
      }
    };
    setTimeout(() => process.kill(process.pid, "SIGKILL"), 700);
    await Promise.all(Array.from({ length: 20 }, producer));`;
  const { stdout } = await runProgram(program, dir);
  const acknowledged = stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split(" ").map(Number) as [number, number]);
  expect(acknowledged.length).toBeGreaterThan(100);
  await using log = await openLog(`${dir}/log`, { diskReserveBytes: 0 });
  const there = await collect(log);
  expect(there.map(({ offset }) => offset)).toEqual(there.map((_, n) => n));
  const all = texts(there);
  for (const [n, offset] of acknowledged) expect(all[offset]).toBe(`record ${n}`);
  expect(await log.append(bytesOf("next"))).toBe(there.length);
});

it("a worker thread that is ended in the middle of appending lets go of the log, and what it acknowledged is there", async () => {
  const program = `
    import { isMainThread, parentPort, Worker } from "node:worker_threads";
    ${open.replace("const log = await", "const openHere = () =>")}
    if (!isMainThread) {
      const log = await openHere();
      for (let n = 0; ; n++) parentPort!.postMessage(await log.append(bytes("record " + n), { ack: n % 5 ? "written" : "forced" }));
    }
    for (let round = 0; round < 5; round++) {
      const worker = new Worker(new URL(import.meta.url));
      let acknowledged = -1;
      worker.on("message", (offset) => { acknowledged = offset; });
      await new Promise((resolve) => worker.once("message", resolve));
      await new Promise((resolve) => setTimeout(resolve, 20 * round));
      await worker.terminate();
      const log = await openHere();
      if (log.logEndOffset <= acknowledged) console.log("lost", acknowledged, log.logEndOffset);
      let next = 0;
      for await (const { offset } of log) if (offset !== next++) console.log("gap at", offset);
      await log.close();
    }
    console.log("done");`;
  const { code, stdout, stderr } = await runProgram(program, tempDir());
  expect([code, stdout, stderr]).toEqual([0, "done\n", ""]);
});

it("a process that waits for a record lives as long as it waits, and no longer", async () => {
  const program = `${open}
    const begun = performance.now();
    const { parked, timedOut } = await log.read(0, { maxWaitMs: 300 });
    console.log(parked, timedOut, performance.now() - begun >= 299);`;
  const { code, stdout, stderr, ms } = await runProgram(program, tempDir());
  expect([code, stdout, stderr]).toEqual([0, "true true true\n", ""]);
  expect(ms).toBeLessThan(8000);
});
