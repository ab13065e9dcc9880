// `millrace produce` that does not come to its end: it says which lines are in the log.

import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { millrace } from "../support/cli.js";
import { FakeBroker, type FakeRequest } from "../support/fake-broker.js";
import { account, isProduce, lines, producing, texts } from "./producing.js";

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
