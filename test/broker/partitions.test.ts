// Which partitions a broker serves: what lies in the data directory against what is configured, and what refuses to open.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { OperatorLog } from "../../src/broker/options.js";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, flags, runBroker, spawnBroker, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { Fields, fetch, metadata, produce, readFetched, readProduced, readStored, type Wire } from "../support/wire.js";

const STORAGE_FAILURE = 6;

/** (partition, start, high watermark) of each partition of the topic. */
async function describeTopic(wire: Wire, topic: string): Promise<number[][]> {
  const fields = new Fields((await wire.ask(metadata([topic]))).body);
  fields.int32();
  fields.string();
  return Array.from({ length: fields.int32() }, () => [fields.int32(), fields.int64(), fields.int64()]);
}

async function formatOf(wire: Wire, topic: string): Promise<string> {
  const fields = new Fields((await wire.ask(metadata([topic], 2))).body);
  fields.int32();
  fields.string();
  return ["plain", "crc32c"][fields.int8()];
}

function recordingLog(): OperatorLog & { readonly kinds: string[] } {
  const kinds: string[] = [];
  const take = (fields: object): void => void kinds.push(String((fields as { kind?: string }).kind));
  return { kinds, debug: take, info: take, warn: take, error: take };
}

describe("partitions of a topic", () => {
  it("are kept and added upwards, each with what it had", async () => {
    const dataDir = tempDir("upwards");
    for (const partitions of [1, 3, 3, 8]) {
      const broker = await startBroker({ settings: { ...testSettings(dataDir), topics: `orders:${partitions}` } });
      const wire = await connectTo(broker);
      const before = await describeTopic(wire, "orders");
      expect(before.map(([id]) => id)).toEqual(Array.from({ length: partitions }, (_, i) => i));
      for (let id = 0; id < partitions; id++) {
        const { base } = readProduced(await wire.ask(produce([ascii(`${id}`)], { partition: id })));
        expect(base).toBe(before[id][2]);
      }
      expect(await broker.stop()).toBe(true);
    }
    const wire = await connectTo(await runBroker({ "data.dir": dataDir, topics: "orders:8" }));
    expect((await describeTopic(wire, "orders")).map(([, , end]) => end)).toEqual([4, 3, 3, 1, 1, 1, 1, 1]);
  });

  it("are never taken away: a smaller number is a refusal that says how many there are", async () => {
    const dataDir = tempDir("downwards");
    await (await startBroker({ settings: { ...testSettings(dataDir), topics: "orders:3" } })).stop();
    const broker = spawnBroker(flags({ ...testSettings(dataDir), topics: "orders:2" }));
    expect((await broker.exited).code).toBe(2);
    expect(broker.lines.at(-1)?.msg).toContain("topics: got orders:2, and orders has 3 partitions");
    await runBroker({ "data.dir": dataDir, topics: "orders:3" });
  });

  it("of a topic that is no longer configured are left alone and logged", async () => {
    const dataDir = tempDir("left");
    const first = await startBroker({ settings: { ...testSettings(dataDir), topics: "orders:2,clicks:1" } });
    await (await connectTo(first)).ask(produce([ascii("kept")], { topic: "clicks" }));
    await first.stop();
    writeFileSync(join(dataDir, "notes.txt"), "mine");
    mkdirSync(join(dataDir, "lost+found"));
    const files = readdirSync(join(dataDir, "clicks-0"));
    const log = recordingLog();
    await (await startBroker({ settings: { ...testSettings(dataDir), topics: "orders:2" }, log })).stop();
    expect(log.kinds).toContain("topic.not-configured");
    expect(readdirSync(join(dataDir, "clicks-0"))).toEqual(files);
    expect(readFileSync(join(dataDir, "notes.txt"), "utf8")).toBe("mine");
    const wire = await connectTo(await runBroker({ "data.dir": dataDir, topics: "clicks:1" }));
    expect(readStored(readFetched(await wire.ask(fetch(0, { topic: "clicks" }))).payload).payloads).toEqual([
      ascii("kept"),
    ]);
  });

  it("are refused when the topic differs only by case from one that lies there", async () => {
    const dataDir = tempDir("case");
    await (await startBroker({ settings: { ...testSettings(dataDir), topics: "Orders:1" } })).stop();
    await expect(startBroker({ settings: { ...testSettings(dataDir), topics: "orders:1" } })).rejects.toMatchObject({
      code: "BAD_CONFIG",
      message: expect.stringContaining("orders differs only by case from Orders"),
    });
  });

  it("whose directory is gone while later ones are there are not replaced by empty ones", async () => {
    const dataDir = tempDir("gap");
    await (await startBroker({ settings: { ...testSettings(dataDir), topics: "orders:3" } })).stop();
    renameSync(join(dataDir, "orders-1"), join(dataDir, "elsewhere"));
    const broker = await startBroker({ settings: { ...testSettings(dataDir), topics: "orders:3" } });
    const wire = await connectTo(broker);
    expect((await describeTopic(wire, "orders")).map(([, start]) => start)).toEqual([0, -1, 0]);
    expect(existsSync(join(dataDir, "orders-1"))).toBe(false);
    await broker.stop();
    renameSync(join(dataDir, "elsewhere"), join(dataDir, "orders-1"));
    const again = await connectTo(await runBroker({ "data.dir": dataDir, topics: "orders:3" }));
    expect((await describeTopic(again, "orders")).map(([, start]) => start)).toEqual([0, 0, 0]);
  });
});

describe("the record format", () => {
  it("belongs to the topic: the default changes nothing, and partitions that are added inherit it", async () => {
    const dataDir = tempDir("format");
    const first = await startBroker({ settings: { ...testSettings(dataDir), "record.format": "plain" } });
    await first.stop();
    const wire = await connectTo(await runBroker({ "data.dir": dataDir, topics: "orders:2" }));
    expect(await formatOf(wire, "orders")).toBe("plain");
    for (const partition of [0, 1]) {
      await wire.ask(produce([ascii("abc")], { partition }));
      const { payload } = readFetched(await wire.ask(fetch(0, { partition })));
      expect(Buffer.from(payload).toString("hex")).toBe("00000003616263");
    }
  });

  it("that is written and differs from the topic's is a refusal, for all topics and for one", async () => {
    const dataDir = tempDir("format");
    await (await startBroker({ settings: { ...testSettings(dataDir), "record.format": "plain" } })).stop();
    for (const written of [
      { "record.format": "crc32c" },
      { topics: { orders: { partitions: 1, "record.format": "crc32c" } } },
    ] as const) {
      await expect(startBroker({ settings: { ...testSettings(dataDir), ...written } })).rejects.toMatchObject({
        code: "BAD_CONFIG",
        message: expect.stringMatching(
          /^record\.format: got "crc32c" \(startBroker( \[topics\.orders\])?\), and \S+ has records in plain, .*; takes the format/,
        ),
      });
    }
    await runBroker({ "data.dir": dataDir, "record.format": "plain" });
  });
});

describe("O08 a partition that refuses to open", () => {
  const damaged = async (): Promise<string> => {
    const dataDir = tempDir("o08");
    const broker = await startBroker({ settings: { ...testSettings(dataDir), topics: "orders:3" } });
    const wire = await connectTo(broker);
    for (const partition of [0, 1, 2])
      await wire.ask(produce([ascii("one"), ascii("two"), ascii("three")], { partition, ack: 2 }));
    await broker.stop();
    // One bit of the second record: below the checkpoint that the stop has written.
    const segment = join(dataDir, "orders-1", "00000000000000000000.log");
    const bytes = readFileSync(segment);
    bytes[8 + 3 + 8] ^= 1;
    writeFileSync(segment, bytes);
    rmSync(join(dataDir, "orders-1", "00000000000000000000.index"), { force: true });
    return dataDir;
  };

  it("O08 is named by the log and by METADATA (−1), answers STORAGE_FAILURE, and the others serve", async () => {
    const dataDir = await damaged();
    const before = readdirSync(join(dataDir, "orders-1"));
    const broker = await spawnReady({ ...testSettings(dataDir), topics: "orders:3" });
    const refused = broker.lines.find(({ kind }) => kind === "partition.refused");
    expect(refused).toMatchObject({ level: "error", partition: "orders-1" });
    expect(refused?.msg).toMatch(/orders-1.*00000000000000000000\.log/);
    const wire = await connectTo(broker);
    expect(await describeTopic(wire, "orders")).toEqual([
      [0, 0, 3],
      [1, -1, -1],
      [2, 0, 3],
    ]);
    expect((await wire.ask(produce([ascii("x")], { partition: 1 }))).error).toBe(STORAGE_FAILURE);
    expect((await wire.ask(fetch(0, { partition: 1 }))).error).toBe(STORAGE_FAILURE);
    for (const partition of [0, 2]) {
      expect(readProduced(await wire.ask(produce([ascii("x")], { partition, ack: 2 }))).base).toBe(3);
      expect(readStored(readFetched(await wire.ask(fetch(0, { partition }))).payload).payloads).toHaveLength(4);
    }
    expect(await broker.stop()).toBe(0);
    expect(readdirSync(join(dataDir, "orders-1"))).toEqual(before);
  });

  it("O08 the broker does not start when no partition opens: exit code 4, and it says why", async () => {
    const dataDir = await damaged();
    for (const id of [0, 2]) rmSync(join(dataDir, `orders-${id}`), { recursive: true });
    mkdirSync(join(dataDir, "orders-2"));
    writeFileSync(join(dataDir, "orders-2", "00000000000000000000.log"), "");
    const broker = spawnBroker(flags({ ...testSettings(dataDir), topics: "orders:3" }));
    expect((await broker.exited).code).toBe(4);
    expect(broker.stdout).toBe("");
    expect(broker.lines.at(-1)?.msg).toMatch(/not started: no partition opens; orders-0/);
  });
});
