// The client on a real broker: what is shown on a played one holds for it, too.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import { Consumer } from "../../src/client/consumer.js";
import { CorruptRecordError, RecordExceedsMaxBytesError } from "../../src/client/errors.js";
import { recordRegion } from "../../src/client/record-region.js";
import { AckPolicy } from "../../src/model/ack-policy.js";
import { RECORD_FORMATS } from "../../src/model/record-format.js";
import { runBroker, testSettings } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

async function connected(settings: Record<string, unknown> = {}) {
  const broker = await runBroker(settings);
  const connection = await Connection.connect({ broker: `127.0.0.1:${broker.port}` });
  onTestFinished(() => connection.destroy());
  return { broker, connection };
}

const text = (record: Uint8Array) => Buffer.from(record).toString();

describe("the client on a real broker", () => {
  it("hears what the broker speaks", async () => {
    const { connection, broker } = await connected();
    expect(connection.hello).toMatchObject({ brokerName: "millrace", brokerVersion: broker.version });
  });

  it("S19 fifty calls at once on one connection each get the offset of their own batch", async () => {
    const { connection } = await connected();
    const sizes = Array.from({ length: 50 }, (_, i) => 1 + (i % 5));
    const results = await Promise.all(
      sizes.map((size, i) =>
        connection.produce("orders", 0, recordRegion(Array(size).fill(`batch ${i}`)), {
          ack: i % 2 === 0 ? AckPolicy.FORCED : AckPolicy.WRITTEN,
        }),
      ),
    );
    const consumer = await Consumer.open(connection, { topic: "orders", partition: 0 });
    const log = [...(await consumer.poll())].map(text);
    expect(log).toHaveLength(sizes.reduce((sum, size) => sum + size, 0));
    results.forEach(({ baseOffset }, i) => {
      expect(log.slice(baseOffset, baseOffset + sizes[i])).toEqual(Array(sizes[i]).fill(`batch ${i}`));
    });
  });

  it.each(RECORD_FORMATS)(
    "S17 S18 reads %s whole records only, whatever maxBytes is, or says which record does not fit",
    async (format) => {
      const { connection } = await connected({ "record.format": format, "segment.bytes": "64MiB" });
      const records = Array.from({ length: 300 }, (_, i) => `${i}:${"x".repeat((i * 37) % 211)}`);
      await connection.produce("orders", 0, recordRegion(records));
      await connection.produce("orders", 0, recordRegion(["y".repeat(10_000), "after"]));
      for (const maxBytes of [256, 257, 300, 1000, 4096]) {
        const consumer = await Consumer.open(connection, { topic: "orders", partition: 0, maxBytes });
        const read: string[] = [];
        while (consumer.position < records.length) read.push(...[...(await consumer.poll())].map(text));
        expect(read).toEqual(records);
        const error = await consumer.poll().catch((caught: unknown) => caught);
        expect(error).toBeInstanceOf(RecordExceedsMaxBytesError);
        expect(error).toMatchObject({ offset: 300, recordBytes: 10_000 + (format === "plain" ? 4 : 8), maxBytes });
      }
    },
  );

  it("S15 P10 finds a bit that was flipped on the disk, and names the offset", async () => {
    const dir = tempDir("flipped");
    const { connection, broker } = await connected({ ...testSettings(dir), "segment.mode": "FILE_CHANNEL" });
    await connection.produce("orders", 0, recordRegion(["first", "second", "third"]));
    const partition = join(dir, "orders-0");
    const segment = join(partition, readdirSync(partition).find((name) => name.endsWith(".log")) ?? "");
    const bytes = readFileSync(segment);
    bytes[bytes.indexOf("second") + 2] ^= 0x10;
    writeFileSync(segment, bytes);
    const consumer = await Consumer.open(connection, { topic: "orders", partition: 0 });
    expect([...(await consumer.poll())].map(text)).toEqual(["first"]);
    const error = await consumer.poll().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CorruptRecordError);
    expect(error).toMatchObject({ topic: "orders", partition: 0, offset: 1 });
    consumer.seek(2);
    expect([...(await consumer.poll())].map(text)).toEqual(["third"]);
    await broker.stop();
  });

  it("goes over a Unix socket", async () => {
    const path = join(tempDir("socket"), "m.sock");
    await runBroker({ "socket.path": path });
    const connection = await Connection.connect({ broker: path });
    expect((await connection.produce("orders", 0, recordRegion(["a"]))).baseOffset).toBe(0);
    await connection.close();
  });

  it("sends without acknowledgement what a reader then finds", async () => {
    const { connection } = await connected();
    for (let i = 0; i < 100; i++) connection.post("orders", 0, recordRegion([`record ${i}`]));
    const { baseOffset } = await connection.produce("orders", 0, recordRegion(["last"]));
    expect(baseOffset).toBe(100);
  });

  it("closes with everything answered, also many megabytes at once", async () => {
    const { connection } = await connected({ "segment.bytes": "64MiB" });
    const batch = recordRegion([new Uint8Array(500_000).fill(7)]);
    const results = Array.from({ length: 60 }, () => connection.produce("orders", 0, batch));
    await connection.close();
    expect((await Promise.all(results)).map(({ baseOffset }) => baseOffset)).toEqual(results.map((_, i) => i));
  });

  it("tells a caller who was cut off when the broker stopped", async () => {
    const { connection, broker } = await connected();
    await connection.produce("orders", 0, recordRegion(["a"]));
    await broker.stop();
    expect(await connection.closed).toMatchObject({ code: "CONNECTION_LOST" });
    await expect(connection.produce("orders", 0, recordRegion(["b"]))).rejects.toThrow(
      expect.objectContaining({ code: "CONNECTION_LOST" }),
    );
  });
});
