// `millrace produce` on a broker that the test plays.

import { describe, expect, it } from "vitest";
import { partitionOfKey } from "../../src/client/partitioner.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { millrace, type VerbOptions } from "../support/cli.js";
import { errorAnswer, FakeBroker, type FakeOptions, type FakeRequest } from "../support/fake-broker.js";

async function producing(fake: FakeOptions, args: readonly string[], options: VerbOptions) {
  const broker = await FakeBroker.start(fake);
  const result = await millrace(["produce", "orders", "--broker", broker.address, ...args], options);
  return { broker, ...result };
}

const texts = (broker: FakeBroker, partition = 0) =>
  broker.log("orders", partition).map((record) => Buffer.from(record).toString());
const lines = (count: number, from = 1) => Array.from({ length: count }, (_, i) => `line ${from + i}`);
const isProduce = ({ kind }: FakeRequest) => kind === RequestKind.PRODUCE_V1;

describe("produce", () => {
  it("appends each line as a record, in order, in few requests", async () => {
    const all = lines(10_000);
    const { broker, code, stdout, stderr } = await producing({}, [], { stdin: [`${all.join("\n")}\n`] });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(texts(broker)).toEqual(all);
    expect(broker.requests.filter(isProduce).length).toBeLessThan(5);
  });

  it("closes batches at their size", async () => {
    const { broker } = await producing({}, ["--batch-bytes", "100"], { stdin: [`${lines(50).join("\n")}\n`] });
    expect(texts(broker)).toEqual(lines(50));
    for (const { frame } of broker.requests.filter(isProduce)) expect(frame.length).toBeLessThanOrEqual(100 + 8 + 17);
    expect(broker.requests.filter(isProduce).length).toBeGreaterThan(5);
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
    const requests = broker.requests.filter(isProduce);
    const partitions = requests.map(({ frame }) => frame[8 + 2 + 6 + 3]);
    expect(partitions).toEqual(partitions.map((_, i) => i % 3));
    const sizes = requests.map(({ frame }) => frame.length);
    // All batches but the last are full: 11 records of 7 bytes, and 4 for each.
    expect(new Set(sizes.slice(0, -1)).size).toBe(1);
    const all = [0, 1, 2].flatMap((partition) => texts(broker, partition));
    expect(all.sort()).toEqual(lines(90, 10).sort());
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
    expect(stderr).toMatch(/acknowledged \(forced\): 1 records in /);
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
      // Later: a reset takes the answers with it that were sent just before.
      if (produces === 5) setTimeout(() => broker.cut(), 100);
      return true;
    };
    async function* stdin() {
      for (let batch = 0; batch < 5; batch++) yield `${lines(10, 10 + 10 * batch).join("\n")}\n`;
      await new Promise(() => undefined);
    }
    // Ten lines of 7 + 4 bytes are a batch.
    const args = ["produce", "orders", "--broker", broker.address, "--batch-bytes", "110"];
    const { code, stderr } = await millrace(args, { stdin: stdin() });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^millrace: the connection to .* was lost/);
    expect(stderr).toContain("acknowledged 30 lines; read up to input line 50");
    expect(stderr).toContain("orders-0: acknowledged up to input line 30");
    expect(stderr).toContain("orders-0: its lines from 31 to 50: not acknowledged, may be in the log or not");
  });

  it("names the lines that were refused, and goes no further", async () => {
    const broker = await FakeBroker.start({ topics: { orders: 2 } });
    let produces = 0;
    broker.intercept = (request) => {
      if (!isProduce(request) || ++produces !== 3) return false;
      request.socket.write(errorAnswer(request.correlationId, ErrorCodes.LOG_FULL));
      return true;
    };
    async function* stdin() {
      for (let batch = 0; batch < 100; batch++) {
        yield `${lines(10, 10 + 10 * (batch % 8)).join("\n")}\n`;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    const args = ["produce", "orders", "--broker", broker.address, "--batch-bytes", "110"];
    const { code, stderr } = await millrace(args, { stdin: stdin() });
    expect(code).toBe(1);
    expect(stderr).toContain("LOG_FULL");
    expect(stderr).toContain("orders-0: acknowledged up to input line 10");
    expect(stderr).toContain("orders-0: its lines from 21 to 30: refused, not in the log");
    expect(broker.requests.filter(isProduce).length).toBeLessThan(20);
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
