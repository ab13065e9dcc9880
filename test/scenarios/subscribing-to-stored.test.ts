// Subscriptions on logs of real brokers that are not what they were: shortened by retention, damaged on the disk, cut by a
// recovery. What must hold: every record that is there, in order, or an error that says which one is not and why.

import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileCheckpoints } from "../../src/client/checkpoint/file.js";
import type { RecordBatch } from "../../src/client/record-batch.js";
import { recordRegion } from "../../src/client/record-region.js";
import type { MillraceError } from "../../src/model/errors.js";
import { spawnReady } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";
import { SOON_MS } from "../support/waiting.js";
import { clientAt, direct, numbered, settings, written } from "./subscribers.js";

describe("a subscription on a log that retention shortens", () => {
  const short = {
    "segment.bytes": "64KiB",
    "max.frame.bytes": "32KiB",
    "retention.bytes": "256KiB",
    "retention.check.ms": "10ms",
  };

  async function shortened() {
    const broker = await spawnReady({ ...settings(tempDir("subscribing"), "orders:2"), ...short });
    const producer = await direct(broker);
    let sent = 0;
    const produce = async (requests: number) => {
      for (let i = 0; i < requests; i++, sent += 10) {
        const records = numbered("", sent, 10).map((text) => text.padEnd(500, "."));
        await Promise.all(
          [0, 1].map((partition) => producer.produce("orders", partition, recordRegion(records), written)),
        );
      }
    };
    return { client: await clientAt(`127.0.0.1:${broker.port}`), produce, sent: () => sent };
  }

  it("P02 P03 replays from the start of the live log to the end of then, while producers and retention go on", async () => {
    const { client, produce } = await shortened();
    await produce(200);
    const starts = async () => (await client.topics(["orders"]))[0]?.partitions.map((each) => each.logStartOffset);
    await expect.poll(async () => Math.min(...((await starts()) ?? [])), { timeout: SOON_MS }).toBeGreaterThan(0);
    let isOver = false;
    const producing = (async () => {
      while (!isOver) await produce(5);
    })();
    for (let replay = 0; replay < 15; replay++) {
      const [ends] = await client.topics(["orders"]);
      const next = new Map<number, number>();
      // One that is overtaken in the middle has lost something, and says so; in the beginning none is.
      const onOutOfRange = () => "earliest" as const;
      for await (const batch of client.replay("orders", { onOutOfRange })) {
        const begin = next.get(batch.partition) ?? batch.baseOffset;
        expect(batch.baseOffset).toBeGreaterThanOrEqual(begin);
        expect(batch.baseOffset).toBeGreaterThan(0);
        expect(Buffer.from(batch.at(0)).toString()).toMatch(new RegExp(`^:${batch.baseOffset}\\.`));
        next.set(batch.partition, batch.nextOffset);
      }
      const [later] = await client.topics(["orders"]);
      for (const [partition, end] of next) {
        expect(end).toBeGreaterThanOrEqual(ends?.partitions[partition]?.highWatermark ?? Number.NaN);
        expect(end).toBeLessThanOrEqual(later?.partitions[partition]?.highWatermark ?? Number.NaN);
      }
    }
    isOver = true;
    await producing;
  }, 60_000);

  it("P08 P02 a reader that is too slow is told what it has missed, and may go on at the start", async () => {
    const { client, produce, sent } = await shortened();
    const slow = (onOutOfRange: "error" | "earliest") =>
      client
        .follow("orders", { partitions: [0], maxBytes: 8192, answerBytes: 8192, onOutOfRange })
        [Symbol.asyncIterator]();
    await produce(20);
    for (const choice of ["error", "earliest"] as const) {
      const batches = slow(choice);
      const { value: first } = await batches.next();
      const before = sent();
      await produce(150);
      const start = async () => (await client.listOffsets("orders", 0, "earliest")).offset;
      await expect.poll(start, { timeout: 10_000 }).toBeGreaterThan(before);
      // The answer ahead was read before.
      const { value: ahead } = await batches.next();
      expect((ahead as RecordBatch).baseOffset).toBe((first as RecordBatch).nextOffset);
      if (choice === "error") {
        await expect(batches.next()).rejects.toMatchObject({
          code: "OFFSET_OUT_OF_RANGE",
          offset: (ahead as RecordBatch).nextOffset,
        });
        continue;
      }
      const { value: later } = await batches.next();
      expect((later as RecordBatch).baseOffset).toBeGreaterThan((ahead as RecordBatch).nextOffset);
      let next = (later as RecordBatch).nextOffset as number;
      while (next < sent()) next = ((await batches.next()).value as RecordBatch).nextOffset;
      await batches.return?.();
    }
  }, 30_000);
});

describe("a subscription on what is stored", () => {
  it("S15 P10 finds a bit that was flipped on the disk, gives what is before it and names the offset", async () => {
    const dir = tempDir("subscribing");
    const broker = await spawnReady({ ...settings(dir, "orders:1"), "segment.mode": "FILE_CHANNEL" });
    await (await direct(broker)).produce("orders", 0, recordRegion(["first", "second", "third"]));
    const partition = join(dir, "orders-0");
    const segment = join(partition, readdirSync(partition).find((name) => name.endsWith(".log")) as string);
    const bytes = readFileSync(segment);
    bytes[bytes.indexOf("second") + 2] ^= 0x10;
    writeFileSync(segment, bytes);
    const client = await clientAt(`127.0.0.1:${broker.port}`);
    const seen: string[] = [];
    const reading = async () => {
      for await (const { payload } of client.replay("orders").records()) seen.push(Buffer.from(payload).toString());
    };
    await expect(reading()).rejects.toMatchObject({ code: "CORRUPT_RECORD", topic: "orders", partition: 0, offset: 1 });
    expect(seen).toEqual(["first"]);
  });

  it("S18 says which record does not fit, on both ways of reading", async () => {
    const broker = await spawnReady(settings(tempDir("subscribing"), "orders:1"));
    const large = "x".repeat(10_000);
    await (await direct(broker)).produce("orders", 0, recordRegion(["small", large, "after"]));
    const client = await clientAt(`127.0.0.1:${broker.port}`);
    const read = async (maxBytesLimit?: number) => {
      const lengths: number[] = [];
      for await (const { payload } of client.replay("orders", { maxBytes: 1000, maxBytesLimit }).records()) {
        lengths.push(payload.length);
      }
      return lengths;
    };
    const does_not_fit = { code: "RECORD_EXCEEDS_MAX_BYTES", offset: 1, recordBytes: 10_008, maxBytes: 1000 };
    await expect(read(1000)).rejects.toMatchObject(does_not_fit);
    for (const limit of [20_000, undefined]) expect(await read(limit)).toEqual([5, 10_000, 5]);
    const consumer = await client.consumer({ topic: "orders", partition: 0, maxBytes: 1000, maxBytesLimit: 1000 });
    expect((await consumer.poll()).length).toBe(1);
    await expect(consumer.poll()).rejects.toMatchObject(does_not_fit);
  });

  it("F20 notices by its checkpoint that a recovery has cut what it had handled, and goes on where it was told", async () => {
    const dir = tempDir("subscribing");
    const options = { ...settings(dir, "orders:1"), "segment.mode": "FILE_CHANNEL" };
    let broker = await spawnReady(options);
    const store = fileCheckpoints(join(tempDir("checkpoint"), "orders"));
    const fixed = (from: number, count: number) => numbered("", from, count).map((text) => text.padEnd(20, "."));
    const producer = await direct(broker);
    await producer.produce("orders", 0, recordRegion(fixed(0, 80)));
    await producer.produce("orders", 0, recordRegion(fixed(80, 20)), written);
    const first = await clientAt(`127.0.0.1:${broker.port}`);
    await first
      .replay("orders")
      .checkpointing(store)
      .run(() => undefined);
    expect((await store.load())[0]).toMatchObject({ offset: 100, epoch: 0 });
    broker.kill("SIGKILL");
    await broker.exited;
    // What a loss of power takes: some of the records that nobody had forced, the last of them in part.
    const partition = join(dir, "orders-0");
    const segment = readdirSync(partition).find((name) => name.endsWith(".log")) as string;
    truncateSync(join(partition, segment), 90 * (8 + 20) + 11);
    broker = await spawnReady(options);
    const others = Array.from({ length: 30 }, (_, i) => `other ${i}`);
    await (await direct(broker)).produce("orders", 0, recordRegion(others));
    const client = await clientAt(`127.0.0.1:${broker.port}`);
    const again = client
      .replay("orders")
      .checkpointing(store)
      .run(() => undefined);
    const error = (await again.catch((caught: unknown) => caught)) as MillraceError;
    expect(error).toMatchObject({ code: "LOG_TRUNCATED", offset: 100, epochStart: 90 });
    const read: string[] = [];
    const told = client.replay("orders", { onTruncated: ({ epochStart }) => epochStart }).checkpointing(store);
    await told.run((batch) => void read.push(...batch.records.map((record) => Buffer.from(record).toString())));
    expect(read).toEqual(others);
    expect((await store.load())[0]).toMatchObject({ offset: 120, epoch: 1 });
  });
});
