// Disks that are full and disks that fail, seen from the wire and the side port. Real disks; where none can be made, skipped
// with the reason.

import { describe, expect, it } from "vitest";
import { startBroker } from "../../src/ops/start-broker.js";
import { SmallDisk, whyNot } from "../log/support/small-disk.js";
import { connectTo, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { Fields, fetch, metadata, produce, readFetched, readProduced, readStored, type Wire } from "../support/wire.js";

const STORAGE_FAILURE = 6;
const LOG_FULL = 7;

const reason = whyNot();
if (reason !== undefined) process.stderr.write(`tests of a broker on disks that fail are skipped: ${reason}\n`);

const record = (n: number): Uint8Array => ascii(`record ${n} `.padEnd(8000, "x"));

const small = { "max.frame.bytes": "64KiB", "segment.bytes": "2MiB", "ops.enabled": true, "ops.port": 0 };

async function readAll(wire: Wire): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for (;;) {
    const { error, ...response } = await wire.ask(fetch(all.length));
    if (error !== 0) return all;
    const { payloads } = readStored(readFetched({ error, ...response }).payload);
    if (payloads.length === 0) return all;
    all.push(...payloads);
  }
}

async function readiness(port: number | undefined): Promise<{ ready: boolean; reasons: string[] }> {
  return (await (await globalThis.fetch(`http://127.0.0.1:${port}/readyz`)).json()) as {
    ready: boolean;
    reasons: string[];
  };
}

describe.skipIf(reason !== undefined).each(["MAPPED", "FILE_CHANNEL"] as const)(
  "a broker on a disk that %s",
  (mode) => {
    it("O06 is full: LOG_FULL, nothing acknowledged is harmed, reads go on, and writes do when there is room again", async () => {
      const disk = new SmallDisk({ megabytes: 48 });
      const broker = await startBroker({
        settings: { ...testSettings(`${disk.dir}/data`), ...small, "segment.mode": mode },
      });
      const wire = await connectTo(broker);
      const batch = (from: number): Uint8Array[] => Array.from({ length: 5 }, (_, i) => record(from + i));
      let accepted = 0;
      for (; accepted < 300; accepted += 5) expect((await wire.ask(produce(batch(accepted)))).error).toBe(0);
      disk.fill();
      // What was reserved before can still be written; then there is no more.
      for (let error = 0; error === 0; ) {
        ({ error } = await wire.ask(produce(batch(accepted))));
        expect([0, LOG_FULL]).toContain(error);
        if (error === 0) accepted += 5;
      }
      expect((await wire.ask(produce([record(0)], { ack: 2 }))).error).toBe(LOG_FULL);
      expect(await readAll(wire)).toEqual(Array.from({ length: accepted }, (_, n) => record(n)));
      await expect
        .poll(async () => (await readiness(broker.opsPort)).reasons)
        .toEqual(["the disk is full up to disk.reserve.bytes"]);
      disk.makeRoom();
      await expect.poll(async () => (await wire.ask(produce([record(accepted)]))).error).toBe(0);
      await expect.poll(async () => (await readiness(broker.opsPort)).ready).toBe(true);
      expect(await readAll(wire)).toHaveLength(accepted + 1);
      expect(await broker.stop()).toBe(true);
    });

    it("O07 fails a barrier: STORAGE_FAILURE to all who wait, no writes, reads up to what is durable, until a restart", async () => {
      const disk = new SmallDisk({ megabytes: 64, backedBy: 24 });
      const settings = { ...testSettings(`${disk.dir}/data`), ...small, "segment.mode": mode };
      const broker = await startBroker({ settings });
      const wire = await connectTo(broker);
      for (let n = 0; n < 50; n++) expect((await wire.ask(produce([record(n)], { ack: 2 }))).error).toBe(0);
      disk.failWrites();
      let durable = 50;
      for (let failed = 0; failed === 0; ) {
        wire.send(...Array.from({ length: 10 }, (_, i) => produce([record(durable + i)], { ack: 2 })));
        const errors = (await wire.responses(10)).map(({ error }) => error);
        failed = errors.filter((error) => error !== 0).length;
        // Some of them may have been forced by the barrier before the one that failed; none behind a failed one was.
        expect(errors).toEqual([...errors.filter((error) => error === 0), ...Array(failed).fill(STORAGE_FAILURE)]);
        durable += errors.length - failed;
      }
      for (const ack of [1, 2]) expect((await wire.ask(produce([record(0)], { ack }))).error).toBe(STORAGE_FAILURE);
      expect(await readAll(wire)).toEqual(Array.from({ length: durable }, (_, n) => record(n)));
      expect((await wire.ask(fetch(durable))).error).toBe(STORAGE_FAILURE);
      const fields = new Fields((await wire.ask(metadata(["orders"]))).body);
      expect([fields.int32(), fields.string(), fields.int32(), fields.int32()]).toEqual([1, "orders", 1, 0]);
      expect([fields.int64(), fields.int64()]).toEqual([0, durable]);
      const { ready, reasons } = await readiness(broker.opsPort);
      expect(ready).toBe(false);
      expect(reasons[0]).toContain("orders-0 refuses writes");
      // It could not be closed cleanly, and says so.
      expect(await broker.stop()).toBe(false);

      disk.repair();
      const again = await startBroker({ settings });
      const reader = await connectTo(again);
      const all = await readAll(reader);
      expect(all.length).toBeGreaterThanOrEqual(durable);
      expect(all).toEqual(all.map((_, n) => record(n)));
      expect(readProduced(await reader.ask(produce([record(0)], { ack: 2 }))).base).toBe(all.length);
      expect(await again.stop()).toBe(true);
    });
  },
);
