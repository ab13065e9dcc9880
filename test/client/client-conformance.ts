// What holds of a client whatever it leads to: the same tests on a broker and on logs in the process.

import { cpSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { memoryCheckpoints } from "../../src/client/checkpoint/memory.js";
import { Client } from "../../src/client/client.js";
import { LogTruncatedError, OffsetMismatchError, OffsetOutOfRangeError } from "../../src/client/errors.js";
import { partitionOfKey } from "../../src/client/partitioner.js";
import type { RecordBatch } from "../../src/client/record-batch.js";
import { openLog } from "../../src/log/embedded.js";
import { offset } from "../../src/model/ids.js";
import { crashCopy, flipBit, logPath } from "../storage/support/crash.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { SOON_MS } from "../support/waiting.js";
import type { GroundOptions, MakeGround } from "./conformance.js";

const code = (expected: string) => expect.objectContaining({ code: expected });
const textOf = (payload: Uint8Array): string => Buffer.from(payload).toString().trimEnd();

/** A directory whose orders-0 had 100 records in epoch 0, was cut at 80 by a recovery, and has 40 new ones in epoch 1. */
async function cutAt80(): Promise<string> {
  const [before, dir] = [tempDir("before"), tempDir("cut")];
  const options = { diskReserveBytes: 0, segmentBytes: 1024 * 1024 };
  const record = (name: string, n: number): Uint8Array => ascii(`${name}${n}`.padEnd(92));
  const log = await openLog(before, options);
  for (let n = 0; n < 100; n++) await log.append(record("old", n), { ack: "written" });
  const killed = crashCopy(before);
  await log.close();
  flipBit(logPath(killed, 0), 80 * 100 + 50);
  cpSync(killed, join(dir, "orders-0"), { recursive: true });
  const again = await openLog(join(dir, "orders-0"), options);
  for (let n = 0; n < 40; n++) await again.append(record("new", n), { ack: "written" });
  await again.close();
  return dir;
}

/** A client that the end of the test closes. */
export async function clientOn(make: MakeGround, options: GroundOptions = {}): Promise<Client> {
  const client = await Client.open(await make(options));
  onTestFinished(() => client.close());
  return client;
}

export function clientConformance(name: string, make: MakeGround): void {
  const clientOf = (options?: GroundOptions) => clientOn(make, options);
  const collect = async (batches: AsyncIterable<RecordBatch>, count = Number.POSITIVE_INFINITY): Promise<string[]> => {
    const all: string[] = [];
    for await (const { topic, partition, baseOffset, records } of batches) {
      for (const [i, each] of records.entries()) all.push(`${topic}-${partition} ${baseOffset + i} ${textOf(each)}`);
      if (all.length >= count) break;
    }
    return all;
  };

  describe(`a client of ${name}`, () => {
    it("P05 a key chooses the partition by the function that all clients share, and round robin the others", async () => {
      const client = await clientOf();
      const producer = client.producer();
      for (const key of ["a", "b", "fruit", "größe", "x".repeat(300)]) {
        const sent = await producer.send("orders", "x", { key });
        expect(sent.partition).toBe(partitionOfKey(key, 3));
      }
      const turns = new Set<number>();
      for (let i = 0; i < 6; i++) turns.add((await producer.send("orders", "x")).partition);
      expect([...turns].sort()).toEqual([0, 1, 2]);
    });

    it("P07 C1 what is sent to a partition stands there in order, and a batch is adjacent", async () => {
      const client = await clientOf();
      const producer = client.producer({ lingerMs: 1 });
      const sent = await Promise.all(
        Array.from({ length: 500 }, (_, n) => producer.send("orders", `r${n}`, { partition: 0 })),
      );
      expect(sent.map((each) => each.offset)).toEqual(sent.map((_, n) => n));
      const batch = await producer.batch("orders", ["b0", "b1", "b2"], { partition: 0 });
      expect(batch).toMatchObject({ partition: 0, baseOffset: 500, nextOffset: 503 });
      const read = await collect(client.replay("orders", { partitions: [0] }));
      expect(read.slice(0, 500)).toEqual(sent.map((_, n) => `orders-0 ${n} r${n}`));
      expect(read.slice(500)).toEqual(["orders-0 500 b0", "orders-0 501 b1", "orders-0 502 b2"]);
    });

    it("P11 an append with an expected offset is there once, and an exclusive producer hears of another writer", async () => {
      const client = await clientOf();
      const producer = client.producer();
      const first = await producer.append("orders", ["opened"], { partition: 1, expectedOffset: 0 });
      const both = [1, 2].map((n) =>
        producer.append("orders", [`w${n}`], { partition: 1, expectedOffset: first.nextOffset }),
      );
      expect((await Promise.allSettled(both)).map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      for (const late of [client.producer(), client.producer({ exclusive: true })]) {
        const misplaced = late.append("orders", ["late"], { partition: 1, expectedOffset: 1 });
        await expect(misplaced).rejects.toBeInstanceOf(OffsetMismatchError);
        await expect(misplaced).rejects.toMatchObject({ code: "OFFSET_MISMATCH", expectedOffset: 1, logEndOffset: 2 });
        await expect(misplaced).rejects.toThrow(
          "orders-1 ends at 2, not at the expected offset 1; nothing was written",
        );
      }
      const only = client.producer({ exclusive: true });
      expect((await only.send("orders", "mine", { partition: 1 })).offset).toBe(2);
      await producer.send("orders", "somebody else's", { partition: 1 });
      await expect(only.send("orders", "mine again", { partition: 1 })).rejects.toThrow(code("OFFSET_MISMATCH"));
      expect(await collect(client.replay("orders"))).toHaveLength(4);
    });

    it("what the log refuses rejects the send, and the producer goes on", async () => {
      const client = await clientOf();
      const producer = client.producer();
      await expect(producer.send("nowhere", "x")).rejects.toThrow(code("UNKNOWN_TOPIC_OR_PARTITION"));
      await expect(producer.send("orders", "x", { partition: 9 })).rejects.toThrow(code("UNKNOWN_TOPIC_OR_PARTITION"));
      await expect(collect(client.replay("nowhere"))).rejects.toThrow(code("UNKNOWN_TOPIC_OR_PARTITION"));
      expect((await producer.send("orders", "x", { partition: 0 })).offset).toBe(0);
    });

    it("P01 P03 a replay has all partitions, in order inside each, and ends where they ended, whatever comes meanwhile", async () => {
      const client = await clientOf();
      const producer = client.producer();
      for (let n = 0; n < 30; n++) await producer.send("orders", `${n}`, { partition: n % 3 });
      const read: string[] = [];
      for await (const { partition, offset: at, payload } of client
        .replay("orders", { answerBytes: 64, maxBytes: 32 })
        .records()) {
        read.push(`${partition} ${at} ${textOf(payload)}`);
        await producer.send("orders", "later", { partition });
      }
      expect(read).toHaveLength(30);
      for (const partition of [0, 1, 2]) {
        const own = read.filter((line) => line.startsWith(`${partition} `));
        expect(own).toEqual(Array.from({ length: 10 }, (_, n) => `${partition} ${n} ${n * 3 + partition}`));
      }
    });

    it("P03 F06 follow() goes on at the end as records come, from several topics at once, and says how far it is behind", async () => {
      const client = await clientOf();
      const producer = client.producer();
      await producer.batch("orders", ["a", "b"], { partition: 0 });
      const seen: string[] = [];
      const lags: number[] = [];
      const following = (async () => {
        for await (const batch of client.follow(["orders", "clicks"])) {
          lags.push(batch.lag);
          for (const each of batch.records) seen.push(`${batch.topic} ${textOf(each)}`);
          if (seen.includes("clicks end")) return;
        }
      })();
      await expect.poll(() => seen.length, { timeout: SOON_MS }).toBe(2);
      await sleep(30);
      await producer.send("orders", "c", { partition: 2 });
      await expect.poll(() => seen.length, { timeout: SOON_MS }).toBe(3);
      await producer.send("clicks", "end");
      await following;
      expect(seen).toEqual(["orders a", "orders b", "orders c", "clicks end"]);
      expect(lags).toEqual([0, 0, 0]);
    });

    it("starts at an offset, at the end, or at a time", async () => {
      const client = await clientOf();
      const producer = client.producer();
      const before = new Date(Date.now() - 1000);
      await producer.batch("orders", ["a", "b", "c"], { partition: 0 });
      const replay = (from: "latest" | number | Date) => collect(client.replay("orders", { partitions: [0], from }));
      expect(await replay(1)).toEqual(["orders-0 1 b", "orders-0 2 c"]);
      expect(await replay("latest")).toEqual([]);
      expect(await replay(before)).toHaveLength(3);
      expect(await replay(new Date(Date.now() + 60_000))).toEqual([]);
      expect((await client.offsetsAt("orders", "latest")).map((each) => each.offset)).toEqual([3, 0, 0]);
    });

    it("a position that is not in the log is an error, unless the caller chose where to go on", async () => {
      const client = await clientOf();
      await client.producer().batch("orders", ["a", "b"], { partition: 0 });
      const wrong = { partitions: [0], from: 17 };
      const refused = collect(client.follow("orders", wrong), 1);
      await expect(refused).rejects.toBeInstanceOf(OffsetOutOfRangeError);
      await expect(refused).rejects.toMatchObject({ offset: 17, logStartOffset: 0, highWatermark: 2, partition: 0 });
      const chosen = await collect(client.follow("orders", { ...wrong, onOutOfRange: "earliest" }), 1);
      expect(chosen).toEqual(["orders-0 0 a", "orders-0 1 b"]);
    });

    it("F20 a log that was cut below the position is an error that says where, unless the caller chose where to go on", async () => {
      const client = await clientOf({ topics: { orders: 1 }, dir: await cutAt80() });
      const seen = () => memoryCheckpoints([{ topic: "orders", partition: 0, offset: offset(100), epoch: 0 }]);
      const refused = collect(client.follow("orders").checkpointing(seen()), 1);
      await expect(refused).rejects.toBeInstanceOf(LogTruncatedError);
      await expect(refused).rejects.toMatchObject({ offset: 100, epochStart: 80 });
      const chosen = client.follow("orders", { onTruncated: ({ epochStart }) => epochStart }).checkpointing(seen());
      expect((await collect(chosen, 1))[0]).toBe("orders-0 80 new0");
    });

    it("a consumer polls from its own position, seeks, and knows its lag", async () => {
      const client = await clientOf();
      const producer = client.producer();
      await producer.batch("orders", ["a", "b", "c"], { partition: 0 });
      const consumer = await client.consumer({ topic: "orders", partition: 0, from: 1 });
      const batch = await consumer.poll();
      expect([batch.baseOffset, [...batch].map(textOf), consumer.lag]).toEqual([1, ["b", "c"], 0]);
      expect((await consumer.poll()).length).toBe(0);
      consumer.seek(0);
      expect([...(await consumer.poll())].map(textOf)).toEqual(["a", "b", "c"]);
      const waiting = consumer.poll({ maxWaitMs: 60_000 });
      await producer.send("orders", "d", { partition: 0 });
      expect([...(await waiting)].map(textOf)).toEqual(["d"]);
    });

    it("a poll that was given up by its signal keeps nobody waiting behind it", async () => {
      const client = await clientOf();
      const consumer = await client.consumer({ topic: "orders", partition: 0, maxWaitMs: 20_000 });
      const stop = new AbortController();
      const given = consumer.poll({ signal: stop.signal });
      await sleep(50);
      stop.abort(new Error("enough"));
      await expect(given).rejects.toThrow("enough");
      const asked = performance.now();
      expect((await consumer.poll({ maxWaitMs: 0 })).length).toBe(0);
      expect(performance.now() - asked).toBeLessThan(10_000);
    });

    it("P06 a close settles every send and ends what waits with CLOSED", async () => {
      const client = await clientOf();
      const producer = client.producer({ lingerMs: 10_000 });
      const sent = producer.send("orders", "waits for its linger", { partition: 0 });
      const following = collect(client.follow("clicks"), 1);
      following.catch(() => undefined);
      await sleep(30);
      await client.close();
      expect((await sent).offset).toBe(0);
      await expect(following).rejects.toThrow(code("CLOSED"));
      await expect(producer.send("orders", "late")).rejects.toThrow(code("CLOSED"));
      expect(() => client.follow("orders").records()).not.toThrow();
      await expect(collect(client.replay("orders"))).rejects.toThrow(code("CLOSED"));
    });
  });
}
