// A broker that is stopped cleanly and started again, as in every deployment, under producers that repeat nothing whose outcome is
// not known: no outcome may be unknown. And how long a stop takes, by what is connected.

import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import { Consumer } from "../../src/client/consumer.js";
import { Producer } from "../../src/client/producer/producer.js";
import { recordRegion } from "../../src/client/record-region.js";
import { STOP_GRACE_MS, STOP_GRACE_MS_MAX } from "../../src/model/limits.js";
import { startBroker } from "../../src/ops/start-broker.js";
import { backendOf } from "../client/producer/backends.js";
import { type BrokerProcess, connectTo, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { sleep, timed, until } from "../support/waiting.js";
import { hello, metadata, produce, waitingFetch } from "../support/wire.js";

const STOPS = 6;
const SHUTTING_DOWN = 9;

interface Told {
  readonly text: string;
  readonly outcome: number | string;
}

const tell = (producer: Producer, text: string): Promise<Told> =>
  producer.send("orders", text, { partition: 0 }).then(
    ({ offset }) => ({ text, outcome: offset }),
    (error: { code: string }) => ({ text, outcome: error.code }),
  );

/** A caller that awaits each record; a producer, and so a connection, of its own. */
async function inTurn(port: number, name: string, isOver: () => boolean): Promise<Told[]> {
  const producer = new Producer(backendOf({ address: `127.0.0.1:${port}` }));
  const told: Told[] = [];
  for (let i = 0; !isOver(); i++) told.push(await tell(producer, `${name} ${i}`));
  await producer.close();
  return told;
}

/** One that awaits nothing but room. */
async function unawaited(port: number, isOver: () => boolean): Promise<Told[]> {
  const producer = new Producer(backendOf({ address: `127.0.0.1:${port}` }));
  const told: Promise<Told>[] = [];
  for (let i = 0; !isOver(); i++) {
    await producer.room();
    told.push(tell(producer, `unawaited ${i}`));
    if (i % 50 === 0) await sleep(1);
  }
  await producer.close();
  return Promise.all(told);
}

async function stored(port: number): Promise<string[]> {
  const connection = await Connection.connect({ broker: `127.0.0.1:${port}` });
  const consumer = await Consumer.open(connection, { topic: "orders", partition: 0 });
  const log: string[] = [];
  for (let batch = await consumer.poll(); batch.length > 0; batch = await consumer.poll()) {
    for (const record of batch) log.push(Buffer.from(record).toString());
  }
  connection.destroy();
  return log;
}

/** Stops and starts it under what `load` sends; resolves when it was seen that every caller was told what is there. */
async function stopsUnder(load: (port: number, isOver: () => boolean) => Promise<readonly Told[]>): Promise<void> {
  const settings = testSettings(tempDir("clean"));
  let broker: BrokerProcess = await spawnReady(settings);
  const { port } = broker;
  let over = false;
  const loading = load(port, () => over);
  for (let stop = 0; stop < STOPS; stop++) {
    // Not always at the same place of the load's rhythm.
    await sleep(200 + 17 * stop);
    expect(await broker.stop()).toBe(0);
    broker = await spawnReady({ ...settings, port });
  }
  await sleep(200);
  over = true;
  const told = await loading;
  expect(told.filter(({ outcome }) => typeof outcome !== "number")).toEqual([]);
  const log = await stored(port);
  expect(log).toHaveLength(told.length);
  for (const { text, outcome } of told) expect(log[Number(outcome)]).toBe(text);
}

describe("P06 a broker stopped and started again leaves no outcome unknown, loses nothing and writes nothing twice", () => {
  it("P06 under a caller that awaits each record", async () => {
    await stopsUnder((port, isOver) => inTurn(port, "one", isOver));
  });

  it("P06 under eight of them", async () => {
    await stopsUnder(async (port, isOver) => {
      const callers = Array.from({ length: 8 }, (_, caller) => inTurn(port, `caller ${caller}`, isOver));
      return (await Promise.all(callers)).flat();
    });
  });

  it("P06 under one that awaits nothing", async () => {
    await stopsUnder(unawaited);
  });
});

describe("O04 how long a stop takes", () => {
  /** The shortest of five, or the first that is short: others have the machine, too. */
  async function stopMs(connect: (port: number, fetchesWait: (count: number) => Promise<void>) => Promise<unknown>) {
    const times: number[] = [];
    for (let i = 0; i < 5 && !times.some((ms) => ms < STOP_GRACE_MS); i++) {
      const broker = await startBroker({ settings: testSettings(tempDir("stop")) });
      onTestFinished(async () => void (await broker.stop()));
      await connect(broker.port, (count) => until("all wait", () => broker.statistics().fetchesWaiting === count));
      const { value, ms } = await timed(broker.stop());
      expect(value).toBe(true);
      times.push(ms);
    }
    if (process.env.MILLRACE_FIGURES !== undefined)
      process.stderr.write(`stops: ${times.map((ms) => ms.toFixed(1))}\n`);
    return Math.min(...times);
  }

  it("O04 with nobody, or those who were idle for a while: the grace is not for them", async () => {
    expect(await stopMs(() => Promise.resolve())).toBeLessThan(STOP_GRACE_MS);
    const idle = await stopMs(async (port) => {
      const wires = await Promise.all(Array.from({ length: 10 }, () => connectTo({ port })));
      for (const wire of wires) await wire.ask(produce([ascii("x")]));
      await sleep(STOP_GRACE_MS * 1.2);
    });
    expect(idle).toBeLessThan(STOP_GRACE_MS);
  });

  it("O04 with a thousand fetches that wait", async () => {
    const ms = await stopMs(async (port, fetchesWait) => {
      const wires = await Promise.all(Array.from({ length: 1000 }, () => connectTo({ port })));
      for (const wire of wires) {
        await wire.ask(hello());
        await wire.ask(metadata());
        wire.send(waitingFetch(0, { maxWaitMs: 60_000 }));
      }
      await fetchesWait(1000);
    });
    expect(ms).toBeLessThan(STOP_GRACE_MS);
  });

  it("O04 with ten that send all the time: they leave when they are refused", async () => {
    const ms = await stopMs(async (port) => {
      for (let i = 0; i < 10; i++) {
        const connection = await Connection.connect({ broker: `127.0.0.1:${port}` });
        void (async () => {
          for (;;) await connection.produce("orders", 0, recordRegion(["x"]));
        })().catch(() => undefined);
      }
      await sleep(50);
    });
    expect(ms).toBeLessThan(STOP_GRACE_MS);
  });

  it("O04 with one that goes on although it is refused: each is answered, and no longer than the grace of all", async () => {
    const broker = await startBroker({ settings: testSettings(tempDir("stop")) });
    const wire = await connectTo(broker);
    await wire.ask(produce([ascii("x")]));
    let refused = 0;
    const going = (async () => {
      for (;;) {
        if ((await wire.ask(produce([ascii("x")]))).error === SHUTTING_DOWN) refused++;
        await sleep(10);
      }
    })();
    going.catch(() => undefined);
    const { ms } = await timed(broker.stop());
    await expect(going).rejects.toThrow();
    expect(refused).toBeGreaterThan(3);
    expect(ms).toBeLessThan(STOP_GRACE_MS_MAX + 2_000);
  });
});
