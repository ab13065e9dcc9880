// Somebody removes what the broker serves: it is noticed, told, and no stop after it is called clean.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { produce } from "../support/wire.js";

const STORAGE_FAILURE = 6;

const start = async (topics: string) => {
  const dataDir = tempDir("removed");
  const settings = { ...testSettings(dataDir), topics, "ops.enabled": true, "ops.port": 0 };
  const broker = await startBroker({ settings });
  const wire = await connectTo(broker);
  const forced = async (partition: number) => (await wire.ask(produce([ascii("x")], { partition, ack: 2 }))).error;
  const readiness = async () => {
    const response = await fetch(`http://127.0.0.1:${broker.opsPort}/readyz`);
    return (await response.json()) as { ready: boolean; reasons: string[]; poisoned: { partition: string }[] };
  };
  return { dataDir, broker, forced, readiness, settings };
};

describe("a directory that is removed while it is served", () => {
  it("is a partition that takes no writes; the others go on; the stop is not clean", async () => {
    const { dataDir, broker, forced, readiness } = await start("orders:2");
    for (const partition of [0, 1]) expect(await forced(partition)).toBe(0);
    await expect.poll(async () => (await readiness()).ready).toBe(true);
    rmSync(join(dataDir, "orders-0"), { recursive: true });
    await expect.poll(() => forced(0)).toBe(STORAGE_FAILURE);
    expect(await forced(1)).toBe(0);
    const { ready, reasons, poisoned } = await readiness();
    expect(ready).toBe(false);
    expect(reasons).toEqual([expect.stringMatching(/^orders-0 refuses writes: .*orders-0 is not there any more/)]);
    expect(poisoned.map(({ partition }) => partition)).toEqual(["orders-0"]);
    expect(await broker.stop()).toBe(false);
  });

  it("and has another in its place is noticed, too", async () => {
    const { dataDir, broker, forced } = await start("orders:1");
    expect(await forced(0)).toBe(0);
    // It is known once it was looked at.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    rmSync(join(dataDir, "orders-0"), { recursive: true });
    // A number that came free may be given again at once.
    for (let i = 0; i < 5; i++) mkdirSync(join(dataDir, `taken-${i}`));
    mkdirSync(join(dataDir, "orders-0"));
    await expect.poll(() => forced(0)).toBe(STORAGE_FAILURE);
    expect(await broker.stop()).toBe(false);
  });

  it("with all that it holds is exit code 1, also when the stop comes before it was noticed", async () => {
    for (const wait of [0, 2_000]) {
      const dataDir = tempDir("removed");
      const broker = await spawnReady({ ...testSettings(dataDir), topics: "orders:100" });
      const wire = await connectTo(broker);
      await wire.ask(produce([ascii("x")], { ack: 2 }));
      rmSync(dataDir, { recursive: true });
      await new Promise((resolve) => setTimeout(resolve, wait));
      if (wait > 0) {
        const poisoned = broker.lines.filter(({ kind }) => kind === "partition.poisoned");
        expect(poisoned).toHaveLength(100);
      }
      expect(await broker.stop()).toBe(1);
      expect(broker.lines.at(-1)).toMatchObject({ kind: "broker.stopped", clean: false });
    }
  });
});

describe("a stop", () => {
  it("that cannot write what saves the next start its recovery is not clean", async () => {
    const { dataDir, broker, forced } = await start("orders:1");
    expect(await forced(0)).toBe(0);
    // In the way of the index: a file cannot take the place of a directory.
    mkdirSync(join(dataDir, "orders-0", "00000000000000000000.index", "x"), { recursive: true });
    expect(await broker.stop()).toBe(false);
  });
});
