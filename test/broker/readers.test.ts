// C7: the broker keeps no state about readers.

import { describe, expect, it } from "vitest";
import { connectTo, spawnReady, testSettings } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { fetch, produce, readFetched, readStored } from "../support/wire.js";

const RECORDS = 20_000;

describe("C7 readers", () => {
  it("C7 cost nothing that lasts: not by their number, not by where they read, not by reading again", async () => {
    const broker = await spawnReady(testSettings(tempDir("c7")));
    const writer = await connectTo(broker);
    for (let i = 0; i < RECORDS; i += 500) {
      await writer.ask(produce(Array.from({ length: 500 }, (_, n) => ascii(`${i + n}`.padEnd(64)))));
    }
    // Every connection reads at positions of its own, then leaves. What the broker knew of them must leave, too.
    const readers = async (count: number, each: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        const wire = await connectTo(broker);
        const offsets = Array.from({ length: each }, (_, n) => (i * 7919 + n * 104_729) % RECORDS);
        wire.send(...offsets.map((offset) => fetch(offset, { maxBytes: 72 })));
        for (const offset of offsets) {
          const { payloads } = readStored(readFetched(await wire.response()).payload);
          // Sixty thousand times, which is much for `expect`.
          if (payloads.length !== 1 || Buffer.compare(payloads[0], ascii(`${offset}`.padEnd(64))) !== 0)
            throw new Error(`offset ${offset} brought something else`);
        }
        wire.destroy();
        await wire.closed;
      }
    };
    const sockets = broker.sockets();
    await readers(20, 500);
    const before = broker.rss();
    await readers(100, 500);
    await expect.poll(() => broker.sockets()).toBeLessThanOrEqual(sockets);
    expect(broker.rss() - before).toBeLessThan(24 * 1024 * 1024);
  }, 180_000);

  it("C7 an old record comes back the same, however often it is read and whatever was read before", async () => {
    const broker = await spawnReady(testSettings(tempDir("c7")));
    const wire = await connectTo(broker);
    await wire.ask(produce([ascii("first"), ascii("second")]));
    const first = await wire.ask(fetch(0));
    for (let i = 0; i < 50; i++) {
      await wire.ask(fetch(i % 3));
      expect(await wire.ask(fetch(0))).toEqual(first);
    }
    // Another connection, and another broker process, know as much of a position as this one: nothing.
    expect(await (await connectTo(broker)).ask(fetch(0))).toEqual(first);
  });
});
