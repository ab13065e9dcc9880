// `millrace consume` without an end, and where reading begins for a time: on played brokers for what is asked, and on real
// ones for what comes.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FETCH_PARTITIONS_MAX } from "../../src/model/limits.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { CliProcess, jsonRows, millrace } from "../support/cli.js";
import { FakeBroker } from "../support/fake-broker.js";
import { tempDir } from "../support/tmp.js";

const UP_TO_V2 = [1, 2, 3, 4].map((apiKey) => ({ apiKey, minVersion: 1, maxVersion: apiKey % 2 === 0 ? 2 : 1 }));

const consume = (broker: string, ...args: string[]) => millrace(["consume", "orders", "--broker", broker, ...args]);

describe("consume, following", () => {
  it("waits for all partitions by one request on one connection, and prints what comes at once", async () => {
    const broker = await FakeBroker.start({ topics: { orders: 3 } });
    const running = new CliProcess(["consume", "orders", "--broker", broker.address, "--format", "%p:%s\n"]);
    await expect.poll(() => broker.fetches.length, { timeout: 10_000 }).toBe(1);
    await sleep(300);
    expect([broker.fetches.length, broker.connections]).toEqual([1, 1]);
    expect(broker.fetches[0]).toMatchObject({ kind: RequestKind.FETCH_V3, maxWaitMs: 20_000 });
    broker.log("orders", 2).push(ascii("now"));
    const begun = performance.now();
    await expect.poll(() => running.stdout.toString(), { interval: 5 }).toBe("2:now\n");
    expect(performance.now() - begun).toBeLessThan(1000);
  });

  it.each([
    ["one partition of a broker that knows v2", { versions: UP_TO_V2 }, ["--partition", "0"]],
    ["several of it", { versions: UP_TO_V2 }, []],
    ["several of a broker from before HELLO", { oldest: true }, []],
  ])("goes on with %s", async (_, fake, args) => {
    const broker = await FakeBroker.start({ topics: { orders: 2 }, ...fake });
    const running = consume(broker.address, ...args, "--max-records", "3");
    for (let n = 0; n < 3; n++) {
      await sleep(50);
      broker.log("orders", 0).push(ascii(`${n}`));
    }
    expect(await running).toMatchObject({ code: 0, stdout: "0\n1\n2\n", stderr: "" });
  });

  it("follows more partitions than fit a request, and ends with all of them", async () => {
    const broker = await FakeBroker.start({ topics: { orders: FETCH_PARTITIONS_MAX + 5 } });
    const running = consume(broker.address, "--max-records", "2", "--format", "%p\n");
    await expect.poll(() => broker.fetches.length, { timeout: 10_000 }).toBeGreaterThan(1);
    broker.log("orders", FETCH_PARTITIONS_MAX + 1).push(ascii("a"));
    await sleep(50);
    broker.log("orders", 7).push(ascii("b"));
    expect(await running).toMatchObject({ code: 0, stdout: `${FETCH_PARTITIONS_MAX + 1}\n7\n` });
    expect(new Set(broker.fetches.map(({ parts }) => parts.length))).toEqual(new Set([FETCH_PARTITIONS_MAX, 5]));
    await expect.poll(() => broker.sockets.size).toBe(0);
  });

  it("F17 goes on when its connection was cut, and says so once for each outage", async () => {
    const broker = await FakeBroker.start({ topics: { orders: 2 } });
    const running = consume(broker.address, "--max-records", "3", "--format", "%p:%s\n");
    for (let n = 0; n < 3; n++) {
      await expect.poll(() => broker.fetches.at(-1)?.parts.some(({ offset }) => offset === n)).toBe(true);
      if (n > 0) {
        const { connections } = broker;
        broker.cut();
        await expect.poll(() => broker.connections).toBeGreaterThan(connections);
      }
      broker.log("orders", 1).push(ascii(`${n}`));
    }
    const { code, stdout, stderr } = await running;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "1:0\n1:1\n1:2\n" });
    const outage = [
      expect.stringMatching(/^millrace: the connection to .* was lost: .*; trying again$/),
      expect.stringMatching(/^millrace: connected to .* again$/),
    ];
    expect(stderr.trimEnd().split("\n")).toEqual([...outage, ...outage]);
  });

  it("F16 goes on when the broker was restarted, without a record lost or doubled", async () => {
    const dir = tempDir("following");
    const settings = { ...testSettings(dir), topics: "orders:2" };
    let broker = await spawnReady(settings);
    const { port } = broker;
    const address = `127.0.0.1:${port}`;
    const running = new CliProcess(["consume", "orders", "--broker", address, "--format", "%p %o %s\n"]);
    const expected: string[] = [];
    const produce = async (partition: number, from: number): Promise<void> => {
      const lines = Array.from({ length: 50 }, (_, i) => `line ${from + i}`);
      const args = ["produce", "orders", "--broker", address, "--partition", String(partition)];
      const { code, stderr } = await millrace(args, { stdin: [lines.map((line) => `${line}\n`).join("")] });
      expect([code, stderr]).toEqual([0, ""]);
      expected.push(...lines.map((line, i) => `${partition} ${from + i} ${line}`));
    };
    const printed = () => running.stdout.toString().trimEnd().split("\n").sort();
    for (const [round, signal] of (["SIGTERM", "SIGKILL", "SIGTERM"] as const).entries()) {
      await produce(round % 2, Math.floor(round / 2) * 50);
      await expect.poll(printed, { timeout: 10_000 }).toEqual([...expected].sort());
      broker.kill(signal);
      await broker.exited;
      broker = await spawnReady({ ...settings, port });
    }
    await produce(1, 50);
    await expect.poll(printed, { timeout: 10_000 }).toEqual([...expected].sort());
    await expect.poll(() => running.stderr.match(/again\n/g)?.length).toBe(6);
    expect(running.stderr).not.toMatch(/Error|at /);
  });

  it("takes up partitions that are added by a restart, from their start, and keeps their place, too", async () => {
    const broker = await FakeBroker.start({ topics: { orders: 1 } });
    const { port, address } = broker;
    const file = join(tempDir("following"), "orders.checkpoint");
    const args = ["consume", "orders", "--broker", address, "--format", "%p:%s\n", "--checkpoint", file];
    const running = new CliProcess([...args, "--from", "latest"]);
    await expect.poll(() => broker.fetches.length, { timeout: 10_000 }).toBe(1);
    broker.log("orders", 0).push(ascii("a"));
    await expect.poll(() => running.stdout.toString()).toBe("0:a\n");
    broker.stop();
    const again = await FakeBroker.start({ port, topics: { orders: 2 } });
    again.log("orders", 0).push(ascii("a"), ascii("b"));
    again.log("orders", 1).push(ascii("new"));
    const printed = () => running.stdout.toString().trimEnd().split("\n").sort();
    await expect.poll(printed, { timeout: 10_000 }).toEqual(["0:a", "0:b", "1:new"]);
    running.child.kill("SIGTERM");
    await running.exited;
    const { positions } = JSON.parse(readFileSync(file, "utf8"));
    expect(positions).toMatchObject([
      { partition: 0, offset: 2 },
      { partition: 1, offset: 1 },
    ]);
  });

  it("takes up what is added to a topic of more partitions than fit a request, from their start, and keeps their place", async () => {
    const count = FETCH_PARTITIONS_MAX + 2;
    const broker = await FakeBroker.start({ topics: { orders: count } });
    const { port, address } = broker;
    const file = join(tempDir("following"), "orders.checkpoint");
    const args = ["consume", "orders", "--broker", address, "--format", "%p:%s\n", "--checkpoint", file];
    const running = new CliProcess([...args, "--from", "latest"]);
    await expect.poll(() => broker.fetches.length, { timeout: 10_000 }).toBeGreaterThan(1);
    broker.stop();
    const again = await FakeBroker.start({ port, topics: { orders: count + 2 } });
    again.log("orders", count).push(ascii("new"));
    const printed = () => running.stdout.toString();
    await expect.poll(printed, { timeout: 10_000 }).toBe(`${count}:new\n`);
    again.log("orders", 5).push(ascii("old"));
    await expect.poll(printed, { timeout: 10_000 }).toBe(`${count}:new\n5:old\n`);
    running.child.kill("SIGTERM");
    await running.exited;
    const { positions } = JSON.parse(readFileSync(file, "utf8")) as {
      positions: { partition: number; offset: number }[];
    };
    const kept = new Map(positions.map(({ partition, offset }) => [partition, offset]));
    expect([kept.size, kept.get(5), kept.get(count), kept.get(count + 1)]).toEqual([count + 2, 1, 1, 0]);
  });

  it("says so when what is added is more than its subscription reads, and to be started anew", async () => {
    const broker = await FakeBroker.start({ topics: { orders: 2 } });
    const running = consume(broker.address);
    await expect.poll(() => broker.fetches.length, { timeout: 10_000 }).toBe(1);
    const { port } = broker;
    broker.stop();
    await FakeBroker.start({ port, topics: { orders: FETCH_PARTITIONS_MAX + 1 } });
    const { code, stderr } = await running;
    expect([code, stderr]).toEqual([1, expect.stringContaining("topic orders has more than 1000 partitions now")]);
    expect(stderr).toContain("  started anew, consume makes as many as it takes");
  });

  it("prints no more than it may, however many requests bring records at the same time", async () => {
    const broker = await FakeBroker.start({ topics: { orders: FETCH_PARTITIONS_MAX + 5 } });
    for (const partition of [0, 1, FETCH_PARTITIONS_MAX, FETCH_PARTITIONS_MAX + 4]) {
      broker.log("orders", partition).push(...Array.from({ length: 400 }, () => ascii("x".repeat(2000))));
    }
    const { code, stdout } = await consume(broker.address, "--max-records", "777");
    expect([code, stdout.split("\n").length - 1]).toEqual([0, 777]);
  });

  it("F20 fails when a recovery has cut what it has printed", async () => {
    const broker = await FakeBroker.start();
    const log = broker.partition("orders", 0);
    for (let n = 0; n < 10; n++) log.records.push(ascii(`${n}`));
    const running = consume(broker.address);
    await expect.poll(() => broker.fetches.at(-1)?.parts[0]?.offset).toBe(10);
    log.cutTo(8);
    for (let n = 8; n < 20; n++) log.records.push(ascii(`other ${n}`));
    broker.cut();
    const { code, stderr, stdout } = await running;
    expect([code, stdout.trimEnd().split("\n").length]).toEqual([1, 10]);
    expect(stderr).toContain("orders-0 was cut at offset 8 by a recovery, below the position 10 of this reader");
    expect(stderr).toContain("--from 8");
  });

  it("fails as before when the broker is not there in the beginning", async () => {
    const broker = await FakeBroker.start();
    broker.stop();
    const { code, stderr } = await consume(broker.address);
    expect([code, stderr]).toEqual([1, expect.stringContaining("could not connect")]);
  });
});

describe("a time", () => {
  /** A real broker with records of three moments in partition 0, and none in partition 1. */
  async function threeMoments() {
    const broker = await spawnReady({
      ...testSettings(tempDir("times")),
      topics: "orders:2",
      "index.interval.bytes": 64,
    });
    const address = `127.0.0.1:${broker.port}`;
    const times: number[] = [];
    for (let moment = 0; moment < 3; moment++) {
      await sleep(30);
      times.push(Date.now());
      await sleep(5);
      const args = ["produce", "orders", "--broker", address, "--partition", "0"];
      await millrace(args, { stdin: ["a", "b"].map((each) => `${`${moment}${each}`.padEnd(100, ".")}\n`) });
    }
    return { address, times: times as [number, number, number] };
  }

  it("is where consume begins: milliseconds, or as people write it, here or in another zone", async () => {
    const { address, times } = await threeMoments();
    const from = async (where: string) => {
      const { stdout } = await consume(address, "--until-end", "--from", where);
      return stdout.replace(/\.+\n/g, " ").trimEnd();
    };
    const iso = new Date(times[1]).toISOString();
    expect(await from(`${times[1]}ms`)).toBe("1a 1b 2a 2b");
    expect(await from(iso)).toBe("1a 1b 2a 2b");
    expect(await from(iso.replace("T", " "))).toBe("1a 1b 2a 2b");
    const east = new Date(times[2] + 5.5 * 3_600_000).toISOString().replace("Z", "+05:30");
    expect(await from(east)).toBe("2a 2b");
    expect(await from("2020-01-01")).toBe("0a 0b 1a 1b 2a 2b");
    expect(await from("2099-12-31T23:59")).toBe("");
  });

  it.each(["2026-02-30", "2026-13-01", "2026-11-30T25:00", "19x99", "yesterday", "12:30", "5s", "-5ms", "1e3ms"])(
    "is not %j",
    async (where) => {
      const { code, stderr } = await millrace(["offsets", "orders", "--at", where]);
      expect([code, stderr]).toEqual([2, expect.stringContaining("milliseconds since 1970")]);
    },
  );

  it("is looked up by offsets, for each partition", async () => {
    const { address, times } = await threeMoments();
    const offsets = (...args: string[]) => millrace(["offsets", "orders", "--broker", address, ...args]);
    const json = async (...args: string[]) =>
      jsonRows<{ at: { offset: number; timestampMs: number } }>((await offsets(...args, "--json")).stdout);
    const full = { logStartOffset: 0, highWatermark: 6, durableOffset: 6, logEndOffset: 6, records: 6 };
    const empty = { logStartOffset: 0, highWatermark: 0, durableOffset: 0, logEndOffset: 0, records: 0 };
    expect(await json()).toEqual([
      { topic: "orders", recordFormat: "crc32c", partition: 0, epoch: 0, ...full },
      { topic: "orders", recordFormat: "crc32c", partition: 1, epoch: 0, ...empty },
    ]);
    const [first, second] = await json("--at", String(times[1]));
    expect([first?.at.offset, second?.at]).toEqual([2, { offset: 0, timestampMs: -1 }]);
    expect(first?.at.timestampMs).toBeGreaterThanOrEqual(times[1]);
    expect(first?.at.timestampMs).toBeLessThan(times[2]);
    const table = (await offsets("--at", `${times[2]}ms`)).stdout.trimEnd().split("\n");
    expect(table[0]).toBe("PARTITION  START  HIGH WATERMARK  DURABLE  END  RECORDS  FROM  TIME");
    expect(table[1]).toMatch(/^ +0 +0 +6 +6 +6 +6 +4 {2}\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(table[2]).toMatch(/^ +1 +0 +0 +0 +0 +0 +0 {2}-$/);
    expect((await offsets()).stdout.split("\n")[0]).toBe("PARTITION  START  HIGH WATERMARK  DURABLE  END  RECORDS");
  });

  it("cannot be asked of an old broker, which is said", async () => {
    const { address } = await FakeBroker.start({ oldest: true });
    const at = await millrace(["offsets", "orders", "--broker", address, "--at", "2026-11-30"]);
    expect([at.code, at.stderr]).toEqual([1, expect.stringContaining("is too old to be asked for a time")]);
    const from = await consume(address, "--from", "2026-11-30");
    expect([from.code, from.stderr]).toEqual([1, expect.stringContaining("does not know LIST_OFFSETS")]);
    expect((await millrace(["offsets", "orders", "--broker", address])).code).toBe(0);
  });

  it("is asked of a topic that there is", async () => {
    const { address } = await FakeBroker.start();
    const { code, stderr } = await millrace(["offsets", "nothing", "--broker", address, "--at", "5"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("UNKNOWN_TOPIC_OR_PARTITION")]);
  });
});
