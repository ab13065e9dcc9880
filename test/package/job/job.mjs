// The main job, by whoever has just installed millrace: copied into that project and run there, by the tests of the package on each Node
// and by the workflow on each system. A broker by the command, records in and out by the command and by the client, a broker and a log
// inside a program, the addon in two worker threads. Plain JavaScript that knows nothing of this repository. Prints a line for each part.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { openLog, startBroker } from "millrace";
import { Connection, Consumer, recordRegion } from "millrace/client";

const dir = mkdtempSync(join(process.env.JOB_DIR ?? tmpdir(), "millrace job "));
const program = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "node_modules/.bin/millrace");
const records = Array.from({ length: 1000 }, (_, at) => `record ${at}`);
const lines = `${records.join("\n")}\n`;

/** The command to its end: what it printed. */
async function millrace(args, input = "") {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(input);
  let printed = "";
  for await (const text of child.stdout.setEncoding("utf8")) printed += text;
  const code = child.exitCode ?? (await new Promise((resolve) => child.once("exit", resolve)));
  assert.equal(code, 0, `millrace ${args.join(" ")} ended with ${code}`);
  return printed;
}

async function produceAndConsume(broker, topic) {
  const connection = await Connection.connect({ broker });
  const { baseOffset } = await connection.produce(topic, 0, recordRegion(records));
  const consumer = await Consumer.open(connection, { topic, partition: 0, from: baseOffset });
  const got = [];
  while (got.length < records.length) {
    for (const record of await consumer.poll()) got.push(Buffer.from(record).toString());
  }
  await connection.close();
  assert.deepEqual(got, records);
}

const parts = {
  async "the broker as a command, with the command and with the client"() {
    const settings = [
      "--data-dir",
      join(dir, "broker"),
      "--port",
      "0",
      "--ops-enabled",
      "false",
      "--topics",
      "a:1,b:1",
    ];
    const broker = spawn(program, ["serve", ...settings], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise((resolve) => broker.once("exit", (code, signal) => resolve(code ?? signal)));
    try {
      const ready = await new Promise((resolve, reject) => {
        broker.stdout.setEncoding("utf8").once("data", resolve);
        void ended.then((how) => reject(new Error(`the broker ended with ${how}`)));
      });
      const address = `127.0.0.1:${/ port=(\d+) /.exec(ready)[1]}`;
      await millrace(["produce", "a", "--broker", address], lines);
      assert.equal(await millrace(["consume", "a", "--from", "earliest", "--until-end", "--broker", address]), lines);
      await produceAndConsume(address, "b");
      assert.match(await millrace(["health", "--broker", address]), /^ok /);
      broker.kill("SIGTERM");
      assert.equal(await ended, 0);
    } finally {
      broker.kill("SIGKILL");
    }
    await millrace(["verify", join(dir, "broker")]);
  },

  async "a broker inside a program"() {
    const broker = await startBroker({ ephemeral: true, settings: { topics: "a:1" } });
    await produceAndConsume(broker.address, "a");
    assert.equal(await broker.stop(), true);
  },

  async "a log inside a program"() {
    const log = await openLog(join(dir, "log"));
    await log.appendBatch(records.map((record) => Buffer.from(record)));
    const got = [];
    for await (const { payload } of log.replay(0)) got.push(Buffer.from(payload).toString());
    await log.close();
    assert.deepEqual(got, records);
  },

  async "logs in two worker threads at once"() {
    const workers = [1, 2].map(
      (name) => new Worker(new URL("worker.mjs", import.meta.url), { workerData: join(dir, `${name}`) }),
    );
    const ends = workers.map(
      (worker) =>
        new Promise((resolve, reject) => {
          worker.once("message", resolve);
          worker.once("error", reject);
        }),
    );
    assert.deepEqual(await Promise.all(ends), [100, 100]);
  },
};

try {
  for (const [name, action] of Object.entries(parts)) {
    await action();
    console.log(`done: ${name}`);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
