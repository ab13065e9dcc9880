// `millrace produce` on a broker that the test plays.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { partitionOfKey } from "../../src/client/partitioner.js";
import { millrace } from "../support/cli.js";
import { FakeBroker } from "../support/fake-broker.js";
import { isProduce, lines, producing, texts } from "./producing.js";

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
