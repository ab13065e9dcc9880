// `millrace backup`: what comes back from it is what was acknowledged, record by record, whatever was going on meanwhile.

import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { SmallDisk, whyNot } from "../log/support/small-disk.js";
import { type BrokerProcess, flags, spawnBroker, spawnReady } from "../support/broker.js";
import { CliProcess, jsonRows } from "../support/cli.js";
import { FakeBroker } from "../support/fake-broker.js";
import { tempDir } from "../support/tmp.js";

const noDisk = whyNot();

/** Small segments, so that there are many. */
const settings = (dataDir: string, more: Record<string, unknown> = {}) => ({
  "data.dir": dataDir,
  port: 0,
  "ops.enabled": false,
  topics: "orders:2",
  "disk.reserve.bytes": 0,
  "max.frame.bytes": "64KiB",
  "segment.bytes": "256KiB",
  ...more,
});

const at = ({ port }: { readonly port: number }) => ["--broker", `127.0.0.1:${port}`];

async function run(args: readonly string[]): Promise<string> {
  const cli = new CliProcess(args);
  cli.child.stdin?.end();
  const { code } = await cli.exited;
  expect({ args, code, stderr: code === 0 ? "" : cli.stderr }).toEqual({ args, code: 0, stderr: "" });
  return cli.stdout.toString();
}

/** Produces without an end; `ended` when the broker goes away. */
function load(broker: BrokerProcess, args: readonly string[] = []): { stop(): Promise<unknown> } {
  const produce = new CliProcess(["produce", "orders", "--batch-bytes", "8KiB", ...at(broker), ...args]);
  let number = 0;
  const more = (): void => {
    while (produce.child.stdin?.write(`${number++} ${"x".repeat(number % 300)}\n`));
  };
  produce.child.stdin?.on("drain", more);
  more();
  return {
    stop: () => {
      produce.child.kill("SIGKILL");
      return produce.exited;
    },
  };
}

interface Row {
  readonly topic: string;
  readonly partition: number;
  readonly startOffset: number;
  readonly endOffset: number;
  readonly linkedBytes: number;
  readonly copiedBytes: number;
  readonly leftOutRecords: number;
}

const backup = async (dir: string, dataDir: string, broker: BrokerProcess, ...args: readonly string[]) =>
  jsonRows<Row>(await run(["backup", dir, "--data-dir", dataDir, "--json", ...at(broker), ...args]));

/** Offset and payload of each record of a partition. */
async function recordsOf(broker: BrokerProcess, partition: number): Promise<Map<number, string>> {
  const args = ["consume", "orders", "--until-end", "--partition", String(partition), "--format", "%o %s\\n"];
  const text = await run([...args, ...at(broker)]);
  const lines = text.split("\n").slice(0, -1);
  return new Map(
    lines.map((line) => {
      const space = line.indexOf(" ");
      return [Number(line.slice(0, space)), line.slice(space + 1)];
    }),
  );
}

const offsetsOf = async (broker: BrokerProcess) =>
  jsonRows<{ durableOffset: number; logEndOffset: number; epoch: number }>(
    await run(["topics", "orders", "--json", ...at(broker)]),
  );

const sumsOf = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir)
      .filter((name) => name.endsWith(".log"))
      .map((name) => [
        name,
        createHash("sha256")
          .update(readFileSync(join(dir, name)))
          .digest("hex"),
      ]),
  );

describe("a backup", () => {
  it.each([
    ["MAPPED", "crc32c"],
    ["FILE_CHANNEL", "plain"],
  ])(
    "of a broker under load, which is then killed, holds each record up to where it says, and all that was forced before (%s, %s)",
    async (mode, format) => {
      const [dataDir, copy] = [tempDir("data"), join(tempDir("backup"), "copy")];
      const stored = { "segment.mode": mode, "record.format": format };
      const broker = await spawnReady(settings(dataDir, stored));
      const producing = load(broker);
      await vi.waitUntil(async () => (await offsetsOf(broker)).every(({ durableOffset }) => durableOffset > 20_000), {
        timeout: 15_000,
      });
      const before = await offsetsOf(broker);
      const rows = await backup(copy, dataDir, broker);
      broker.kill("SIGKILL");
      await producing.stop();

      const [original, restored] = [
        await spawnReady(settings(dataDir, stored)),
        await spawnReady(settings(copy, stored)),
      ];
      for (const { partition, startOffset, endOffset, linkedBytes, copiedBytes } of rows) {
        expect(endOffset).toBeGreaterThanOrEqual(before[partition]?.durableOffset ?? 0);
        expect(linkedBytes).toBeGreaterThan(0);
        expect(copiedBytes).toBeGreaterThan(0);
        const [then, now] = [await recordsOf(original, partition), await recordsOf(restored, partition)];
        expect([startOffset, now.size]).toEqual([0, endOffset]);
        for (const [offset, payload] of now) if (then.get(offset) !== payload) expect({ offset, payload }).toEqual({});
        expect(then.size).toBeGreaterThanOrEqual(now.size);
      }
      // A reader that saw more of the original than was copied hears of it.
      const [then, now] = [await offsetsOf(original), await offsetsOf(restored)];
      expect(now.map(({ epoch }) => epoch)).toEqual(before.map(({ epoch }) => epoch + 1));
      expect(then.length).toBe(2);
    },
    40_000,
  );

  it("F20 that is restored tells a reader that saw more of the original, also when it has grown again", async () => {
    const [dataDir, copy] = [tempDir("data"), join(tempDir("backup"), "copy")];
    const file = join(tempDir("checkpoint"), "orders.checkpoint");
    const one = { topics: "orders:1" };
    const produce = async (to: BrokerProcess, text: string, lines: number): Promise<void> => {
      const cli = new CliProcess(["produce", "orders", ...at(to)]);
      cli.child.stdin?.end(`${text}\n`.repeat(lines));
      expect((await cli.exited).code).toBe(0);
    };
    const consume = ["consume", "orders", "--until-end", "--checkpoint", file];
    const original = await spawnReady(settings(dataDir, one));
    await produce(original, "kept", 100);
    await backup(copy, dataDir, original);
    await produce(original, "lost", 50);
    expect((await run([...consume, ...at(original)])).split("\n").length - 1).toBe(150);
    original.kill("SIGKILL");

    const restored = await spawnReady(settings(copy, one));
    await produce(restored, "new", 80);
    const cli = new CliProcess([...consume, ...at(restored)]);
    expect([(await cli.exited).code, cli.stdout.toString()]).toEqual([1, ""]);
    expect(cli.stderr).toMatch(/orders-0 was cut at offset 100.*\n {2}the position is kept in /);
    const anew = await run(["consume", "orders", "--until-end", "--from", "100", "--partition", "0", ...at(restored)]);
    expect(anew).toBe("new\n".repeat(80));
  });

  it("says how many records it leaves out, that were written and not forced", async () => {
    const [dataDir, copies] = [tempDir("data"), tempDir("backup")];
    const one = { topics: "orders:1", "flush.every.ms": "none", "flush.every.records": "none" };
    const broker = await spawnReady(settings(dataDir, one));
    const produce = async (ack: string, lines: number): Promise<void> => {
      const cli = new CliProcess(["produce", "orders", "--ack", ack, ...at(broker)]);
      cli.child.stdin?.end("kept or not\n".repeat(lines));
      expect((await cli.exited).code).toBe(0);
    };
    await produce("forced", 100);
    const [all] = await backup(join(copies, "all"), dataDir, broker);
    expect(all).toMatchObject({ endOffset: 100, leftOutRecords: 0 });
    await produce("written", 40);
    const cli = new CliProcess(["backup", join(copies, "some"), "--data-dir", dataDir, ...at(broker)]);
    expect((await cli.exited).code).toBe(0);
    expect(cli.stdout.toString()).toMatch(/ LEFT OUT\n.* 40\n$/);
    expect(cli.stderr).toBe("millrace: not in the backup: 40 records that the broker had written and not forced yet\n");
  });

  it("has no hole when retention removes segments while it is made", async () => {
    const dataDir = tempDir("data");
    const retention = { "retention.bytes": "512KiB", "retention.check.ms": "20ms" };
    const broker = await spawnReady(settings(dataDir, retention));
    const producing = load(broker, ["--ack", "written"]);
    await vi.waitUntil(async () => (await offsetsOf(broker)).every(({ durableOffset }) => durableOffset > 20_000), {
      timeout: 15_000,
    });
    const copies: { readonly dir: string; readonly rows: Row[] }[] = [];
    for (let i = 0; i < 6; i++) {
      const dir = join(tempDir("backup"), "copy");
      copies.push({ dir, rows: await backup(dir, dataDir, broker, ...(i % 2 === 0 ? ["--copy"] : [])) });
    }
    await producing.stop();
    expect(copies.some(({ rows }) => (rows[0]?.startOffset ?? 0) > 0)).toBe(true);
    for (const { dir, rows } of copies) {
      const restored = await spawnReady(settings(dir));
      for (const { partition, startOffset, endOffset } of rows) {
        const offsets = [...(await recordsOf(restored, partition)).keys()];
        // From the first to the last, each once. All that was durable may be gone: then it begins where it ends.
        expect(offsets).toEqual(Array.from({ length: endOffset - startOffset }, (_, i) => startOffset + i));
      }
      restored.kill("SIGKILL");
    }
  }, 60_000);

  it("and its original never write to a file of the other", async () => {
    const [dataDir, copy] = [tempDir("data"), join(tempDir("backup"), "copy")];
    const one = { topics: "orders:1" };
    let broker = await spawnReady(settings(dataDir, one));
    const produce = async (to: BrokerProcess, lines: number): Promise<void> => {
      const cli = new CliProcess(["produce", "orders", ...at(to)]);
      cli.child.stdin?.end(Array.from({ length: lines }, (_, i) => `${i} ${"y".repeat(200)}\n`).join(""));
      expect((await cli.exited).code).toBe(0);
    };
    await produce(broker, 5000);
    // After a clean stop the last segment is sealed as well, and yet the next start goes on in it.
    expect(await broker.stop()).toBe(0);
    const [row] = jsonRows<Row>(await run(["backup", copy, "--data-dir", dataDir, "--json"]));
    const names = Object.keys(sumsOf(join(copy, "orders-0"))).sort();
    const links = names.map((name) => statSync(join(copy, "orders-0", name)).nlink);
    expect([row?.endOffset, links]).toEqual([5000, [...names.slice(1).map(() => 2), 1]]);
    expect(names.length).toBeGreaterThan(2);

    const before = [sumsOf(join(dataDir, "orders-0")), sumsOf(join(copy, "orders-0"))];
    const restored = await spawnReady(settings(copy, one));
    await produce(restored, 3000);
    expect(await restored.stop()).toBe(0);
    expect(sumsOf(join(dataDir, "orders-0"))).toEqual(before[0]);
    broker = await spawnReady(settings(dataDir, one));
    const again = join(tempDir("backup"), "copy");
    await backup(again, dataDir, broker);
    const inCopy = sumsOf(join(again, "orders-0"));
    await produce(broker, 3000);
    expect(await broker.stop()).toBe(0);
    expect(sumsOf(join(again, "orders-0"))).toEqual(inCopy);
  }, 40_000);

  it("stays as it is when its original is repaired, which cuts sealed segments", async () => {
    const [dataDir, copy] = [tempDir("data"), join(tempDir("backup"), "copy")];
    const broker = await spawnReady(settings(dataDir, { topics: "orders:1" }));
    const produce = new CliProcess(["produce", "orders", ...at(broker)]);
    produce.child.stdin?.end(`${"z".repeat(100)}\n`.repeat(10_000));
    expect((await produce.exited).code).toBe(0);
    expect(await broker.stop()).toBe(0);
    await run(["backup", copy, "--data-dir", dataDir]);
    const first = join(dataDir, "orders-0", `${"0".repeat(20)}.log`);
    // A length that leads nowhere, in the middle.
    const file = openSync(first, "r+");
    writeSync(file, Buffer.from([0x7f, 0xff, 0xff, 0xff]), 0, 4, 108 * 50);
    closeSync(file);
    const before = sumsOf(join(copy, "orders-0"));
    const repair = new CliProcess(["verify", "--repair", dataDir]);
    await repair.exited;
    expect(repair.stdout.toString()).toContain("repaired");
    expect(statSync(first).size).toBe(108 * 50);
    expect(sumsOf(join(copy, "orders-0"))).toEqual(before);
  });

  it("of a broker that was killed takes everything that a start would find", async () => {
    const [dataDir, copy] = [tempDir("data"), join(tempDir("backup"), "copy")];
    const broker = await spawnReady(settings(dataDir));
    const producing = load(broker, ["--ack", "written"]);
    await vi.waitUntil(async () => (await offsetsOf(broker)).every(({ logEndOffset }) => logEndOffset > 5000), {
      timeout: 15_000,
    });
    broker.kill("SIGKILL");
    await producing.stop();
    await broker.exited;
    await run(["backup", copy, "--data-dir", dataDir, "--copy"]);
    const [original, restored] = [await spawnReady(settings(dataDir)), await spawnReady(settings(copy))];
    for (const partition of [0, 1]) {
      const [then, now] = [await recordsOf(original, partition), await recordsOf(restored, partition)];
      expect(then.size).toBeGreaterThan(0);
      expect([...now]).toEqual([...then]);
    }
    const sealed = readdirSync(join(copy, "orders-0")).map((name) => statSync(join(copy, "orders-0", name)).nlink);
    expect(new Set(sealed)).toEqual(new Set([1]));
  }, 30_000);

  it("that was interrupted is no data directory: a broker refuses it, another backup does, and ^C leaves nothing", async () => {
    const dataDir = tempDir("data");
    const broker = await spawnReady(settings(dataDir, { "segment.bytes": "64MiB", topics: "orders:1" }));
    const producing = load(broker, ["--ack", "written"]);
    await vi.waitUntil(() => statSync(join(dataDir, "orders-0")).isDirectory());
    await vi.waitUntil(async () => ((await offsetsOf(broker))[0]?.durableOffset ?? 0) > 150_000, { timeout: 15_000 });
    await producing.stop();
    for (const signal of ["SIGKILL", "SIGINT"] as const) {
      const copy = join(tempDir("backup"), "copy");
      const cli = new CliProcess(["backup", copy, "--data-dir", dataDir, "--copy", ...at(broker)]);
      const partial = join(copy, "orders-0.partial");
      await vi.waitUntil(() => existsSync(partial) && readdirSync(partial).length > 0, { interval: 1 });
      cli.child.kill(signal);
      const { code } = await cli.exited;
      if (signal === "SIGINT") {
        expect([code, readdirSync(copy)]).toEqual([130, []]);
        expect(cli.stderr).toContain("stopped by SIGINT");
        continue;
      }
      expect(existsSync(join(copy, "orders-0"))).toBe(false);
      const refused = spawnBroker(flags(settings(copy)));
      expect((await refused.exited).code).toBe(4);
      expect(refused.stderr).toContain("a backup into this directory has not finished");
      const again = new CliProcess(["backup", copy, "--data-dir", dataDir, ...at(broker)]);
      expect((await again.exited).code).toBe(1);
      expect(again.stderr).toContain("holds a backup that was interrupted: expected an empty directory, or none");
      const verify = new CliProcess(["verify", copy]);
      expect((await verify.exited).code).toBe(1);
      expect(verify.stderr).toContain("a backup that was interrupted");
    }
  }, 40_000);

  it("is refused where it cannot be right, with nothing left behind", async () => {
    const dataDir = tempDir("data");
    const broker = await spawnReady(settings(dataDir));
    const other = await FakeBroker.start({ topics: { clicks: 1 } });
    const younger = await FakeBroker.start({ topics: { orders: 2 } });
    const produce = new CliProcess(["produce", "orders", ...at(broker)]);
    produce.child.stdin?.end("a\nb\n".repeat(20_000));
    expect((await produce.exited).code).toBe(0);
    // Whatever was forced is in the checkpoint a second later.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const full = tempDir("full");
    writeFileSync(join(full, "precious"), "");
    mkdirSync(join(full, "empty"));
    const fails = async (code: number, says: string, dir: string, ...args: readonly string[]): Promise<void> => {
      const cli = new CliProcess(["backup", dir, "--data-dir", dataDir, ...args]);
      expect({ code: (await cli.exited).code, stderr: cli.stderr }).toEqual({
        code,
        stderr: expect.stringContaining(says),
      });
      expect(cli.stdout.toString()).toBe("");
    };
    const target = join(full, "empty");
    await fails(1, "is not empty: expected an empty directory, or none", full, ...at(broker));
    await fails(2, "lies in the data directory", join(dataDir, "backup"), ...at(broker));
    await fails(1, "connection refused", target, "--broker", "127.0.0.1:1");
    await fails(1, "has clicks-0, and", target, "--broker", other.address);
    await fails(1, "speaks of other records than those in", target, "--broker", younger.address);
    await fails(1, "there is no directory", target, "--data-dir", join(full, "nowhere"));
    await fails(1, "there is no partition in", target, "--data-dir", target);
    expect(readdirSync(full).sort()).toEqual(["empty", "precious"]);
    expect(readdirSync(target)).toEqual([]);
    expect(existsSync(join(dataDir, "backup"))).toBe(false);
  });

  it.skipIf(noDisk !== undefined)(
    "on a disk that is too small says how much it takes, and leaves the directory empty",
    async () => {
      const dataDir = tempDir("data");
      const broker = await spawnReady(settings(dataDir));
      const produce = new CliProcess(["produce", "orders", ...at(broker)]);
      produce.child.stdin?.end(`${"x".repeat(1000)}\n`.repeat(12_000));
      expect((await produce.exited).code).toBe(0);
      await broker.stop();
      const disk = new SmallDisk({ megabytes: 8 });
      const cli = new CliProcess(["backup", join(disk.dir, "monday"), "--data-dir", dataDir]);
      expect((await cli.exited).code).toBe(1);
      expect(cli.stderr).toMatch(
        /there is no room for the backup in .*monday: ENOSPC[\s\S]*it takes up to \d+ bytes[\s\S]*removed again/,
      );
      expect(readdirSync(join(disk.dir, "monday"))).toEqual([]);
    },
  );
});
