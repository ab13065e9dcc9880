// Readers and single writers over a bad network, on real brokers in processes of their own that stop, die and lose what was
// not forced. What must hold: every record exactly once and in order, or an error that says why not.
//
// MILLRACE_SEED=N makes the network cut, split and delay as it did.

import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import { Consumer } from "../../src/client/consumer.js";
import { LogTruncatedError } from "../../src/client/errors.js";
import { Follower, type FollowerOptions } from "../../src/client/follower.js";
import { ReadPosition } from "../../src/client/read-position.js";
import type { RecordBatch } from "../../src/client/record-batch.js";
import { recordRegion } from "../../src/client/record-region.js";
import { AckPolicy } from "../../src/model/ack-policy.js";
import type { MillraceError } from "../../src/model/errors.js";
import { type BrokerProcess, spawnReady, testSettings } from "../support/broker.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";

const seed = printedSeed("reading through cuts");
const settings = (dir: string, partitions: number) => ({ ...testSettings(dir), topics: `orders:${partitions}` });
const written = { ack: AckPolicy.WRITTEN } as const;

async function connectTo(broker: string): Promise<Connection> {
  const connection = await Connection.connect({ broker, requestTimeoutMs: 10_000 });
  onTestFinished(() => connection.destroy());
  return connection;
}

const direct = ({ port }: BrokerProcess) => connectTo(`127.0.0.1:${port}`);

/** A follower of all partitions from the start, over the proxy; what it has read, by partition. */
async function followed(proxy: CuttingProxy, partitions: number, options: Partial<FollowerOptions> = {}) {
  const connection = await connectTo(proxy.address);
  const [topic] = await connection.metadata(["orders"]);
  await connection.close();
  const positions = (topic?.partitions ?? []).map(
    (metadata) => new ReadPosition("orders", "crc32c", metadata, metadata.logStartOffset, metadata.epoch, {}),
  );
  const stop = new AbortController();
  /** For the message of a test that waits in vain: when it was cut, how, and how long it then waited. */
  const cuts: string[] = [];
  const begun = performance.now();
  const read: string[][] = Array.from({ length: partitions }, () => []);
  const follower = new Follower({
    connect: () => Connection.connect({ broker: proxy.address, connectTimeoutMs: 2000 }),
    positions,
    signal: stop.signal,
    ...options,
    onLost: (error, retryMs) => {
      cuts.push(`${Math.round(performance.now() - begun)} ms: ${error.message}; again in ${Math.round(retryMs)} ms`);
      options.onLost?.(error, retryMs);
    },
  });
  const take = (batch: RecordBatch): void => {
    const of = read[batch.partition] as string[];
    expect(batch.baseOffset).toBe(of.length);
    for (const record of batch) of.push(Buffer.from(record).toString());
  };
  const ended = (async () => {
    for await (const batches of follower) batches.forEach(take);
  })();
  ended.catch(() => undefined);
  onTestFinished(() => stop.abort());
  const count = () => read.reduce((sum, { length }) => sum + length, 0);
  return { read, ended, stop, count, cuts };
}

const numbered = (partition: number, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${partition}:${from + i}`);

describe("a reader that waits", () => {
  it("F17 whose network is cut, delayed and split at random reads every record once, in order", async () => {
    const random = randomFrom(seed);
    const broker = await spawnReady(settings(tempDir("cuts"), 3));
    const proxy = await CuttingProxy.start(broker.port, random);
    const { read, count, cuts } = await followed(proxy, 3, { maxWaitMs: 2000, timeoutMs: 2000, random });
    // By bytes and not by time: a connection that a slow machine needs a while for would end before it brought anything, and
    // the pauses between the tries grow with each such failure.
    proxy.network = { pieceBytesMax: 300, delayMsMax: 3, lifeBytes: 3000 };
    proxy.cut();
    const producer = await direct(broker);
    const sent = [0, 0, 0];
    const until = performance.now() + 30_000;
    for (let batch = 0; batch < 300 || (proxy.cuts < 15 && performance.now() < until); batch++) {
      const partition = Math.floor(random() * 3);
      const records = numbered(partition, sent[partition] ?? 0, 1 + Math.floor(random() * 20));
      await producer.produce("orders", partition, recordRegion(records), written);
      sent[partition] = (sent[partition] ?? 0) + records.length;
      await sleep(random() * 15);
    }
    proxy.network = {};
    proxy.cut();
    const all = sent.reduce((sum, each) => sum + each);
    // Two of the longest pauses and a connection that takes its time fit.
    await expect
      .poll(count)
      .toBe(all)
      .catch((error: unknown) => {
        throw new Error(`${count()} of ${all} were read; cuts:\n${cuts.join("\n")}`, { cause: error });
      });
    expect(read).toEqual(sent.map((each, partition) => numbered(partition, 0, each)));
    expect(proxy.cuts).toBeGreaterThan(10);
  });

  it("F17 whose network is cut while nothing comes repeats from the same offset", async () => {
    const broker = await spawnReady(settings(tempDir("cuts"), 1));
    const proxy = await CuttingProxy.start(broker.port, randomFrom(seed + 1));
    const { read } = await followed(proxy, 1);
    const producer = await direct(broker);
    for (let n = 0; n < 8; n++) {
      await sleep(30);
      proxy.cut();
      // Some come while it is away, some when it waits again.
      if (n % 2 === 0) await expect.poll(() => proxy.connections).toBe(3 + n);
      await producer.produce("orders", 0, recordRegion(numbered(0, n, 1)));
      await expect.poll(() => read[0]?.length).toBe(n + 1);
    }
    expect(read[0]).toEqual(numbered(0, 0, 8));
  });

  it("F16 of a broker that stops gets an empty answer, connects to the next one and misses nothing", async () => {
    const dir = tempDir("cuts");
    let broker = await spawnReady(settings(dir, 2));
    const lost: string[] = [];
    const proxy = await CuttingProxy.start(broker.port, randomFrom(seed + 2));
    const { read, count } = await followed(proxy, 2, { onLost: ({ code }) => lost.push(code) });
    for (let restart = 0; restart < 3; restart++) {
      const producer = await direct(broker);
      const consumer = await Consumer.open(await direct(broker), {
        topic: "orders",
        partition: 1,
        from: "latest",
        maxWaitMs: 30_000,
      });
      await producer.produce("orders", 0, recordRegion(numbered(0, restart * 10, 10)));
      await expect.poll(count).toBe((restart + 1) * 10);
      const polling = consumer.poll();
      await sleep(50);
      const begun = performance.now();
      const stopped = broker.stop();
      const answer = await polling;
      expect([answer.length, answer.baseOffset]).toEqual([0, 0]);
      expect(await stopped).toBe(0);
      expect(performance.now() - begun).toBeLessThan(10_000);
      broker = await spawnReady(settings(dir, 2));
      proxy.target = broker.port;
    }
    const producer = await direct(broker);
    await producer.produce("orders", 1, recordRegion(numbered(1, 0, 5)));
    await expect.poll(count).toBe(35);
    expect(read).toEqual([numbered(0, 0, 30), numbered(1, 0, 5)]);
    expect(lost.length).toBeGreaterThanOrEqual(3);
  });

  it("F16 of a broker that dies under it reads what was acknowledged, once, from the next one", async () => {
    const random = randomFrom(seed + 3);
    const dir = tempDir("cuts");
    let broker = await spawnReady(settings(dir, 1));
    const proxy = await CuttingProxy.start(broker.port, random);
    proxy.network = { pieceBytesMax: 2000 };
    const { read } = await followed(proxy, 1, { random });
    let sent = 0;
    for (let death = 0; death < 3; death++) {
      const producer = await direct(broker);
      for (let batch = 0; batch < 20; batch++) {
        await producer.produce("orders", 0, recordRegion(numbered(0, sent, 7)));
        sent += 7;
      }
      broker.kill("SIGKILL");
      await broker.exited;
      broker = await spawnReady(settings(dir, 1));
      proxy.target = broker.port;
    }
    await expect.poll(() => read[0]?.length).toBe(sent);
    expect(read[0]).toEqual(numbered(0, 0, sent));
  });

  it("F20 is told when a recovery has cut what it had read, and where; it does not go on in silence", async () => {
    const dir = tempDir("cuts");
    const options = { ...settings(dir, 1), "segment.mode": "FILE_CHANNEL" };
    let broker = await spawnReady(options);
    const proxy = await CuttingProxy.start(broker.port, randomFrom(seed + 4));
    const { read, ended } = await followed(proxy, 1);
    const producer = await direct(broker);
    const consumer = await Consumer.open(await direct(broker), { topic: "orders", partition: 0 });
    const fixed = (from: number, count: number) => numbered(0, from, count).map((text) => text.padEnd(20, "."));
    await producer.produce("orders", 0, recordRegion(fixed(0, 80)));
    await producer.produce("orders", 0, recordRegion(fixed(80, 20)), written);
    await expect.poll(() => read[0]?.length).toBe(100);
    expect([(await consumer.poll()).length, consumer.epoch]).toEqual([100, 0]);
    broker.kill("SIGKILL");
    await broker.exited;
    // What a loss of power takes: some of the records that nobody had forced, the last of them in part.
    const partition = join(dir, "orders-0");
    const segment = readdirSync(partition).find((name) => name.endsWith(".log")) as string;
    truncateSync(join(partition, segment), 90 * (8 + 20) + 11);
    broker = await spawnReady(options);
    const again = await direct(broker);
    const others = Array.from({ length: 30 }, (_, i) => `other ${i}`);
    expect(await again.produce("orders", 0, recordRegion(others))).toMatchObject({ baseOffset: 90, logEndOffset: 120 });
    proxy.target = broker.port;
    const error = await ended.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(LogTruncatedError);
    expect(error).toMatchObject({ topic: "orders", partition: 0, offset: 100, epochStart: 90 });
    expect(read[0]).toHaveLength(100);
    // A program that kept position and epoch finds out as well.
    const { position: from, epoch } = consumer;
    const kept = await Consumer.open(again, { topic: "orders", partition: 0, from, epoch });
    await expect(kept.poll()).rejects.toMatchObject({ code: "LOG_TRUNCATED", offset: 100, epochStart: 90 });
    kept.seek(90);
    expect([...(await kept.poll())].map((record) => Buffer.from(record).toString())).toEqual(others);
  });
});

describe("a writer with an offset of its own", () => {
  it("P11 repeats what was not answered until it knows, and every batch is there once", async () => {
    const random = randomFrom(seed + 5);
    const broker = await spawnReady(settings(tempDir("cuts"), 1));
    const proxy = await CuttingProxy.start(broker.port, random);
    proxy.network = { pieceBytesMax: 40 };
    let connection = await connectTo(proxy.address);
    let next = 0;
    let repeated = 0;
    let foundWritten = 0;
    /** Another connection; that one may be cut while it is made. */
    const again = async (): Promise<Connection> => {
      for (;;) {
        const made = await connectTo(proxy.address).catch(() => undefined);
        if (made !== undefined) return made;
      }
    };
    /** Writes a batch for certain. Alone, so OFFSET_MISMATCH after a try without an answer says that that one was written. */
    const write = async (records: readonly string[]): Promise<void> => {
      for (let tries = 0; ; tries++) {
        try {
          await connection.produce("orders", 0, recordRegion(records), { expectedOffset: next });
          return;
        } catch (error) {
          const { code } = error as MillraceError;
          if (code === "OFFSET_MISMATCH" && tries > 0) {
            foundWritten++;
            return;
          }
          expect(code).toBe("CONNECTION_LOST");
          repeated++;
          connection = await again();
        }
      }
    };
    for (let batch = 0; batch < 60; batch++) {
      const records = numbered(0, next, 1 + Math.floor(random() * 5));
      if (batch % 3 === 0) proxy.swallowNextAnswer = true;
      // The request itself may be what does not arrive.
      if (batch % 5 === 0) setTimeout(() => proxy.cut(), random() * 3);
      await write(records);
      next += records.length;
    }
    const consumer = await Consumer.open(await direct(broker), { topic: "orders", partition: 0 });
    expect([...(await consumer.poll())].map((record) => Buffer.from(record).toString())).toEqual(numbered(0, 0, next));
    expect(repeated).toBeGreaterThanOrEqual(20);
    expect(foundWritten).toBeGreaterThan(0);
  });

  it("P11 meets another, and exactly one of them has written; nothing of the other is there", async () => {
    const broker = await spawnReady(settings(tempDir("cuts"), 1));
    const writers = [await direct(broker), await direct(broker)];
    const expected: string[] = [];
    for (let round = 0; round < 50; round++) {
      const outcomes = await Promise.all(
        writers.map((writer, i) =>
          writer
            .produce("orders", 0, recordRegion([`${i}:${round} a`, `${i}:${round} b`]), {
              ack: round % 2 === 0 ? AckPolicy.FORCED : AckPolicy.WRITTEN,
              expectedOffset: round * 2,
            })
            .then(
              ({ baseOffset }) => baseOffset,
              (error: MillraceError) => error.code,
            ),
        ),
      );
      expect([...outcomes].sort()).toEqual([round * 2, "OFFSET_MISMATCH"].sort());
      const winner = outcomes.findIndex((outcome) => outcome === round * 2);
      expected.push(`${winner}:${round} a`, `${winner}:${round} b`);
    }
    const consumer = await Consumer.open(writers[0] as Connection, { topic: "orders", partition: 0 });
    expect([...(await consumer.poll())].map((record) => Buffer.from(record).toString())).toEqual(expected);
  });
});
