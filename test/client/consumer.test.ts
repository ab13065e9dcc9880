// A consumer on a broker that the test plays: positions, cut tails, wrong sums.

import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import { Consumer, type ConsumerOptions } from "../../src/client/consumer.js";
import { CorruptRecordError, RecordExceedsMaxBytesError } from "../../src/client/errors.js";
import { offset, partitionId } from "../../src/model/ids.js";
import { RECORD_FORMATS } from "../../src/model/record-format.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { encodeMetadataResponse } from "../../src/protocol/metadata.js";
import { FakeBroker, type FakeOptions, fetchAnswerTo } from "../support/fake-broker.js";
import { storedRecords } from "../support/stored-records.js";

async function consuming(
  records: readonly Uint8Array[],
  fake: FakeOptions = {},
  options: Partial<ConsumerOptions> = {},
) {
  const broker = await FakeBroker.start(fake);
  broker.log("orders", 0).push(...records);
  const connection = await Connection.connect({ broker: broker.address });
  onTestFinished(() => connection.destroy());
  const consumer = await Consumer.open(connection, { topic: "orders", partition: 0, ...options });
  return { broker, connection, consumer };
}

/** Records of different lengths, each recognisable. */
const records = Array.from({ length: 60 }, (_, i) => new Uint8Array(1 + ((i * 7) % 40)).fill(i + 1));
const code = (expected: string) => expect.objectContaining({ code: expected });

describe.each(RECORD_FORMATS)("a consumer of %s", (format) => {
  it("S17 drops the cut tail and moves past whole records only, for every maxBytes", async () => {
    for (let maxBytes = 48; maxBytes < 200; maxBytes += 5) {
      const { broker, consumer } = await consuming(records, { format }, { maxBytes });
      const read: Uint8Array[] = [];
      while (consumer.position < records.length) {
        const asked = consumer.position;
        const batch = await consumer.poll();
        expect(batch.baseOffset).toBe(asked);
        expect(consumer.position).toBe(asked + batch.length);
        expect(batch.nextOffset).toBe(consumer.position);
        for (const record of batch) read.push(Uint8Array.from(record));
      }
      expect(read).toEqual(records);
      expect((await consumer.poll()).length).toBe(0);
      broker.stop();
    }
  });

  it("S18 says so when the next record is larger than maxBytes, with both sizes, and may be told to read on", async () => {
    const large = new Uint8Array(500).fill(9);
    const { consumer } = await consuming([records[3], large, records[4]], { format }, { maxBytes: 100 });
    expect((await consumer.poll()).length).toBe(1);
    const header = format === "plain" ? 4 : 8;
    for (let again = 0; again < 2; again++) {
      const error = await consumer.poll().catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(RecordExceedsMaxBytesError);
      expect(error).toMatchObject({
        topic: "orders",
        partition: 0,
        offset: 1,
        recordBytes: 500 + header,
        maxBytes: 100,
      });
      expect(consumer.position).toBe(1);
    }
    consumer.seek(2);
    expect([...(await consumer.poll())]).toEqual([records[4]]);
  });

  it("is not moved while a poll waits, whose answer would move it back", async () => {
    const { consumer } = await consuming(records, { format });
    const waiting = consumer.poll();
    expect(() => consumer.seek(7)).toThrow(code("BAD_ARGUMENT"));
    expect((await waiting).baseOffset).toBe(0);
    consumer.seek(7);
    expect((await consumer.poll()).baseOffset).toBe(7);
  });

  it("S18 knows the size even at the least maxBytes", async () => {
    const { consumer } = await consuming([new Uint8Array(5000)], { format }, { maxBytes: 16 });
    await expect(consumer.poll()).rejects.toThrow(
      expect.objectContaining({ code: "RECORD_EXCEEDS_MAX_BYTES", maxBytes: 16 }),
    );
  });

  it("asks for as much as the record takes when it may, and no more than that", async () => {
    const sizes = [10, 3000, 20, 5000];
    const { consumer } = await consuming(
      sizes.map((size) => new Uint8Array(size).fill(1)),
      { format },
      { maxBytes: 64, maxBytesLimit: 4000 },
    );
    expect((await consumer.poll()).length).toBe(1);
    expect([...(await consumer.poll())].map((record) => record.length)).toEqual([3000]);
    expect((await consumer.poll()).length).toBe(1);
    await expect(consumer.poll()).rejects.toBeInstanceOf(RecordExceedsMaxBytesError);
  });

  it("says so when the broker's own bound keeps a record from it", async () => {
    const { broker, consumer } = await consuming(
      [new Uint8Array(3000)],
      { format },
      { maxBytes: 64, maxBytesLimit: 10_000 },
    );
    broker.intercept = ({ fetch, socket }) => {
      if (fetch === undefined) return false;
      const stored = storedRecords(format, [new Uint8Array(3000)]);
      socket.write(fetchAnswerTo(fetch, 1, stored.subarray(0, Math.min(fetch.parts[0]?.maxBytes ?? 0, 1000))));
      return true;
    };
    await expect(consumer.poll()).rejects.toBeInstanceOf(RecordExceedsMaxBytesError);
  });

  it("gives what is there when it is there, and an empty batch before", async () => {
    const { broker, consumer } = await consuming([], { format });
    const empty = await consumer.poll();
    expect({ length: empty.length, next: empty.nextOffset, lag: empty.lag }).toEqual({ length: 0, next: 0, lag: 0 });
    broker.log("orders", 0).push(records[5]);
    const batch = await consumer.poll();
    expect([...batch]).toEqual([records[5]]);
    expect(batch).toMatchObject({ topic: "orders", partition: 0, baseOffset: 0, highWatermark: 1 });
  });

  it("names the offset of a record whose length cannot be", async () => {
    const { broker, consumer } = await consuming(records, { format });
    const stored = storedRecords(format, records.slice(0, 3));
    new DataView(stored.buffer).setInt32(storedRecords(format, records.slice(0, 2)).length, -1);
    broker.intercept = ({ fetch, socket }) =>
      fetch !== undefined && (socket.write(fetchAnswerTo(fetch, 60, stored)) || true);
    expect((await consumer.poll()).length).toBe(2);
    broker.intercept = () => false;
    expect(consumer.position).toBe(2);
  });
});

describe("a consumer", () => {
  it("P10 S15 finds one flipped bit anywhere in a payload or sum, gives the records before it and names its offset", async () => {
    const stored = storedRecords("crc32c", records.slice(0, 4));
    const third = storedRecords("crc32c", records.slice(0, 2)).length;
    const { broker, consumer } = await consuming(records);
    for (let bit = (third + 4) * 8; bit < (third + 8 + records[2].length) * 8; bit += 3) {
      const wrong = stored.slice();
      wrong[bit >> 3] ^= 1 << (bit & 7);
      broker.intercept = ({ fetch, socket }) => {
        if (fetch === undefined) return false;
        socket.write(fetchAnswerTo(fetch, 60, fetch.parts[0]?.offset === 0 ? wrong : wrong.subarray(third)));
        return true;
      };
      consumer.seek(0);
      expect((await consumer.poll()).length).toBe(2);
      const error = await consumer.poll().catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(CorruptRecordError);
      expect(error).toMatchObject({ code: "CORRUPT_RECORD", topic: "orders", partition: 0, offset: 2 });
      expect(consumer.position).toBe(2);
    }
  });

  it("begins at the start of the live log, at its end, or at an offset", async () => {
    const partition = { partition: partitionId(0), epoch: 0, logStartOffset: offset(20), highWatermark: offset(50) };
    const ends = { durableOffset: offset(50), logEndOffset: offset(60) };
    const broker = await FakeBroker.start();
    broker.intercept = ({ kind, socket, correlationId }) => {
      if (kind !== RequestKind.METADATA_V2) return false;
      const topic = { topic: "orders", recordFormat: "crc32c" as const, partitions: [{ ...partition, ...ends }] };
      socket.write(encodeMetadataResponse(2, correlationId, [topic]));
      return true;
    };
    const connection = await Connection.connect({ broker: broker.address });
    onTestFinished(() => connection.destroy());
    const at = async (from?: ConsumerOptions["from"]) =>
      (await Consumer.open(connection, { topic: "orders", partition: 0, from })).position;
    expect([await at(), await at("earliest"), await at("latest"), await at(33)]).toEqual([20, 20, 50, 33]);
    const consumer = await Consumer.open(connection, { topic: "orders", partition: 0, from: 45 });
    expect([consumer.highWatermark, consumer.lag]).toEqual([50, 5]);
    await expect(at(-1)).rejects.toThrow(code("BAD_ARGUMENT"));
    await expect(at(1.5)).rejects.toThrow(code("BAD_ARGUMENT"));
  });

  it("says that a partition is not there, or that the broker refused to open it", async () => {
    const { broker, connection } = await consuming([]);
    await expect(Consumer.open(connection, { topic: "orders", partition: 1 })).rejects.toThrow(
      code("UNKNOWN_TOPIC_OR_PARTITION"),
    );
    await expect(Consumer.open(connection, { topic: "no", partition: 0 })).rejects.toThrow(
      code("UNKNOWN_TOPIC_OR_PARTITION"),
    );
    broker.intercept = ({ socket, correlationId }) => {
      const none = offset(-1);
      const refused = {
        partition: partitionId(0),
        epoch: -1,
        logStartOffset: none,
        highWatermark: none,
        durableOffset: none,
        logEndOffset: none,
      };
      return socket.write(
        encodeMetadataResponse(2, correlationId, [{ topic: "orders", recordFormat: "plain", partitions: [refused] }]),
      );
    };
    await expect(Consumer.open(connection, { topic: "orders", partition: 0 })).rejects.toThrow(code("STORAGE_FAILURE"));
  });

  it("may poll again after a failed poll, from the same offset", async () => {
    const { broker, consumer } = await consuming(records);
    broker.intercept = ({ fetch }) => fetch !== undefined;
    await expect(consumer.poll({ timeoutMs: 20 })).rejects.toThrow(code("REQUEST_TIMEOUT"));
    expect(consumer.position).toBe(0);
  });

  it("polls once at a time", async () => {
    const { consumer } = await consuming(records);
    const first = consumer.poll();
    await expect(consumer.poll()).rejects.toThrow(code("BAD_ARGUMENT"));
    expect((await first).length).toBe(60);
  });

  it("refuses a maxBytes that could not even hold a header", async () => {
    const { connection } = await consuming([]);
    for (const maxBytes of [0, 15, -1, 1.5]) {
      await expect(Consumer.open(connection, { topic: "orders", partition: 0, maxBytes })).rejects.toThrow(
        code("BAD_ARGUMENT"),
      );
    }
  });
});
