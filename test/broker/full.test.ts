// Bounds that produces run into: the disk's reserve and the memory for what waits.

import { describe, expect, it } from "vitest";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, runBroker, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { fetch, produce, readFetched, readProduced, readStored, type Wire } from "../support/wire.js";

const LOG_FULL = 7;
const OVERLOADED = 8;

describe("the disk below its reserve", () => {
  it("O06 produces get LOG_FULL, reads go on, and writes go on when there is room again", async () => {
    const settings = testSettings(tempDir("full"));
    const broker = await startBroker({ settings });
    const wire = await connectTo(broker);
    await wire.ask(produce([ascii("before")], { ack: 2 }));
    await broker.stop();

    const full = await startBroker({ settings: { ...settings, "disk.reserve.bytes": "1024TiB" } });
    const reader = await connectTo(full);
    for (const ack of [1, 2]) expect((await reader.ask(produce([ascii("x")], { ack }))).error).toBe(LOG_FULL);
    expect(readStored(readFetched(await reader.ask(fetch(0))).payload).payloads).toEqual([ascii("before")]);
    expect(full.statistics().errors.LOG_FULL).toBe(2);
    expect(await full.stop()).toBe(true);

    const again = await connectTo(await runBroker(settings));
    expect(readProduced(await again.ask(produce([ascii("after")])))).toEqual({ base: 1, end: 2 });
  });
});

describe("more than may wait in memory", () => {
  it("OVERLOADED: what does not fit is refused, and what was taken is there once and in order", async () => {
    const settings = {
      "segment.bytes": "256KiB",
      "max.frame.bytes": "64KiB",
      "connection.queued.bytes.max": "64KiB",
      "queued.bytes.max": "1MiB",
    };
    const broker = await runBroker(settings);
    const wires: Wire[] = [];
    for (let i = 0; i < 40; i++) wires.push(await connectTo(broker));
    // Each roll of a segment makes its writer wait, and what comes in meanwhile must be held.
    const each = 12;
    for (const [n, wire] of wires.entries()) {
      for (let i = 0; i < each; i++) wire.send(produce([ascii(`${n} ${i}`.padEnd(30_000))], { correlation: i }));
    }
    const accepted = new Map<number, string>();
    let overloaded = 0;
    for (const [n, wire] of wires.entries()) {
      for (const response of await wire.responses(each)) {
        if (response.error === OVERLOADED) overloaded++;
        else accepted.set(readProduced(response).base, `${n} ${response.correlation}`);
      }
    }
    expect(overloaded).toBe(broker.statistics().errors.OVERLOADED);
    expect(overloaded).toBeGreaterThan(0);
    const got: string[] = [];
    const reader = wires[0];
    while (got.length < accepted.size) {
      const { payload } = readFetched(await reader.ask(fetch(got.length)));
      expect(payload.length).toBeGreaterThan(0);
      for (const record of readStored(payload).payloads) got.push(Buffer.from(record).toString().trimEnd());
    }
    expect(got).toEqual(got.map((_, offset) => accepted.get(offset)));
    expect(new Set(got).size).toBe(got.length);
  });
});
