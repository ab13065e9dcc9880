// Readers of old segments whose indexes do not fit in memory together: each load pushes out what another one has just
// brought in.

import { describe, expect, it } from "vitest";
import { FETCH_LOADS_MAX } from "../../src/model/limits.js";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { fetch, produce, readFetched, readStored, type Wire, waitingFetch } from "../support/wire.js";

const SEGMENTS = 48;
const RECORDS = 10_000;

describe("fetches that push each other out of the caches", () => {
  it("read the disk a bounded number of times each, and all of them come to their records", async () => {
    const settings = {
      ...testSettings(tempDir("cold")),
      "segment.bytes": "1MiB",
      "max.frame.bytes": "1000KiB",
      "index.interval.bytes": 64,
      "index.cache.bytes": "64KiB",
    };
    const broker = await startBroker({ settings });
    const writer = await connectTo(broker);
    const batch = Array.from({ length: 1_000 }, (_, i) => ascii(`${i}`.padEnd(88)));
    for (let i = 0; i < (SEGMENTS * RECORDS) / 1_000; i++) await writer.ask(produce(batch, { ack: 2 }));
    await broker.stop();
    const cold = await startBroker({ settings });
    const wires: Wire[] = [];
    for (let i = 0; i < SEGMENTS; i++) wires.push(await connectTo(cold));
    let requests = 0;
    const before = cold.statistics().fetchLoads;
    await Promise.all(
      wires.map(async (wire, segment) => {
        for (let read = 0; read < 20; ) {
          const offset = segment * RECORDS + read * 397 + 1;
          requests++;
          const request = segment % 2 === 0 ? fetch : waitingFetch;
          const { payload, highWatermark } = readFetched(await wire.ask(request(offset, { maxBytes: 96 })));
          expect(highWatermark).toBe(SEGMENTS * RECORDS);
          // Nothing is no end: the high watermark says so.
          if (payload.length === 0) continue;
          expect(readStored(payload).payloads).toEqual([batch[offset % 1_000]]);
          read++;
        }
      }),
    );
    const loads = cold.statistics().fetchLoads - before;
    expect(loads).toBeLessThanOrEqual(requests * FETCH_LOADS_MAX);
    await cold.stop();
  }, 60_000);
});
