// What a broker does besides requests, and tells the operator: rolls, retention, recovery. Never a line for each request.

import { appendFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, runBroker, spawnReady, testSettings } from "../support/broker.js";
import { ascii, int32 } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { Fields, fetch, metadata, produce, readFetched, readProduced, readStored, type Wire } from "../support/wire.js";

const OUT_OF_RANGE = 2;

const smallSegments = {
  "max.frame.bytes": "64KiB",
  "connection.queued.bytes.max": "64KiB",
  "segment.bytes": "128KiB",
};

async function startOffset(wire: Wire): Promise<number> {
  const fields = new Fields((await wire.ask(metadata(["orders"]))).body);
  fields.int32();
  fields.string();
  fields.int32();
  fields.int32();
  return fields.int64();
}

interface Line {
  readonly kind: string;
  readonly [field: string]: unknown;
}

function listen() {
  const lines: Line[] = [];
  const take = (fields: object): void => void lines.push(fields as Line);
  return { lines, log: { debug: take, info: take, warn: take, error: take } };
}

describe.each(["MAPPED", "FILE_CHANNEL"] as const)("upkeep, %s", (mode) => {
  it("rolls full segments and removes old ones; a reader behind the new start is told so, each is logged once", async () => {
    const dataDir = tempDir("retention");
    const { lines, log } = listen();
    const settings = {
      ...testSettings(dataDir),
      ...smallSegments,
      "segment.mode": mode,
      "retention.bytes": "300KiB",
      "retention.check.ms": "50ms",
    };
    const broker = await startBroker({ settings, log });
    const wire = await connectTo(broker);
    for (let i = 0; i < 100; i++) {
      expect(readProduced(await wire.ask(produce([ascii(`${i}`.padEnd(10_000))]))).base).toBe(i);
    }
    await expect.poll(() => startOffset(wire)).toBeGreaterThan(50);
    const start = await startOffset(wire);
    expect((await wire.ask(fetch(0))).error).toBe(OUT_OF_RANGE);
    expect((await wire.ask(fetch(start - 1))).error).toBe(OUT_OF_RANGE);
    const { payloads } = readStored(readFetched(await wire.ask(fetch(start))).payload);
    expect(payloads[0]).toEqual(ascii(`${start}`.padEnd(10_000)));
    const told = (kind: string): number => lines.filter((line) => line.kind === kind).length;
    // A segment leaves the list at once; its line is written when its file is gone.
    await expect.poll(() => told("segment.removed")).toBeGreaterThan(3);
    expect(told("segment.rolled")).toBeGreaterThanOrEqual(7);
    expect(await broker.stop()).toBe(true);
    const logs = readdirSync(join(dataDir, "orders-0")).filter((name) => name.endsWith(".log"));
    expect(logs).toHaveLength(told("segment.rolled") - told("segment.removed") + 1);
    expect(lines.length).toBeLessThan(40);
  });

  it("says at a start after a kill what recovery found, how much it cut and how long it took", async () => {
    const dataDir = tempDir("recovery");
    const settings = { ...testSettings(dataDir), "segment.mode": mode };
    const killed = await spawnReady(settings);
    await (await connectTo(killed)).ask(produce([ascii("one"), ascii("two")]));
    killed.kill("SIGKILL");
    await killed.exited;
    // A header that promises more than there is. The mapped path has its torn records inside the file, not behind its end.
    if (mode === "FILE_CHANNEL") {
      appendFileSync(join(dataDir, "orders-0", "00000000000000000000.log"), Buffer.concat([int32(50), ascii("torn")]));
    }
    const { lines, log } = listen();
    const broker = await startBroker({ settings, log });
    const finished = lines.find(({ kind }) => kind === "recovery.finished");
    expect(finished).toMatchObject({ scannedBytes: expect.any(Number), milliseconds: expect.any(Number) });
    expect(finished?.tornBytes).toBe(mode === "FILE_CHANNEL" ? 8 : 0);
    const wire = await connectTo(broker);
    expect(readProduced(await wire.ask(produce([ascii("three")]))).base).toBe(2);
    expect(readStored(readFetched(await wire.ask(fetch(0))).payload).payloads).toEqual([
      ascii("one"),
      ascii("two"),
      ascii("three"),
    ]);
    expect(await broker.stop()).toBe(true);
  });
});

describe("visibility = durable", () => {
  it("shows no record before its barrier, and asks for one itself", async () => {
    const broker = await runBroker({ visibility: "durable" });
    const wire = await connectTo(broker);
    const produced = readProduced(await wire.ask(produce([ascii("x")], { ack: 1 })));
    expect(produced.base).toBe(0);
    // It is written and may not be visible yet; that is an empty answer and no error. Then it becomes visible on its own.
    expect((await wire.ask(fetch(0))).error).toBe(0);
    await expect.poll(async () => readFetched(await wire.ask(fetch(0))).highWatermark).toBe(1);
    // What was forced is visible when its producer knows of it.
    await wire.ask(produce([ascii("y")], { ack: 2 }));
    expect(readFetched(await wire.ask(fetch(0))).highWatermark).toBe(2);
  });
});

describe("produces without acknowledgement that fail", () => {
  it("are counted, and told to the operator in one line for all of them", async () => {
    const { lines, log } = listen();
    const broker = await startBroker({ settings: testSettings(tempDir("silent")), log });
    const wire = await connectTo(broker);
    const bad = Array.from({ length: 500 }, () => produce([ascii("x")], { topic: "nowhere", ack: 0 }));
    wire.send(...bad);
    await wire.ask(produce([ascii("x")]));
    expect(broker.statistics().errors.UNKNOWN_TOPIC_OR_PARTITION).toBe(500);
    expect(lines.filter(({ kind }) => kind === "produce.unacknowledged-failed")).toHaveLength(1);
    await broker.stop();
  });
});
