// `--checkpoint FILE`: a reader that comes back goes on where its output ended, and others can see how far it is.

import { EventEmitter } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Bookmark } from "../../src/cli/consume/bookmark.js";
import { Format } from "../../src/cli/consume/format.js";
import { Printer } from "../../src/cli/consume/printer.js";
import { Output } from "../../src/cli/output.js";
import { Progress } from "../../src/cli/progress.js";
import { RecordBatch } from "../../src/client/record-batch.js";
import { offset, partitionId } from "../../src/model/ids.js";
import { type BrokerProcess, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { CliProcess, jsonRows, millrace, type VerbOptions } from "../support/cli.js";
import { FakeBroker } from "../support/fake-broker.js";
import { tempDir } from "../support/tmp.js";

const newFile = (): string => join(tempDir("checkpoint"), "orders.checkpoint");

async function filled(counts: readonly number[]): Promise<FakeBroker> {
  const broker = await FakeBroker.start({ topics: { orders: counts.length } });
  counts.forEach((count, partition) => {
    more(broker, partition, 0, count);
  });
  return broker;
}

function more(broker: FakeBroker, partition: number, from: number, count: number): void {
  for (let i = from; i < from + count; i++) broker.log("orders", partition).push(ascii(`${partition}:${i}`));
}

const text = (partition: number, from: number, end: number) =>
  Array.from({ length: end - from }, (_, i) => `${partition}:${from + i}\n`).join("");

interface Kept {
  readonly positions: { topic: string; partition: number; offset: number; epoch: number }[];
}

const keptIn = (path: string): Record<number, number> =>
  Object.fromEntries(
    (JSON.parse(readFileSync(path, "utf8")) as Kept).positions.map(({ partition, offset }) => [partition, offset]),
  );

const consume = (broker: FakeBroker, file: string, args: readonly string[], options: VerbOptions = {}) =>
  millrace(["consume", "orders", "--broker", broker.address, "--checkpoint", file, ...args], options);

describe("consume --checkpoint", () => {
  it("begins where --from says the first time, and then where it ended, in every partition", async () => {
    const broker = await filled([3, 0, 5]);
    const file = newFile();
    expect((await consume(broker, file, ["--until-end"])).stdout).toBe(text(0, 0, 3) + text(2, 0, 5));
    expect(keptIn(file)).toEqual({ 0: 3, 1: 0, 2: 5 });
    expect(await consume(broker, file, ["--until-end"])).toMatchObject({ code: 0, stdout: "", stderr: "" });
    more(broker, 0, 3, 2);
    more(broker, 1, 0, 1);
    const again = await consume(broker, file, ["--until-end", "--from", "latest"]);
    expect(again.stdout).toBe(text(0, 3, 5) + text(1, 0, 1));
    expect(keptIn(file)).toEqual({ 0: 5, 1: 1, 2: 5 });
  });

  it("keeps what was printed and no more, with --max-records and with one partition", async () => {
    const broker = await filled([10, 10]);
    const file = newFile();
    const out: string[] = [];
    for (const count of ["4", "3", "100"]) {
      out.push((await consume(broker, file, ["--until-end", "--partition", "1", "--max-records", count])).stdout);
    }
    expect(out).toEqual([text(1, 0, 4), text(1, 4, 7), text(1, 7, 10)]);
    expect(keptIn(file)).toEqual({ 1: 10 });
  });

  it("misses nothing between two runs that begin at the end", async () => {
    const broker = await filled([3]);
    const file = newFile();
    const signals = new EventEmitter();
    const first = consume(broker, file, ["--from", "latest"], { signals });
    await vi.waitUntil(() => broker.fetches.length > 0);
    signals.emit("signal", "SIGINT");
    expect(await first).toMatchObject({ code: 130, stdout: "" });
    more(broker, 0, 3, 2);
    expect((await consume(broker, file, ["--from", "latest", "--until-end"])).stdout).toBe(text(0, 3, 5));
  });

  it("saves while it follows, beside the printing, and on ^C", async () => {
    const broker = await filled([3]);
    const file = newFile();
    const signals = new EventEmitter();
    const running = consume(broker, file, [], { signals });
    await vi.waitUntil(() => existsSync(file) && keptIn(file)[0] === 3);
    more(broker, 0, 3, 4);
    await vi.waitUntil(() => keptIn(file)[0] === 7, { timeout: 3000 });
    signals.emit("signal", "SIGTERM");
    expect(await running).toMatchObject({ code: 143, stdout: text(0, 0, 7) });
    expect(keptIn(file)).toEqual({ 0: 7 });
  });

  it("keeps nothing of what could not be written", async () => {
    const broker = await filled([200_000]);
    const file = newFile();
    const result = await consume(broker, file, ["--until-end"], { closeStdoutAfter: 300_000 });
    expect(result.code).toBe(0);
    const printed = result.stdout.split("\n").length - 1;
    expect(existsSync(file) ? (keptIn(file)[0] ?? 0) : 0).toBeLessThanOrEqual(printed);
  });

  it("writes what it has printed also when nothing can be saved any more", async () => {
    const written: Uint8Array[] = [];
    const output = new Output({ write: async (bytes) => void written.push(bytes.slice()) });
    const bookmark = new Bookmark(join(tempDir("checkpoint"), "nowhere", "orders.checkpoint"), "orders", output);
    const progress = new Progress(
      { stderr: { isTerminal: false, write: () => undefined }, stdoutIsTerminal: false },
      () => 0,
      "record",
    );
    const printer = new Printer(new Format("%s\n"), output, progress, Number.POSITIVE_INFINITY, bookmark);
    const batchOf = (at: number, record: string) => {
      const [ranges, end] = [Uint32Array.of(0, record.length), offset(at + 1)];
      return new RecordBatch("orders", partitionId(0), offset(at), end, ascii(record), ranges, 0);
    };
    const failed = { code: "CHECKPOINT_FAILED" };
    await printer.print(batchOf(0, "a"), 2);
    await expect(bookmark.flush()).rejects.toMatchObject(failed);
    await expect(printer.print(batchOf(1, "b"), 2)).rejects.toMatchObject(failed);
    await expect(printer.end()).rejects.toMatchObject(failed);
    expect(Buffer.concat(written).toString()).toBe("a\nb\n");
  });

  it("is told when its position is not in the log any more, and how to go on", async () => {
    const broker = await filled([10]);
    const file = newFile();
    await consume(broker, file, ["--until-end"]);
    // The log was cut, and begins anew.
    broker.log("orders", 0).splice(4);
    for (const args of [["--until-end"], []]) {
      const { code, stderr } = await consume(broker, file, args);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`the position is kept in ${file}`)]);
    }
    expect(keptIn(file)).toEqual({ 0: 10 });
  });

  it("refuses a file that is none of its own, and leaves it as it is", async () => {
    const broker = await filled([1]);
    const file = newFile();
    writeFileSync(file, "precious");
    const { code, stdout, stderr } = await consume(broker, file, ["--until-end"]);
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining("is no checkpoint file")]);
    expect(readFileSync(file, "utf8")).toBe("precious");
    const nowhere = await consume(broker, join(file, "x"), ["--until-end"]);
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining("checkpoint")]);
  });

  it("prints nothing when there is no directory for the file", async () => {
    const broker = await filled([10]);
    const directory = join(tempDir("checkpoint"), "nowhere");
    for (const args of [["--until-end"], []]) {
      const { code, stdout, stderr } = await consume(broker, join(directory, "orders.checkpoint"), args);
      expect([code, stdout, stderr]).toEqual([
        1,
        "",
        expect.stringContaining(`the directory ${directory} is not there`),
      ]);
    }
  });

  it("loses no record to kill -9, whenever it comes", async () => {
    const broker = await spawnReady(testSettings(tempDir("data")));
    const file = newFile();
    const at = ["--broker", `127.0.0.1:${broker.port}`];
    const produce = new CliProcess(["produce", "orders", ...at]);
    let produced = 0;
    const producing = setInterval(() => {
      const lines = Array.from({ length: 100 }, (_, i) => `${produced + i}\n`);
      produce.child.stdin?.write(lines.join(""));
      produced += lines.length;
    }, 10);
    const seen = new Set<number>();
    const ends: number[] = [];
    for (let run = 0; run < 5; run++) {
      const consumer = new CliProcess(["consume", "orders", "--checkpoint", file, ...at]);
      await vi.waitUntil(() => consumer.stdout.length > 0, { timeout: 10_000 });
      await new Promise((resolve) => setTimeout(resolve, run * 400));
      consumer.child.kill("SIGKILL");
      await consumer.exited;
      const lines = consumer.stdout.toString().split("\n").slice(0, -1).map(Number);
      // It began at or before the end of what was seen.
      expect(lines[0] ?? 0).toBeLessThanOrEqual(seen.size);
      for (const line of lines) seen.add(line);
      ends.push(existsSync(file) ? (keptIn(file)[0] ?? -1) : -1);
    }
    clearInterval(producing);
    produce.child.stdin?.end();
    expect((await produce.exited).code).toBe(0);
    const rest = new CliProcess(["consume", "orders", "--checkpoint", file, "--until-end", ...at]);
    expect((await rest.exited).code).toBe(0);
    for (const line of rest.stdout.toString().split("\n").slice(0, -1)) seen.add(Number(line));
    expect(seen.size).toBe(produced);
    expect(new Set(ends).size).toBeGreaterThan(1);
    expect([...ends].sort((a, b) => a - b)).toEqual(ends);
  }, 60_000);
});

const positions = (...offsets: readonly number[]): string => {
  const list = offsets.map((offset, partition) => ({ topic: "orders", partition, offset, epoch: 0 }));
  return JSON.stringify({ millrace: "checkpoint", version: 1, positions: list });
};

describe("topics and offsets", () => {
  it("say with --checkpoint how far a reader is behind", async () => {
    const broker = await filled([10, 10, 10]);
    broker.partition("orders", 1).start = 6;
    const file = newFile();
    writeFileSync(file, positions(7, 2));
    for (const verb of [["topics"], ["offsets", "orders"]]) {
      const { code, stdout } = await millrace([...verb, "--checkpoint", file, "--broker", broker.address]);
      expect(code).toBe(0);
      const lines = stdout.trimEnd().split("\n");
      expect(lines.map((line) => line.split(/ +/).at(-1))).toEqual(["LAG", "3", "4", "-"]);
      const json = await millrace([...verb, "--checkpoint", file, "--broker", broker.address, "--json"]);
      expect(jsonRows(json.stdout)).toMatchObject([
        { checkpointOffset: 7, lag: 3 },
        { checkpointOffset: 2, lag: 4 },
        { checkpointOffset: null, lag: null },
      ]);
    }
  });

  it("say how much room the partitions take, where their directory is named", async () => {
    const dataDir = tempDir("data");
    const broker: BrokerProcess = await spawnReady({ ...testSettings(dataDir), topics: "orders:2" });
    const at = ["--broker", `127.0.0.1:${broker.port}`];
    const stdin = [`${"x".repeat(1000)}\n`.repeat(3000)];
    expect((await millrace(["produce", "orders", "--partition", "0", ...at], { stdin })).code).toBe(0);
    const sizes = async (options: readonly string[], env = {}) =>
      jsonRows<{ sizeBytes?: number | null }>(
        (await millrace(["topics", "--json", ...options, ...at], { env })).stdout,
      ).map(({ sizeBytes }) => sizeBytes);
    const [full = 0, empty = 0] = await sizes(["--data-dir", dataDir]);
    expect(full).toBeGreaterThan(3_000_000);
    // Room that was reserved ahead counts, the length of the file does not.
    expect(empty ?? 0).toBeLessThan(full ?? 0);
    expect(await sizes([], { MILLRACE_DATA_DIR: dataDir })).toEqual([full, empty]);
    expect(await sizes([])).toEqual([undefined, undefined]);
    expect(await sizes([], { MILLRACE_DATA_DIR: tempDir("other") })).toEqual([null, null]);
    const table = (await millrace(["offsets", "orders", "--data-dir", dataDir, ...at])).stdout.split("\n");
    expect(table[0]).toMatch(/ RECORDS +SIZE$/);
    expect(table[1]).toMatch(new RegExp(` ${full}$`));
  });

  it("say that what was named is not there, and say it of a variable beside the rest", async () => {
    const broker = await filled([3]);
    const nowhere = join(tempDir("named"), "nowhere");
    const file = newFile();
    writeFileSync(file, "");
    const verbs = [["topics"], ["offsets", "orders"]].map((verb) => [...verb, "--broker", broker.address]);
    for (const verb of verbs) {
      for (const [option, path, says] of [
        ["--data-dir", nowhere, `there is no directory ${nowhere}: `],
        ["--data-dir", file, `there is no directory ${file}: `],
        ["--data-dir", tempDir("other"), " has none of these partitions: "],
        ["--checkpoint", nowhere, `there is no file ${nowhere}: `],
        ["--checkpoint", tempDir("other"), "there is no file "],
      ] as const) {
        const { code, stdout, stderr } = await millrace([...verb, option, path]);
        expect({ option, code, stdout }).toEqual({ option, code: 1, stdout: "" });
        expect(stderr).toContain(says);
      }
      const { code, stdout, stderr } = await millrace(verb, { env: { MILLRACE_DATA_DIR: nowhere } });
      expect([code, stderr]).toEqual([0, expect.stringContaining("as MILLRACE_DATA_DIR says: no SIZE is shown\n")]);
      expect(stdout).toMatch(/ RECORDS\n/);
    }
  });
});
