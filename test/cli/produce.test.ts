// `millrace produce` on a broker that the test plays.

import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { partitionOfKey } from "../../src/client/partitioner.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { millrace, type VerbOptions } from "../support/cli.js";
import { FakeBroker, type FakeOptions, type FakeRequest } from "../support/fake-broker.js";

async function producing(fake: FakeOptions, args: readonly string[], options: VerbOptions) {
  const broker = await FakeBroker.start(fake);
  const result = await millrace(["produce", "orders", "--broker", broker.address, ...args], options);
  return { broker, ...result };
}

const texts = (broker: FakeBroker, partition = 0) =>
  broker.log("orders", partition).map((record) => Buffer.from(record).toString());
const lines = (count: number, from = 1) => Array.from({ length: count }, (_, i) => `line ${from + i}`);
/** What is said below the first message. */
const account = (stderr: string) =>
  stderr
    .split("\n")
    .filter((line) => line.startsWith("  "))
    .map((line) => line.slice(2));
const isProduce = ({ kind }: Pick<FakeRequest, "kind">) => kind === RequestKind.PRODUCE_V1;

describe("produce", () => {
  it("appends each line as a record, in order, in few requests", async () => {
    const all = lines(10_000);
    const { broker, code, stdout, stderr } = await producing({}, [], { stdin: [`${all.join("\n")}\n`] });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(texts(broker)).toEqual(all);
    expect(broker.requests.filter(isProduce).length).toBeLessThan(5);
  });

  it("closes batches at their size", async () => {
    const args = ["--batch-bytes", "100", "--print-offsets", "--linger-ms", "10s"];
    const { broker, stdout } = await producing({}, args, { stdin: [`${lines(50, 10).join("\n")}\n`] });
    expect(texts(broker)).toEqual(lines(50, 10));
    // A record takes 7 + 4 bytes.
    expect(stdout).toBe([0, 9, 18, 27, 36, 45].map((offset) => `0 ${offset}\n`).join(""));
  });

  it("has one request of a partition on its way, and sends what came meanwhile with the next one", async () => {
    const broker = await FakeBroker.start();
    let open = 0;
    broker.intercept = (request) => {
      if (!isProduce(request)) return false;
      expect(++open).toBe(1);
      setTimeout(() => {
        open--;
        request.socket.write(request.answer ?? "");
      }, 20);
      return true;
    };
    const args = ["produce", "orders", "--broker", broker.address, "--batch-bytes", "100"];
    expect((await millrace(args, { stdin: [`${lines(500, 10).join("\n")}\n`] })).code).toBe(0);
    expect(texts(broker)).toEqual(lines(500, 10));
    expect(broker.requests.filter(isProduce)).toHaveLength(2);
  });

  it("sends a line that comes alone after its linger, without waiting for the next", async () => {
    const broker = await FakeBroker.start();
    async function* stdin() {
      yield "first\n";
      while (broker.log("orders", 0).length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
      yield "second\n";
    }
    const { code } = await millrace(["produce", "orders", "--broker", broker.address, "--linger-ms", "1"], {
      stdin: stdin(),
    });
    expect(code).toBe(0);
    expect(texts(broker)).toEqual(["first", "second"]);
  });

  it("goes round the partitions a batch at a time, without crumbs", async () => {
    const args = ["--batch-bytes", "128", "--linger-ms", "10s"];
    const { broker } = await producing({ topics: { orders: 3 } }, args, { stdin: [`${lines(90, 10).join("\n")}\n`] });
    // 11 records of 7 bytes, and 4 for each, are a batch.
    const batches = Array.from({ length: 9 }, (_, i) => lines(90, 10).slice(11 * i, 11 * i + 11));
    for (const partition of [0, 1, 2]) {
      expect(texts(broker, partition)).toEqual(batches.filter((_, i) => i % 3 === partition).flat());
    }
  });

  it("sends all to the partition that is named", async () => {
    const { broker } = await producing({ topics: { orders: 3 } }, ["--partition", "2"], { stdin: ["a\nb\n"] });
    expect(texts(broker, 2)).toEqual(["a", "b"]);
  });

  it("P05 lets the key choose the partition, and does not send it", async () => {
    const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`);
    const input = keys.map((key) => `${key}\trecord of ${key}\n`).join("");
    const { broker } = await producing({ topics: { orders: 4 } }, ["--key-separator", "\\t"], { stdin: [input] });
    for (const key of keys) expect(texts(broker, partitionOfKey(key, 4))).toContain(`record of ${key}`);
    expect([0, 1, 2, 3].flatMap((partition) => texts(broker, partition))).toHaveLength(40);
  });

  it("refuses a line without a key, by its number", async () => {
    const { code, stderr, broker } = await producing({}, ["--key-separator", ":"], { stdin: ["a:b\nno key\n"] });
    expect(code).toBe(1);
    expect(stderr).toContain("input line 2 has no key separator");
    expect(texts(broker)).toEqual(["b"]);
  });

  it("prints where each batch went when asked", async () => {
    const args = ["--print-offsets", "--batch-bytes", "30", "--linger-ms", "10s"];
    const { stdout } = await producing({ topics: { orders: 2 } }, args, { stdin: ["12345678\n".repeat(8)] });
    expect(stdout).toBe("0 0\n1 0\n0 2\n1 2\n");
  });

  it("sends everything though nobody reads the offsets any more", async () => {
    const args = ["--print-offsets", "--batch-bytes", "30", "--linger-ms", "10s"];
    const result = await producing({}, args, { stdin: ["12345678\n".repeat(800)], closeStdoutAfter: 10 });
    expect({ code: result.code, stderr: result.stderr }).toEqual({ code: 0, stderr: "" });
    expect(texts(result.broker)).toHaveLength(800);
  });

  it("takes hex, base64 and sizes", async () => {
    const hexed = await producing({}, ["--framing", "hex"], { stdin: ["6162\n"] });
    expect(texts(hexed.broker)).toEqual(["ab"]);
    const based = await producing({}, ["--framing", "base64"], { stdin: ["YWI=\n"] });
    expect(texts(based.broker)).toEqual(["ab"]);
    const sized = await producing({}, ["--framing", "length"], { stdin: ["\0\0\0\x02a\n"] });
    expect(texts(sized.broker)).toEqual(["a\n"]);
  });

  it("refuses an empty line by its number, after everything before it was acknowledged", async () => {
    const { broker, code, stderr } = await producing({}, [], { stdin: ["a\nb\n\nc\n"] });
    expect(code).toBe(1);
    expect(stderr).toContain("input line 3 is empty");
    expect(stderr).toContain("acknowledged 2 lines");
    expect(stderr).toContain("orders-0: acknowledged up to input line 2");
    expect(texts(broker)).toEqual(["a", "b"]);
    expect((await producing({}, ["--skip-empty"], { stdin: ["a\n\nb\n"] })).code).toBe(0);
  });

  it("sends without acknowledgement, and knows that the broker received it all", async () => {
    const { broker, code, stderr } = await producing({}, ["--ack", "none"], { stdin: [`${lines(1000).join("\n")}\n`] });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(texts(broker)).toEqual(lines(1000));
  });

  it("asks for what --ack says", async () => {
    for (const [ack, byte] of [
      ["written", 1],
      ["forced", 2],
    ] as const) {
      const { broker } = await producing({}, ["--ack", ack], { stdin: ["a\n"] });
      expect(broker.requests.find(isProduce)?.frame[8 + 2 + 6 + 4]).toBe(byte);
    }
  });

  it("paces itself with --rate", async () => {
    const startedAt = performance.now();
    const { broker } = await producing({}, ["--rate", "200/s"], { stdin: [`${"0123456789".repeat(10)}\n`.repeat(60)] });
    expect(performance.now() - startedAt).toBeGreaterThan(200);
    expect(texts(broker)).toHaveLength(60);
  });

  it("shows how far it is on a terminal, and nothing elsewhere", async () => {
    const { stderr } = await producing({}, [], { stdin: ["a\n"], terminal: true });
    expect(stderr).toMatch(/acknowledged \(forced\): 1 record in /);
  });

  it("shows it also where stdout is a terminal, unless offsets are printed there", async () => {
    async function* slow() {
      for (const line of ["a\n", "b\n", "c\n", "d\n"]) {
        yield line;
        await sleep(80);
      }
    }
    const terminal = { terminal: true, stdoutIsTerminal: true, stdinBytes: 8 };
    const { stderr } = await producing({}, [], { stdin: slow(), ...terminal });
    expect(stderr).toMatch(/\[#{12}\.{12}\] 2 records in |\[#{18}\.{6}\] 3 records in /);
    const printing = await producing({}, ["--print-offsets"], { stdin: slow(), ...terminal });
    expect(printing.stderr).toBe("");
  });

  it("takes the broker from MILLRACE_BROKER, and --broker before that", async () => {
    const broker = await FakeBroker.start();
    const env = { MILLRACE_BROKER: broker.address };
    expect((await millrace(["produce", "orders"], { stdin: ["a\n"], env })).code).toBe(0);
    const wrong = { MILLRACE_BROKER: "127.0.0.1:1" };
    expect(
      (await millrace(["produce", "orders", "--broker", broker.address], { stdin: ["a\n"], env: wrong })).code,
    ).toBe(0);
    expect(texts(broker)).toEqual(["a", "a"]);
  });
});

describe("produce that cannot go on", () => {
  it("says how many lines were acknowledged and up to which line, when the connection is cut, though its input never ends", async () => {
    const broker = await FakeBroker.start();
    let produces = 0;
    broker.intercept = (request) => {
      if (!isProduce(request) || ++produces < 4) return false;
      // Later: a reset takes the answers with it that were sent just before, and the fifth batch is to wait behind this one.
      setTimeout(() => broker.cut(), 100);
      return true;
    };
    async function* stdin() {
      for (let batch = 0; batch < 5; batch++) {
        yield `${lines(10, 10 + 10 * batch).join("\n")}\n`;
        while (batch < 3 && texts(broker).length < 10 * batch + 10) await sleep(2);
      }
      await new Promise(() => undefined);
    }
    // Ten lines of 7 + 4 bytes are a batch.
    const args = ["produce", "orders", "--broker", broker.address, "--batch-bytes", "110"];
    const { code, stderr } = await millrace(args, { stdin: stdin() });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^millrace: the connection to .* was lost/);
    expect(account(stderr)).toEqual([
      "acknowledged 30 lines; read up to input line 50",
      "orders-0: acknowledged up to input line 30",
      "orders-0: its lines from 31 to 40: not acknowledged, may be in the log or not",
      "orders-0: its lines from 41 to 50: not sent, not in the log",
      "go on from input line 31, the first that may be missing from the log",
    ]);
  });

  it("leaves no hole behind a batch that is refused, though smaller ones behind it would be taken", async () => {
    const broker = await FakeBroker.start();
    broker.refuse = ({ frame }) => (texts(broker).length > 0 && frame.length > 150 ? ErrorCodes.LOG_FULL : undefined);
    // Short lines, and among them some that make a batch that is too large.
    const input = Array.from({ length: 400 }, (_, i) => (i % 50 === 49 ? "x".repeat(200) : `line ${i + 10}`));
    const args = ["produce", "orders", "--broker", broker.address, "--batch-bytes", "110", "--retry-for", "100ms"];
    const { code, stderr } = await millrace(args, { stdin: [`${input.join("\n")}\n`] });
    expect(code).toBe(1);
    expect(texts(broker)).toEqual(input.slice(0, 49));
    expect(stderr).toMatch(/^millrace: PRODUCE to orders-0: LOG_FULL, .*; trying again\n/);
    expect(account(stderr)).toEqual([
      "acknowledged 49 lines; read up to input line 400",
      "orders-0: acknowledged up to input line 49",
      "orders-0: its line 50: refused, not in the log",
      "orders-0: its lines from 51 to 400: not sent, not in the log",
      "go on from input line 50, the first that is not in the log",
    ]);
  });

  it("sends a batch again that is refused for now, before everything behind it", async () => {
    const broker = await FakeBroker.start();
    let refusals = 0;
    broker.refuse = (request) => {
      if (!isProduce(request) || texts(broker).length < 100 || refusals === 3) return undefined;
      refusals++;
      return ErrorCodes.OVERLOADED;
    };
    const all = lines(1000, 10);
    const args = ["produce", "orders", "--broker", broker.address, "--batch-bytes", "1500"];
    const { code, stderr } = await millrace(args, { stdin: [`${all.join("\n")}\n`] });
    expect({ code, refusals }).toEqual({ code: 0, refusals: 3 });
    expect(texts(broker)).toEqual(all);
    expect(stderr).toMatch(/^millrace: .*OVERLOADED.*; trying again\n$/);
  });

  it("says which lines of other partitions are in the log behind the first that is not", async () => {
    const broker = await FakeBroker.start({ topics: { orders: 2 } });
    broker.refuse = ({ kind, frame }) => {
      const isMine = kind === RequestKind.PRODUCE_V1 && frame[8 + 2 + 6 + 3] === 0;
      return isMine && texts(broker).length > 0 ? ErrorCodes.LOG_FULL : undefined;
    };
    const args = ["produce", "orders", "--broker", broker.address, "--batch-bytes", "110", "--retry-for", "0"];
    const { code, stderr } = await millrace(args, { stdin: [`${lines(80, 10).join("\n")}\n`] });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^millrace: PRODUCE to orders-0: LOG_FULL/);
    expect(account(stderr)).toEqual([
      "acknowledged 50 lines; read up to input line 80",
      "orders-0: acknowledged up to input line 10",
      "orders-0: its lines from 21 to 30: refused, not in the log",
      "orders-0: its lines from 41 to 50: refused, not in the log",
      "orders-0: its lines from 61 to 70: refused, not in the log",
      "orders-1: acknowledged up to input line 80",
      "go on from input line 21, the first that is not in the log",
      "later lines are in the log already, and sent again they would be there twice:",
      "  orders-1 has its lines 31-40, 51-60, 71-80",
    ]);
  });

  it("stops reading when a batch was refused", async () => {
    const broker = await FakeBroker.start();
    let produces = 0;
    broker.refuse = (request) => (isProduce(request) && ++produces === 3 ? ErrorCodes.RECORD_TOO_LARGE : undefined);
    async function* stdin() {
      for (let batch = 0; batch < 100; batch++) {
        yield `${lines(10, 10 + 10 * (batch % 8)).join("\n")}\n`;
        await sleep(5);
      }
    }
    const args = ["produce", "orders", "--broker", broker.address, "--batch-bytes", "110"];
    const { code, stderr } = await millrace(args, { stdin: stdin() });
    expect(code).toBe(1);
    expect(stderr).toContain("RECORD_TOO_LARGE");
    expect(produces).toBe(3);
    expect(broker.log("orders", 0)).toHaveLength(20);
  });

  it("says that nothing was sent when the first line is wrong", async () => {
    const { code, stderr } = await producing({}, [], { stdin: ["\na\n"] });
    expect(code).toBe(1);
    expect(account(stderr)).toEqual([
      "acknowledged 0 lines; no input line was sent",
      "go on from input line 1, the first that is not in the log",
    ]);
  });

  it("says what it has sent when nobody acknowledges", async () => {
    const { stderr, code } = await producing({}, ["--ack", "none"], { stdin: ["a\nb\n\n"] });
    expect(code).toBe(1);
    expect(stderr).toContain("sent without acknowledgement: 2 lines");
  });

  it("says that there is no such topic or partition", async () => {
    const broker = await FakeBroker.start();
    const topic = await millrace(["produce", "nothing", "--broker", broker.address]);
    expect(topic.code).toBe(1);
    expect(topic.stderr).toMatch(/UNKNOWN_TOPIC_OR_PARTITION[\s\S]*millrace topics/);
    const partition = await millrace(["produce", "orders", "--partition", "1", "--broker", broker.address]);
    expect(partition.code).toBe(1);
    expect(partition.stderr).toContain("topic orders has no partition 1");
  });

  it("does not read faster than the broker takes", async () => {
    const broker = await FakeBroker.start();
    const held: FakeRequest[] = [];
    broker.intercept = (request) => isProduce(request) && held.push(request) > 0;
    let read = 0;
    async function* stdin() {
      for (; read < 100; read++) yield Buffer.alloc(1024 * 1024, `${"x".repeat(1023)}\n`);
    }
    const running = millrace(["produce", "orders", "--broker", broker.address], { stdin: stdin() });
    let before = -1;
    while (read !== before || read === 0) {
      before = read;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    // 16 MiB may be on their way, and the chunk that reached the bound.
    expect(read).toBeLessThan(20);
    broker.cut();
    expect((await running).code).toBe(1);
  });
});

describe("produce that is told to stop", () => {
  const start = async (intercept: FakeBroker["intercept"] = () => false) => {
    const broker = await FakeBroker.start({ intercept });
    const signals = new EventEmitter();
    async function* stdin() {
      yield "a\nb\nno line e";
      await new Promise(() => undefined);
    }
    const args = ["produce", "orders", "--broker", broker.address, "--linger-ms", "1"];
    return { broker, signals, running: millrace(args, { stdin: stdin(), signals }) };
  };

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ])("sends what it has read, and says where to go on: %s", async (signal, expected) => {
    const { broker, signals, running } = await start();
    while (texts(broker).length < 2) await sleep(2);
    signals.emit("signal", signal);
    const { code, stderr } = await running;
    expect(code).toBe(expected);
    expect(stderr).toBe(
      [
        `millrace: stopped by ${signal}`,
        "  acknowledged 2 lines; read up to input line 2",
        "  orders-0: acknowledged up to input line 2",
        "  go on from input line 3, the first that is not in the log",
        "",
      ].join("\n"),
    );
  });

  it("waits for the answers that are due", async () => {
    const { broker, signals, running } = await start((request) => {
      if (!isProduce(request)) return false;
      setTimeout(() => request.socket.write(request.answer ?? ""), 300);
      return true;
    });
    while (texts(broker).length < 2) await sleep(2);
    signals.emit("signal", "SIGINT");
    const { code, stderr } = await running;
    expect(code).toBe(130);
    expect(stderr).toContain("acknowledged 2 lines");
  });

  it("waits no longer after the second signal, and calls unknown what has no answer", async () => {
    const { broker, signals, running } = await start(isProduce);
    while (texts(broker).length < 2) await sleep(2);
    signals.emit("signal", "SIGINT");
    await sleep(50);
    const before = performance.now();
    signals.emit("signal", "SIGINT");
    const { code, stderr } = await running;
    expect(performance.now() - before).toBeLessThan(1000);
    expect(code).toBe(130);
    expect(account(stderr)).toEqual([
      "acknowledged 0 lines; read up to input line 2",
      "orders-0: nothing acknowledged",
      "orders-0: its lines from 1 to 2: not acknowledged, may be in the log or not",
      "go on from input line 1, the first that may be missing from the log",
    ]);
  });
});
