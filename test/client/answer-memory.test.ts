// Memory of answers that is given back, and that nobody ever sees in it what is not his.

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { answerMemory, giveBack, holdsBatches } from "../../src/client/answer-memory.js";
import { connect, envelope, RecordBatch, TypedRecord, text } from "../../src/client/index.js";
import { offset, partitionId } from "../../src/model/ids.js";
import { CLIENT_SPARE_BYTES } from "../../src/model/limits.js";
import { runBroker } from "../support/broker.js";
import { printedSeed, randomFrom } from "../support/seed.js";

const RECORD_BYTES = 4000;
const RECORDS = 3000;
/** Some fifty records an answer: above what is kept and below what the topic has. */
const MAX_BYTES = 200_000;

/** The record at an offset of a partition: no two are alike. */
function recordAt(partition: number, at: number): Uint8Array {
  const record = new Uint8Array(RECORD_BYTES).fill((at % 251) + 1);
  new DataView(record.buffer).setUint32(0, partition * 1_000_000 + at);
  return record;
}

async function filled(partitions: number) {
  const { port } = await runBroker({ topics: `orders:${partitions}` });
  const client = await connect({ broker: `127.0.0.1:${port}` });
  onTestFinished(() => client.close());
  const producer = client.producer({ ack: "written" });
  for (let partition = 0; partition < partitions; partition++) {
    for (let at = 0; at < RECORDS; at += 500) {
      const records = Array.from({ length: 500 }, (_, i) => recordAt(partition, at + i));
      await producer.batch("orders", records, { partition });
    }
  }
  return client;
}

describe("a batch that was released", () => {
  it("leaves every record of the others as it was, and empties its own, whatever is kept and released", async () => {
    const random = randomFrom(printedSeed("released batches"));
    const client = await filled(1);
    const kept: { readonly at: number; readonly record: Uint8Array }[] = [];
    const emptied: Uint8Array[] = [];
    let released = 0;
    for (let round = 0; round < 3; round++) {
      const waiting: RecordBatch[] = [];
      for await (const batch of client.replay("orders", { maxBytes: MAX_BYTES })) {
        batch.records.forEach((record, i) => {
          expect(record[4]).toBe(((batch.baseOffset + i) % 251) + 1);
        });
        if (random() < 0.2) {
          kept.push(
            { at: batch.baseOffset, record: batch.at(0) },
            { at: batch.nextOffset - 1, record: batch.at(batch.length - 1) },
          );
          continue;
        }
        emptied.push(batch.at(0));
        waiting.push(batch);
        // Not in the order in which they came.
        while (waiting.length > random() * 3) {
          (waiting.splice(Math.floor(random() * waiting.length), 1)[0] as RecordBatch).release();
          released++;
        }
      }
      for (const batch of waiting) batch.release();
    }
    expect(released).toBeGreaterThan(20);
    expect(kept.length).toBeGreaterThan(0);
    for (const { at, record } of kept) expect(Buffer.compare(record, recordAt(0, at))).toBe(0);
    expect(emptied.every(({ length }) => length === 0)).toBe(true);
  });

  it("leaves the other partitions' batches of the same answer alone", async () => {
    const client = await filled(3);
    const kept: { readonly partition: number; readonly at: number; readonly record: Uint8Array }[] = [];
    let shared = 0;
    let last: RecordBatch | undefined;
    for await (const batch of client.replay("orders", { maxBytes: MAX_BYTES, answerBytes: 3 * MAX_BYTES })) {
      if (last !== undefined && last.bytes.buffer === batch.bytes.buffer) shared++;
      last = batch;
      if (batch.partition === 1) kept.push({ partition: 1, at: batch.baseOffset, record: batch.at(0) });
      else batch.release();
    }
    expect(shared).toBeGreaterThan(5);
    for (const { partition, at, record } of kept) expect(Buffer.compare(record, recordAt(partition, at))).toBe(0);
  });

  it("says so to whoever asks it for records, and still where to read on", async () => {
    const client = await filled(1);
    const consumer = await client.consumer({ topic: "orders", partition: 0, maxBytes: MAX_BYTES });
    const batch = await consumer.poll();
    const { length, nextOffset, lag } = batch;
    batch.release();
    batch.release();
    const closed = expect.objectContaining({ code: "CLOSED" });
    expect(() => batch.records).toThrow(closed);
    expect(() => batch.at(0)).toThrow(closed);
    expect(() => [...batch]).toThrow(closed);
    expect({ length: batch.length, nextOffset: batch.nextOffset, lag: batch.lag }).toEqual({ length, nextOffset, lag });
    expect(Buffer.compare((await consumer.poll()).at(0), recordAt(0, nextOffset))).toBe(0);
    await consumer.close();
  });
});

describe("a typed record of a batch that was released", () => {
  it("says so, also when it was opened before, and shows no empty key and no empty value", () => {
    const codec = envelope(text());
    const sealed = codec.seal({ value: "apples", key: "fruit", headers: { trace: "47" } });
    const memory = answerMemory(sealed.length);
    memory.set(sealed);
    holdsBatches(memory.buffer, 1);
    const ranges = Uint32Array.of(0, sealed.length);
    const batch = new RecordBatch("orders", partitionId(0), offset(0), offset(1), memory, ranges, 1);
    const record = new TypedRecord(codec, batch, 0);
    expect(record.keyText).toBe("fruit");
    batch.release();
    const closed = expect.objectContaining({ code: "CLOSED" });
    expect(() => record.keyText).toThrow(closed);
    expect(() => record.value).toThrow(closed);
    expect(() => record.headers).toThrow(closed);
  });
});

describe("memory that was given back", () => {
  const BYTES = 300_000;

  /** Bytes in memory that holds one batch. */
  function lent(bytes: number): Uint8Array {
    const memory = answerMemory(bytes);
    holdsBatches(memory.buffer, 1);
    return memory;
  }

  it("is where the next answer goes, and under no view of the last one", () => {
    const first = lent(BYTES).fill(7);
    giveBack(first.buffer);
    expect(first.length).toBe(0);
    const second = lent(BYTES);
    expect([second[0], second[BYTES - 1]]).toEqual([7, 7]);
    expect(lent(BYTES).buffer).not.toBe(second.buffer);
    giveBack(second.buffer);
  });

  it("is kept up to a bound", () => {
    const many = Array.from({ length: 2 * Math.ceil(CLIENT_SPARE_BYTES / BYTES) }, () => lent(BYTES).fill(9));
    for (const { buffer } of many) giveBack(buffer);
    let again = 0;
    for (let i = 0; i < many.length; i++) if (lent(BYTES)[0] === 9) again += BYTES;
    expect(again).toBeGreaterThan(CLIENT_SPARE_BYTES / 2);
    expect(again).toBeLessThanOrEqual(CLIENT_SPARE_BYTES);
  });

  it("is left alone when somebody has moved it elsewhere: some runtimes throw when it is moved again", () => {
    const memory = lent(BYTES);
    structuredClone(memory, { transfer: [memory.buffer as ArrayBuffer] });
    const moves = vi.spyOn(globalThis, "structuredClone");
    onTestFinished(() => moves.mockRestore());
    giveBack(memory.buffer);
    expect(moves).not.toHaveBeenCalled();
  });

  it("of several batches it is when the last was released", () => {
    const memory = answerMemory(BYTES);
    holdsBatches(memory.buffer, 2);
    giveBack(memory.buffer);
    expect(memory.length).toBe(BYTES);
    giveBack(memory.buffer);
    expect(memory.length).toBe(0);
  });
});
