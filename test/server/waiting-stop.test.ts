// A broker that stops, and a partition that fails, while fetches wait.

import { describe, expect, it } from "vitest";
import { startBroker } from "../../src/ops/start-broker.js";
import { SmallDisk, whyNot } from "../log/support/small-disk.js";
import { connectTo, runBroker, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { LONG_MS, SOON_MS, sleep, timed, until } from "../support/waiting.js";
import {
  hello,
  multiFetch,
  produce,
  type Response,
  readFetched,
  readMultiFetched,
  readProduced,
  readStored,
  waitingFetch,
} from "../support/wire.js";

const STORAGE_FAILURE = 6;
const SHUTTING_DOWN = 9;

const record = (n: number): Uint8Array => ascii(`${n}`.padEnd(92));

describe("F16 a broker that stops while fetches wait", () => {
  it("F16 O04 each gets an answer before its socket closes, also those that stand behind", async () => {
    const settings = { ...testSettings(tempDir("stop")), topics: "orders:2" };
    const broker = await startBroker({ settings });
    const writer = await connectTo(broker);
    await writer.ask(produce([record(0), record(1)]));
    const wires = await Promise.all(Array.from({ length: 20 }, () => connectTo(broker)));
    for (const [i, wire] of wires.entries()) {
      wire.send(
        waitingFetch(2, { maxWaitMs: LONG_MS, correlation: 1 }),
        waitingFetch(1, { maxWaitMs: LONG_MS, minBytes: 1000, correlation: 2 }),
        multiFetch([{ offset: 2 }, { partition: 1, offset: 0 }], { maxWaitMs: LONG_MS, correlation: 3 }),
        produce([record(i)], { partition: 1, ack: 2, correlation: 4 }),
      );
    }
    await until("all wait", () => broker.statistics().fetchesWaiting === 20);
    await until("all is written", () => broker.statistics().produceRequests === 21);
    const { value: clean, ms } = await timed(broker.stop());
    expect(clean).toBe(true);
    expect(ms).toBeLessThan(SOON_MS);
    for (const wire of wires) {
      const [empty, short, several, produced] = await wire.responses(4);
      expect([empty, short, several, produced].map(({ correlation, error }) => [correlation, error])).toEqual([
        [1, 0],
        [2, 0],
        [3, 0],
        [4, 0],
      ]);
      expect(readFetched(empty)).toEqual({ highWatermark: 2, payload: new Uint8Array(0) });
      // What there is, though it is less than was asked for.
      expect(readStored(readFetched(short).payload).payloads).toEqual([record(1)]);
      const [first, second] = readMultiFetched(several);
      expect([first.error, first.payload.length, second.error]).toEqual([0, 0, 0]);
      expect(readProduced(produced).end).toBeGreaterThan(0);
      await wire.closed;
    }
  });

  it("F16 more of them than one flush plans", async () => {
    const broker = await startBroker({ settings: { ...testSettings(tempDir("stop")), "stop.timeout.ms": "20s" } });
    const wires = await Promise.all(Array.from({ length: 20 }, () => connectTo(broker)));
    const each = 500;
    for (const wire of wires) {
      wire.send(
        ...Array.from({ length: each }, (_, correlation) => waitingFetch(0, { maxWaitMs: LONG_MS, correlation })),
      );
    }
    await until("all have arrived", () => broker.statistics().fetchRequests === 20 * each);
    expect(await broker.stop()).toBe(true);
    for (const wire of wires) {
      const responses = await wire.responses(each);
      expect(responses.map(({ correlation, error }) => [correlation, error])).toEqual(responses.map((_, i) => [i, 0]));
      await wire.closed;
    }
  });

  it("F16 in a process that gets SIGTERM; what comes later is told SHUTTING_DOWN and does not wait", async () => {
    const dir = tempDir("stop");
    const broker = await spawnReady({ ...testSettings(dir), "log.level": "warn" });
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    for (let i = 0; i < 10; i++) await writer.ask(produce([record(i)]));
    reader.send(waitingFetch(10, { maxWaitMs: LONG_MS }));
    await sleep(100);
    const late: Response[] = [];
    const before = performance.now();
    broker.kill("SIGTERM");
    const exited = broker.exited;
    const asking = (async () => {
      try {
        for (;;) {
          const response = await writer.ask(waitingFetch(10, { maxWaitMs: LONG_MS }));
          late.push(response);
          if (response.error !== 0) break;
        }
      } catch {
        // the end of the connection
      }
    })();
    expect(readFetched(await reader.response())).toEqual({ highWatermark: 10, payload: new Uint8Array(0) });
    await reader.closed;
    await asking;
    expect((await exited).code).toBe(0);
    expect(performance.now() - before).toBeLessThan(10_000);
    for (const { error } of late) expect([0, SHUTTING_DOWN]).toContain(error);
  });
});

describe.skipIf(whyNot() !== undefined)("a partition whose barrier fails", () => {
  it("O07 tells those who wait above what is durable, and lets those wait who have everything", async () => {
    const disk = new SmallDisk({ megabytes: 64, backedBy: 24 });
    const broker = await startBroker({
      settings: {
        ...testSettings(`${disk.dir}/data`),
        topics: "orders:2",
        "segment.bytes": "2MiB",
        "max.frame.bytes": "1MiB",
      },
    });
    const [writer, above, atEnd] = [await connectTo(broker), await connectTo(broker), await connectTo(broker)];
    await writer.ask(produce([record(0)], { ack: 2 }));
    // Not durable: its reader waits for more of it.
    await writer.ask(produce([record(1)], { ack: 1 }));
    const waits = above.ask(waitingFetch(1, { maxWaitMs: LONG_MS, minBytes: 1 << 19 }));
    const several = atEnd.ask(
      multiFetch([{ partition: 1, offset: 0 }, { offset: 1 }], { maxWaitMs: LONG_MS, minBytes: 1 << 19 }),
    );
    await until("both wait", () => broker.statistics().fetchesWaiting === 2);
    disk.failWrites();
    for (let n = 0, error = 0; error === 0 && n < 1000; n++) {
      error = (await writer.ask(produce([record(2)], { ack: 2 }))).error;
    }
    const { value, ms } = await timed(Promise.all([waits, several]));
    expect(ms).toBeLessThan(SOON_MS);
    expect([0, STORAGE_FAILURE]).toContain(value[0].error);
    const parts = readMultiFetched(value[1]);
    expect(parts[0].error).toBe(0);
    expect([0, STORAGE_FAILURE]).toContain(parts[1].error);
    await broker.stop();
  });
});

describe("a partition that refused to open", () => {
  it("O08 is an error of its own in a fetch of several, which does not wait", async () => {
    const dir = tempDir("refused");
    const settings = { ...testSettings(dir), topics: "orders:2" };
    const before = await startBroker({ settings });
    await (await connectTo(before)).ask(produce([record(0)], { ack: 2 }));
    await before.stop();
    const { rmSync } = await import("node:fs");
    rmSync(`${dir}/orders-0/partition.json`);
    const broker = await runBroker(settings);
    const wire = await connectTo(broker);
    const { value, ms } = await timed(
      wire.ask(multiFetch([{ partition: 1, offset: 0 }, { offset: 0 }], { maxWaitMs: LONG_MS, minBytes: 1 })),
    );
    expect(ms).toBeLessThan(SOON_MS);
    const parts = readMultiFetched(value);
    expect(parts[0]).toMatchObject({ error: 0, highWatermark: 0 });
    expect(parts[1]).toMatchObject({ error: STORAGE_FAILURE, epoch: -1, logStart: -1, highWatermark: -1, logEnd: -1 });
    expect((await wire.ask(waitingFetch(0, { maxWaitMs: LONG_MS }))).error).toBe(STORAGE_FAILURE);
    expect((await wire.ask(hello())).error).toBe(0);
  });
});
