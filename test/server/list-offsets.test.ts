// LIST_OFFSETS over real sockets: where to start reading for a time.

import { describe, expect, it } from "vitest";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, runBroker, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { sleep } from "../support/waiting.js";
import { fetch, hello, listOffsets, produce, readFetched, readListed, type Wire } from "../support/wire.js";

const UNKNOWN_PARTITION = 1;
const CORRUPT = 5;
const EARLIEST = -2;
const LATEST = -1;

const record = (n: number, bytes = 92): Uint8Array => ascii(`${n}`.padEnd(bytes));

/** Writes records one by one, some milliseconds apart; resolves to when each was sent and when it was answered. */
async function writeSlowly(wire: Wire, count: number, bytes: number): Promise<{ sent: number; answered: number }[]> {
  const times: { sent: number; answered: number }[] = [];
  for (let n = 0; n < count; n++) {
    const sent = Date.now();
    await wire.ask(produce([record(n, bytes)]));
    times.push({ sent, answered: Date.now() });
    await sleep(4);
  }
  return times;
}

describe("LIST_OFFSETS", () => {
  it("says where the log begins and where its high watermark is", async () => {
    const wire = await connectTo(await runBroker());
    expect(readListed(await wire.ask(listOffsets(EARLIEST)))).toEqual({ offset: 0, timestampMs: -1 });
    expect(readListed(await wire.ask(listOffsets(LATEST)))).toEqual({ offset: 0, timestampMs: -1 });
    wire.send(produce([record(0), record(1)], { ack: 2 }), listOffsets(LATEST), listOffsets(EARLIEST));
    const [, latest, earliest] = await wire.responses(3);
    expect(readListed(latest).offset).toBe(2);
    expect(readListed(earliest).offset).toBe(0);
  });

  it("the start moves up with retention", async () => {
    const small = { "segment.bytes": "4KiB", "max.frame.bytes": "2KiB", "index.interval.bytes": 512 };
    const wire = await connectTo(await runBroker({ ...small, "retention.bytes": 1, "retention.check.ms": "10ms" }));
    for (let n = 0; n < 10; n++) await wire.ask(produce([record(n, 1300)]));
    await expect.poll(async () => readListed(await wire.ask(listOffsets(EARLIEST))).offset).toBe(9);
    expect(readListed(await wire.ask(listOffsets(0))).offset).toBe(9);
  });

  it.each([
    ["in the active segment", {}, 92],
    ["over several segments", { "segment.bytes": "4KiB", "max.frame.bytes": "2KiB" }, 1300],
  ])("is never too late for a time, and early by at most an index interval, %s", async (_, settings, bytes) => {
    const interval = 512;
    const all = { ...testSettings(tempDir("times")), ...settings, "index.interval.bytes": interval };
    const before = await startBroker({ settings: all });
    const writer = await connectTo(before);
    const times = await writeSlowly(writer, 40, bytes);
    const check = async (wire: Wire): Promise<void> => {
      for (const [n, { sent }] of times.entries()) {
        const { offset, timestampMs } = readListed(await wire.ask(listOffsets(sent)));
        // Whatever was sent at that time or later is at that offset or behind it.
        expect(offset).toBeLessThanOrEqual(n);
        expect(timestampMs).toBeGreaterThanOrEqual(0);
        // Nothing is passed over that is further away than one entry of the index.
        const records = Math.ceil(interval / (bytes + 8)) + 1;
        const oldest = times.findIndex(({ answered }) => answered >= sent);
        expect(offset).toBeGreaterThanOrEqual(oldest - records);
      }
      const late = times[39].answered + 1;
      expect(readListed(await wire.ask(listOffsets(late)))).toEqual({ offset: 40, timestampMs: -1 });
      expect(readListed(await wire.ask(listOffsets(2n ** 62n)))).toEqual({ offset: 40, timestampMs: -1 });
      expect(readListed(await wire.ask(listOffsets(0))).offset).toBe(0);
    };
    await check(writer);
    await before.stop();
    // Nothing is in memory now: the times are read from the disk.
    const wire = await connectTo(await runBroker(all));
    await check(wire);
  });

  it("is answered in its place among other requests", async () => {
    const settings = testSettings(tempDir("times"));
    const before = await startBroker({ settings });
    await (await connectTo(before)).ask(produce([record(0)]));
    await before.stop();
    const wire = await connectTo(await runBroker(settings));
    const time = 1_000;
    const requests = [listOffsets(time, "orders", 0, 0), hello(1), fetch(0, { correlation: 2 })];
    wire.send(...requests, listOffsets(time, "orders", 0, 3), listOffsets(LATEST, "orders", 0, 4));
    const responses = await wire.responses(5);
    expect(responses.map(({ correlation, error }) => [correlation, error])).toEqual([0, 1, 2, 3, 4].map((i) => [i, 0]));
    expect(readListed(responses[0]).offset).toBe(0);
    expect(readFetched(responses[2]).payload).toHaveLength(100);
  });

  it("with visibility durable names nothing that a consumer does not see", async () => {
    const wire = await connectTo(await runBroker({ visibility: "durable" }));
    const now = Date.now();
    wire.send(produce([record(0)]), listOffsets(LATEST));
    const [, latest] = await wire.responses(2);
    expect(readListed(latest)).toEqual({ offset: 0, timestampMs: -1 });
    const { offset, timestampMs } = readListed(await wire.ask(listOffsets(now)));
    expect(offset).toBe(0);
    if (timestampMs !== -1) expect(timestampMs).toBeGreaterThanOrEqual(now);
    await expect.poll(async () => readListed(await wire.ask(listOffsets(LATEST))).offset).toBe(1);
    expect(readListed(await wire.ask(listOffsets(now))).timestampMs).toBeGreaterThanOrEqual(now);
  });

  it("tells what is wrong, and the connection stays open", async () => {
    const broker = await runBroker();
    const wire = await connectTo(broker);
    expect((await wire.ask(listOffsets(0, "nowhere"))).error).toBe(UNKNOWN_PARTITION);
    expect((await wire.ask(listOffsets(0, "orders", 1))).error).toBe(UNKNOWN_PARTITION);
    expect((await wire.ask(listOffsets(0, "orders", -1))).error).toBe(CORRUPT);
    for (const time of [-3, -1000, -(2n ** 63n)]) expect((await wire.ask(listOffsets(time))).error).toBe(CORRUPT);
    expect((await wire.ask(hello())).error).toBe(0);
    expect(broker.statistics().listOffsetsRequests).toBe(6);
  });
});
