// `millrace consume` on a broker that the test plays.

import { EventEmitter } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { RECORD_FORMATS } from "../../src/model/record-format.js";
import { ascii } from "../support/bytes.js";
import { millrace, type VerbOptions } from "../support/cli.js";
import { FakeBroker, type FakeOptions, fetchAnswerTo } from "../support/fake-broker.js";
import { storedRecords } from "../support/stored-records.js";

async function consuming(broker: FakeBroker, args: readonly string[], options: VerbOptions = {}) {
  return millrace(["consume", "orders", "--broker", broker.address, ...args], options);
}

async function filled(counts: readonly number[], fake: FakeOptions = {}): Promise<FakeBroker> {
  const broker = await FakeBroker.start({ topics: { orders: counts.length }, ...fake });
  counts.forEach((count, partition) => {
    for (let i = 0; i < count; i++) broker.log("orders", partition).push(ascii(`${partition}:${i}`));
  });
  return broker;
}

const text = (partition: number, from: number, end: number) =>
  Array.from({ length: end - from }, (_, i) => `${partition}:${from + i}\n`).join("");

describe("consume", () => {
  it.each(RECORD_FORMATS)("prints every record of %s until the end, partition after partition", async (format) => {
    const broker = await filled([5000, 0, 3], { format });
    const { code, stdout, stderr } = await consuming(broker, ["--until-end", "--max-bytes", "1KiB"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(text(0, 0, 5000) + text(2, 0, 3));
  });

  it("prints bytes as they are", async () => {
    const broker = await filled([0]);
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    broker.log("orders", 0).push(bytes, bytes);
    const result = await consuming(broker, ["--until-end", "--format", "%s"]);
    expect(Buffer.compare(result.bytes, Buffer.concat([bytes, bytes]))).toBe(0);
  });

  it("begins where it is told", async () => {
    const broker = await filled([100]);
    const from = async (where: string) => (await consuming(broker, ["--until-end", "--from", where])).stdout;
    expect(await from("earliest")).toBe(text(0, 0, 100));
    expect(await from("97")).toBe(text(0, 97, 100));
    expect(await from("100")).toBe("");
    expect(await from("latest")).toBe("");
    const beyond = await consuming(broker, ["--from", "101", "--max-records", "1"]);
    expect(beyond.code).toBe(1);
    expect(beyond.stderr).toContain("OFFSET_OUT_OF_RANGE");
  });

  it("refuses an offset that is not in the log, though there is nothing to read up to its end, and says what is", async () => {
    const broker = await filled([100]);
    broker.partition("orders", 0).start = 10;
    for (const args of [
      ["--from", "111", "--until-end"],
      ["--from", "111"],
      ["--from", "9", "--until-end"],
    ]) {
      const { code, stdout, stderr } = await consuming(broker, args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain(`OFFSET_OUT_OF_RANGE, offset ${args[1]} is not in orders-0: it starts at`);
    }
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ])("stops on %s with everything that it printed, and says how much that is", async (signal, expected) => {
    const broker = await filled([3]);
    for (const args of [[], ["--until-end"]]) {
      const signals = new EventEmitter();
      let asked = false;
      broker.intercept = ({ fetch }) => {
        if (fetch?.parts[0]?.offset === 3) asked = true;
        // Nothing more comes.
        return fetch !== undefined && args.length > 0;
      };
      const running = consuming(broker, args, { signals });
      await vi.waitUntil(() => asked || (args.length > 0 && broker.fetches.length > 2));
      await new Promise((resolve) => setTimeout(resolve, 50));
      signals.emit("signal", signal);
      const [printed, told] = args.length > 0 ? ["", "0 records"] : [text(0, 0, 3), "3 records"];
      const stderr = `millrace: stopped by ${signal}\n  printed ${told}\n`;
      expect(await running).toEqual(expect.objectContaining({ code: expected, stderr, stdout: printed }));
    }
  });

  it("reads one partition, and so many records", async () => {
    const broker = await filled([10, 10]);
    expect((await consuming(broker, ["--until-end", "--partition", "1"])).stdout).toBe(text(1, 0, 10));
    expect((await consuming(broker, ["--until-end", "--max-records", "13"])).stdout).toBe(
      text(0, 0, 10) + text(1, 0, 3),
    );
    expect((await consuming(broker, ["--partition", "0", "--max-records", "4"])).stdout).toBe(text(0, 0, 4));
    const none = await consuming(broker, ["--partition", "2"]);
    expect(none.code).toBe(1);
    expect(none.stderr).toContain("topic orders has no partition 2");
  });

  it("prints in any format", async () => {
    const broker = await filled([2]);
    const { stdout } = await consuming(broker, ["--until-end", "--format", "%t-%p@%o\\t%s 100%%\\0\\n"]);
    expect(stdout).toBe("orders-0@0\t0:0 100%\0\norders-0@1\t0:1 100%\0\n");
  });

  it("stops where the partitions ended when it started, though more comes", async () => {
    const broker = await filled([1000]);
    broker.intercept = ({ fetch }) => {
      if (fetch !== undefined) broker.log("orders", 0).push(ascii("late"));
      return false;
    };
    expect((await consuming(broker, ["--until-end", "--max-bytes", "1KiB"])).stdout).toBe(text(0, 0, 1000));
  });

  it("goes on with what comes, in all partitions", async () => {
    const broker = await filled([1, 1]);
    const running = consuming(broker, ["--max-records", "6"]);
    for (let i = 1; i < 3; i++) {
      await new Promise((resolve) => setTimeout(resolve, 120));
      for (const partition of [0, 1]) broker.log("orders", partition).push(ascii(`${partition}:${i}`));
    }
    const { stdout } = await running;
    for (const partition of [0, 1]) {
      expect(
        stdout
          .split("\n")
          .filter((line) => line.startsWith(`${partition}:`))
          .join("\n"),
      ).toBe(text(partition, 0, 3).trim());
    }
  });

  it("reads a record that is larger than what it asks for at once", async () => {
    const broker = await filled([1]);
    broker.log("orders", 0).push(new Uint8Array(100_000).fill(0x61), ascii("b"));
    const { stdout } = await consuming(broker, ["--until-end", "--max-bytes", "1KiB"]);
    expect(stdout).toBe(`0:0\n${"a".repeat(100_000)}\nb\n`);
  });

  it("P10 S15 prints what is before a damaged record, names it and fails", async () => {
    const broker = await filled([5]);
    const stored = storedRecords("crc32c", broker.log("orders", 0));
    stored[stored.length - 1] ^= 1;
    broker.intercept = ({ fetch, socket }) => {
      if (fetch === undefined) return false;
      socket.write(fetchAnswerTo(fetch, 5, stored.subarray((fetch.parts[0]?.offset ?? 0) * 11)));
      return true;
    };
    const { code, stdout, stderr } = await consuming(broker, ["--until-end"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: text(0, 0, 4) });
    expect(stderr).toContain("the record at offset 4 of orders-0 is damaged");
  });

  it("ends quietly when nobody reads its output any more", async () => {
    const broker = await filled([200_000]);
    const { code, stderr, bytes } = await consuming(broker, ["--until-end"], { closeStdoutAfter: 300_000 });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(bytes.length).toBeLessThanOrEqual(300_000);
  });

  it("fails before the end when the broker goes away, and prints what had come", async () => {
    const broker = await filled([200]);
    broker.intercept = ({ fetch }) => {
      if (fetch !== undefined && fetch.parts[0]?.offset !== 0) broker.cut();
      return false;
    };
    const { code, stdout, stderr } = await consuming(broker, ["--until-end", "--max-bytes", "1KiB"]);
    const lines = stdout.split("\n").length - 1;
    expect([code, lines > 50, stdout]).toEqual([1, true, text(0, 0, lines)]);
    expect(stderr).toContain("was lost");
  });

  it("shows how far it is on a terminal", async () => {
    const { stderr } = await consuming(await filled([10]), ["--until-end"], { terminal: true });
    expect(stderr).toMatch(/read 10 records in /);
  });
});
