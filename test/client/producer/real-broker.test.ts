// Producers on a real broker: killed and started again under load, and behind a network that splits, delays and cuts.

import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../../src/client/connection.js";
import { Consumer } from "../../../src/client/consumer.js";
import { Producer } from "../../../src/client/producer/producer.js";
import type { ProducerOptions } from "../../../src/client/producer/producer-options.js";
import { runBroker, spawnReady, testSettings } from "../../support/broker.js";
import { CuttingProxy } from "../../support/cutting-proxy.js";
import { printedSeed, randomFrom } from "../../support/seed.js";
import { tempDir } from "../../support/tmp.js";
import { sleep } from "../../support/waiting.js";
import { backendOf } from "./backends.js";

const PARTITIONS = 3;
const KILLS = 3;

interface Told {
  readonly text: string;
  readonly partition: number;
  readonly outcome: number | string;
}

/** Sends without waiting for answers until it is told to stop; resolves to what every caller was told. */
function load(producer: Producer, isOver: () => boolean): Promise<Told[]> {
  const told: Promise<Told>[] = [];
  const send = (text: string, partition: number) =>
    producer.send("orders", text, { partition }).then(
      ({ offset }): Told => ({ text, partition, outcome: offset }),
      (error: { code: string }): Told => ({ text, partition, outcome: error.code }),
    );
  return (async () => {
    for (let i = 0; !isOver(); i++) {
      await producer.room();
      told.push(send(`record ${i} ${"x".repeat(i % 97)}`, i % PARTITIONS));
      if (i % 50 === 0) await sleep(1);
    }
    await producer.close();
    return Promise.all(told);
  })();
}

async function logs(port: number): Promise<string[][]> {
  const connection = await Connection.connect({ broker: `127.0.0.1:${port}` });
  const all: string[][] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const consumer = await Consumer.open(connection, { topic: "orders", partition });
    const log: string[] = [];
    for (let batch = await consumer.poll(); batch.length > 0; batch = await consumer.poll()) {
      for (const record of batch) log.push(Buffer.from(record).toString());
    }
    all.push(log);
  }
  connection.destroy();
  return all;
}

/** What was told is what is there; returns how many were not acknowledged. */
function agree(told: readonly Told[], all: readonly string[][]): number {
  let reported = 0;
  all.forEach((log, partition) => {
    const mine = told.filter((each) => each.partition === partition);
    const wrong = mine.filter(({ text, outcome }) => typeof outcome === "number" && log[outcome] !== text);
    expect(wrong).toEqual([]);
    const present = new Set(log);
    expect(present.size).toBe(log.length);
    const known = mine.filter(({ outcome }) => typeof outcome === "string" && outcome !== "OUTCOME_UNKNOWN");
    expect(known.filter(({ text }) => present.has(text))).toEqual([]);
    expect(
      mine
        .map(({ text }) => text)
        .filter((text) => present.has(text))
        .join("\n"),
    ).toBe(log.join("\n"));
    reported += mine.filter(({ outcome }) => typeof outcome === "string").length;
  });
  return reported;
}

/** Everything is there, once and in order. */
function isComplete(told: readonly Told[], all: readonly string[][]): void {
  expect(agree(told, all)).toBe(0);
  expect(all.reduce((sum, log) => sum + log.length, 0)).toBe(told.length);
}

/** A broker that is killed and started again on the same data three times, while a producer sends. */
async function killedUnderLoad(options: ProducerOptions) {
  const settings = { ...testSettings(tempDir("killed")), topics: `orders:${PARTITIONS}` };
  let broker = await spawnReady(settings);
  const target = { address: `127.0.0.1:${broker.port}` };
  let recovered = 0;
  const producer = new Producer(backendOf(target), { lingerMs: 1, onRecovered: () => recovered++, ...options });
  onTestFinished(() => producer.destroy());
  let isOver = false;
  const loaded = load(producer, () => isOver);
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(300);
    broker.kill("SIGKILL");
    await broker.exited;
    broker = await spawnReady(settings);
    target.address = `127.0.0.1:${broker.port}`;
  }
  await sleep(300);
  isOver = true;
  const told = await loaded;
  expect(recovered).toBeGreaterThan(0);
  expect(told.length).toBeGreaterThan(1000);
  const all = await logs(broker.port);
  await broker.stop();
  return { told, all };
}

/** A broker behind a network that is bad for a while. */
async function badNetwork(options: ProducerOptions) {
  const random = randomFrom(printedSeed("bad network"));
  const { port } = await runBroker({ topics: `orders:${PARTITIONS}` });
  const proxy = await CuttingProxy.start(port, random);
  proxy.network = { pieceBytesMax: 700, delayMsMax: 1, lifeMs: 150 };
  const producer = new Producer(backendOf(proxy), { lingerMs: 1, ...options });
  onTestFinished(() => producer.destroy());
  const until = performance.now() + 1500;
  const loaded = load(producer, () => performance.now() > until);
  setTimeout(() => {
    proxy.network = {};
  }, 1500);
  const told = await loaded;
  expect(proxy.cuts).toBeGreaterThan(2);
  return { told, all: await logs(port) };
}

describe("a producer on a real broker", () => {
  it("P07 sends, batches and appends; all of it is read back where it was said to be", async () => {
    const { port } = await runBroker({ topics: `orders:${PARTITIONS}` });
    const producer = new Producer(backendOf({ address: `127.0.0.1:${port}` }));
    const sends = Array.from({ length: 500 }, (_, i) => producer.send("orders", `r${i}`, { key: `k${i % 7}` }));
    const whole = await producer.batch("orders", ["a", "b"], { partition: 1 });
    await producer.append("orders", ["c"], { partition: 1, expectedOffset: whole.nextOffset });
    const places = await Promise.all(sends);
    await producer.close();
    const all = await logs(port);
    places.forEach(({ partition, offset }, i) => {
      expect(all[partition][offset]).toBe(`r${i}`);
    });
    expect(all[1].slice(whole.baseOffset)).toEqual(["a", "b", "c"]);
  });

  it("sends without acknowledgement what is then there, also a lot of it", async () => {
    const { port } = await runBroker({ topics: `orders:${PARTITIONS}` });
    const producer = new Producer(backendOf({ address: `127.0.0.1:${port}` }), { ack: "none" });
    for (let i = 0; i < 20_000; i++) {
      await producer.room();
      void producer.send("orders", `r${i} ${"x".repeat(500)}`, { partition: 0 });
    }
    await producer.close();
    let log: string[] = [];
    for (let tries = 0; tries < 100 && log.length < 20_000; tries++) [log] = (await logs(port)) as [string[]];
    expect(log.every((text, i) => text.startsWith(`r${i} `))).toBe(true);
    expect(log).toHaveLength(20_000);
  });

  it.each(["forced", "written"] as const)(
    "a broker killed and started again under load: what was acknowledged as %s is there, everything else is reported",
    async (ack) => {
      const [requestsInFlight, batchRecords] = [4, 50];
      const { told, all } = await killedUnderLoad({ ack, requestsInFlight, batchRecords });
      const reported = agree(told, all);
      expect(reported).toBeGreaterThan(0);
      // Only what was on its way at a kill, on any machine; and behind the last one it goes on as before.
      expect(reported).toBeLessThanOrEqual(KILLS * PARTITIONS * requestsInFlight * batchRecords);
      expect(told.slice(-PARTITIONS).filter(({ outcome }) => typeof outcome === "string")).toEqual([]);
    },
    60_000,
  );

  it("P11 a broker killed and started again under load: the only writer gets everything there once, in order", async () => {
    const { told, all } = await killedUnderLoad({ exclusive: true });
    isComplete(told, all);
  }, 60_000);

  it("P06 a network that splits, delays and cuts: what was acknowledged is there, everything else is reported", async () => {
    const { told, all } = await badNetwork({});
    agree(told, all);
  }, 60_000);

  it("P11 a network that splits, delays and cuts: the only writer gets everything there once, in order", async () => {
    const { told, all } = await badNetwork({ exclusive: true });
    isComplete(told, all);
  }, 60_000);
});
