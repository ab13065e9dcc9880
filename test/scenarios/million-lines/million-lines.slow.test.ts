// The main job with real processes and real input: a million lines in, kills in the middle, and out again exactly what was
// acknowledged, byte for byte and in order, with at most unacknowledged lines after it.

import { type ChildProcess, spawn } from "node:child_process";
import { createReadStream, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { packageRoot } from "../../../src/native/load.js";
import { BrokerProcess, flags } from "../../support/broker.js";
import { CliProcess } from "../../support/cli.js";
import { tempDir } from "../../support/tmp.js";
import { type Input, LINES, writeInput } from "./input.js";

const BROKER = join(packageRoot(), "dist", "broker.js");
const CLI = join(packageRoot(), "dist", "cli.js");

const MODES = ["MAPPED", "FILE_CHANNEL"];
const FORMATS = ["crc32c", "plain"];
const ALL = MODES.flatMap((mode) => FORMATS.map((format) => ({ mode, format })));

let input: Input;
let inputBytes: Buffer;

beforeAll(async () => {
  for (const path of [BROKER, CLI]) {
    if (!existsSync(path)) throw new Error(`${path} is not there: npm run build makes it`);
  }
  input = await writeInput(join(tempDir("million-lines"), "input.log"));
  inputBytes = readFileSync(input.path);
});

class Broker {
  private current: BrokerProcess | undefined;
  private readonly settings: Record<string, unknown>;

  constructor(settings: Record<string, unknown>) {
    const fixed = {
      "data.dir": join(tempDir("data"), "d"),
      port: 0,
      "ops.enabled": false,
      "segment.bytes": "32MiB",
      "disk.reserve.bytes": 0,
    };
    this.settings = { ...fixed, ...settings };
  }

  get address(): string {
    return `127.0.0.1:${this.process.port}`;
  }

  get process(): BrokerProcess {
    if (this.current === undefined) throw new Error("the broker is not running");
    return this.current;
  }

  async start(): Promise<void> {
    const child: ChildProcess = spawn(process.execPath, [BROKER, ...flags(this.settings)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    this.current = await new BrokerProcess(child).ready();
  }

  async killAndRestart(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.process.exited;
    await this.start();
  }
}

/** A `produce` that is fed the input from a line on. It prints the offset of each batch, which is how its progress is watched. */
class Producer extends CliProcess {
  readonly fed: Promise<void>;

  constructor(
    broker: Broker,
    readonly fromLine: number,
    args: readonly string[] = [],
  ) {
    super(["produce", "orders", "--broker", broker.address, "--print-offsets", ...args], {}, CLI);
    if (this.child.stdin === null) throw new Error("stdin is a pipe");
    // It may stop reading in the middle: that is what the test is about.
    this.fed = pipeline(createReadStream(input.path, { start: input.starts[fromLine] }), this.child.stdin).catch(
      () => undefined,
    );
  }

  /** The highest base offset that it printed: that batch and those before it are acknowledged. −1: none yet. */
  get acknowledgedBase(): number {
    const last = this.stdout.toString().trimEnd().split("\n").at(-1);
    return last === undefined || last === "" ? -1 : Number(last.split(" ")[1]);
  }

  async untilAcknowledged(offset: number): Promise<void> {
    while (this.acknowledgedBase < offset) {
      if (this.child.exitCode !== null) throw new Error(`produce ended: ${this.stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** How many lines it says were acknowledged. */
  get acknowledgedLines(): number {
    return Number(/acknowledged (\d+) lines/.exec(this.stderr)?.[1]);
  }
}

async function consume(broker: Broker, args: readonly string[] = []): Promise<Buffer> {
  const path = join(tempDir("out"), "out.log");
  const stdout = openSync(path, "w");
  const consumer = new CliProcess(
    ["consume", "orders", "--until-end", "--broker", broker.address, ...args],
    { stdout },
    CLI,
  );
  expect({ ...(await consumer.exited), stderr: consumer.stderr }).toEqual({ code: 0, signal: null, stderr: "" });
  return readFileSync(path);
}

/** What a log of one partition holds must be the input's beginning, with at least `acknowledged` lines. Answers how many. */
function expectBeginning(out: Buffer, acknowledged: number): number {
  // Not toEqual: a difference in 100 MB is not shown in a lifetime.
  expect(out.equals(inputBytes.subarray(0, out.length))).toBe(true);
  const lines = input.starts.indexOf(out.length);
  expect(lines).toBeGreaterThanOrEqual(acknowledged);
  return lines;
}

describe("a million lines", () => {
  it("are made of several hundred lengths, from bytes to megabytes", () => {
    expect(statSync(input.path).size).toBe(input.starts[LINES]);
    expect(input.lengths.size).toBeGreaterThan(300);
    expect(Math.max(...input.lengths)).toBeGreaterThan(2_000_000);
  });

  it.each(ALL)("come back after the broker was killed twice in the middle: $mode $format", async ({ mode, format }) => {
    const broker = new Broker({ topics: "orders:1", "segment.mode": mode, "record.format": format });
    await broker.start();
    let stored = 0;
    for (const [ack, killAt] of [
      ["forced", 250_000],
      ["written", 600_000],
    ] as const) {
      const producer = new Producer(broker, stored, ["--ack", ack]);
      await producer.untilAcknowledged(killAt);
      await broker.killAndRestart();
      expect((await producer.exited).code).toBe(1);
      expect(producer.stderr).toContain("was lost");
      const acknowledged = stored + producer.acknowledgedLines;
      expect(acknowledged).toBeGreaterThan(killAt);
      expect(acknowledged).toBeLessThan(LINES);
      expect(producer.stderr).toContain(`orders-0: acknowledged up to input line ${producer.acknowledgedLines}`);
      stored = expectBeginning(await consume(broker), acknowledged);
      expect(stored).toBeLessThan(LINES);
    }
    const rest = new Producer(broker, stored);
    expect(await rest.exited).toEqual({ code: 0, signal: null });
    expect(rest.stderr).toBe("");
    expect(expectBeginning(await consume(broker), LINES)).toBe(LINES);
    // And once more after a clean stop.
    expect(await broker.process.stop()).toBe(0);
    await broker.start();
    expect(expectBeginning(await consume(broker), LINES)).toBe(LINES);
  });

  it.each(ALL)("come back after the producer was killed in the middle: $mode $format", async ({ mode, format }) => {
    const broker = new Broker({ topics: "orders:1", "segment.mode": mode, "record.format": format });
    await broker.start();
    const producer = new Producer(broker, 0);
    await producer.untilAcknowledged(400_000);
    producer.child.kill("SIGKILL");
    expect((await producer.exited).signal).toBe("SIGKILL");
    const stored = expectBeginning(await consume(broker), producer.acknowledgedBase + 1);
    expect(stored).toBeLessThan(LINES);
    const rest = new Producer(broker, stored);
    expect((await rest.exited).code).toBe(0);
    expect(expectBeginning(await consume(broker), LINES)).toBe(LINES);
  });

  it("keep their order inside each of three partitions, and what is acknowledged is there after a kill", async () => {
    const broker = new Broker({ topics: "orders:3" });
    await broker.start();
    const producer = new Producer(broker, 0);
    await producer.untilAcknowledged(100_000);
    await broker.killAndRestart();
    expect((await producer.exited).code).toBe(1);
    const read = new Set<number>();
    for (const partition of [0, 1, 2]) {
      const numbers = (await consume(broker, ["--partition", String(partition)]))
        .toString("latin1")
        .split("\n")
        .slice(0, -1)
        .map(lineNumber);
      for (let i = 1; i < numbers.length; i++) expect(numbers[i - 1] < numbers[i]).toBe(true);
      for (const number of numbers) read.add(number);
      const upTo = Number(
        new RegExp(`orders-${partition}: acknowledged up to input line (\\d+)`).exec(producer.stderr)?.[1],
      );
      // Batches are runs of lines: the line that is named is there.
      expect(read.has(upTo)).toBe(true);
    }
    expect(read.size).toBeGreaterThanOrEqual(producer.acknowledgedLines);
  });
});

/** A line begins with its number. The carriage return and the zero byte among the bodies are no line ends. */
function lineNumber(line: string): number {
  const number = Number(line.slice(0, line.indexOf(" ")));
  if (!Number.isInteger(number) || number < 1 || number > LINES) throw new Error(`no input line: ${line.slice(0, 80)}`);
  return number;
}
