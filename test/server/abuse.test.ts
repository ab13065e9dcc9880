// Clients that behave badly. Each gets what the protocol says, the others notice nothing, and memory stays in its bounds. The
// broker is a process of its own here, so that its memory can be read.

import { describe, expect, it } from "vitest";
import { type BrokerProcess, connectTo, spawnReady, testSettings } from "../support/broker.js";
import { withBystander } from "../support/bystander.js";
import { ascii, concat, int32 } from "../support/bytes.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { fetch, hello, metadata, produce, readFetched, readProduced, readStored } from "../support/wire.js";

const MiB = 1024 * 1024;

const start = (settings: Record<string, unknown> = {}): Promise<BrokerProcess> =>
  spawnReady({ ...testSettings(tempDir("abuse")), ...settings });

describe("a client that", () => {
  it("sends one byte at a time gets the answers of one that does not", async () => {
    const broker = await start({ topics: "orders:1,bystander:1" });
    await withBystander(broker, async () => {
      const wire = await connectTo(broker);
      const requests = [
        produce([ascii("slow")], { correlation: 1 }),
        fetch(0, { correlation: 2 }),
        metadata([], 1, 3),
        hello(4),
      ];
      for (const byte of concat(...requests)) {
        wire.send(Uint8Array.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      const responses = await wire.responses(4);
      expect(responses.map(({ correlation, error }) => [correlation, error])).toEqual([
        [1, 0],
        [2, 0],
        [3, 0],
        [4, 0],
      ]);
      expect(readStored(readFetched(responses[1]).payload).payloads).toEqual([ascii("slow")]);
    });
  });

  it("sends 10 000 requests in one go gets 10 000 answers in their order", async () => {
    const broker = await start({ topics: "orders:1,bystander:1" });
    await withBystander(broker, async () => {
      const wire = await connectTo(broker);
      const all = Array.from({ length: 10_000 }, (_, i) =>
        produce([ascii(`record ${i}`)], { correlation: i, ack: 1 + (i % 2) }),
      );
      wire.send(...all);
      const responses = await wire.responses(all.length);
      responses.forEach((response, i) => {
        expect(response.correlation).toBe(i);
        expect(readProduced(response).base).toBe(i);
      });
    });
  });

  it("announces 2 GiB is closed at once, and costs no memory", async () => {
    const broker = await start({ topics: "orders:1,bystander:1" });
    await withBystander(broker, async () => {
      const before = broker.peakRss();
      for (let i = 0; i < 200; i++) {
        const wire = await connectTo(broker);
        wire.send(int32(0x7fff_ffff), new Uint8Array(64));
        await wire.closed;
      }
      expect(broker.peakRss() - before).toBeLessThan(32 * MiB);
    });
  });

  it("announces the largest frame and sends little of it costs what it sent, and is closed after frame.timeout.ms", async () => {
    const broker = await start({ topics: "orders:1,bystander:1", "frame.timeout.ms": "1500ms" });
    await withBystander(broker, async () => {
      const before = broker.peakRss();
      const wires = await Promise.all(Array.from({ length: 300 }, () => connectTo(broker)));
      for (const wire of wires) wire.send(int32(8 * MiB), new Uint8Array(1000));
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(wires.some(({ isClosed }) => isClosed)).toBe(false);
      expect(broker.peakRss() - before).toBeLessThan(64 * MiB);
      await Promise.all(wires.map(({ closed }) => closed));
    });
  });

  it("stops reading is bounded, whatever it goes on to ask for, and closed after connection.write.stall.ms", async () => {
    const broker = await start({
      topics: "orders:1,bystander:1,many:100",
      "segment.bytes": "1MiB",
      "max.frame.bytes": "512KiB",
      "connection.queued.bytes.max": "2MiB",
      "queued.bytes.max": "32MiB",
      "connection.write.stall.ms": "1s",
    });
    const filler = await connectTo(broker);
    for (let i = 0; i < 8; i++) await filler.ask(produce([new Uint8Array(100_000)]));
    await withBystander(broker, async () => {
      const before = broker.rss();
      const sockets = broker.sockets();
      const asks = [
        () => fetch(0, { maxBytes: MiB }),
        () => metadata(["many"], 2),
        () => hello(),
        () => fetch(1_000_000),
        () => fetch(8),
      ];
      for (const ask of asks) {
        const wire = await connectTo(broker);
        wire.socket.pause();
        const thousand = concat(...Array.from({ length: 1000 }, ask));
        for (let i = 0; i < 200; i++) wire.send(thousand);
      }
      // One that is paused does not see its end, so the broker's side is looked at. Errors and empty answers are so short that
      // the sockets may take all of them, and then nothing waits.
      await expect.poll(() => broker.sockets(), { timeout: 20_000, interval: 50 }).toBeLessThanOrEqual(sockets + 2);
      expect(broker.peakRss() - before).toBeLessThan(128 * MiB);
    });
    expect((await filler.ask(hello())).error).toBe(0);
  }, 60_000);

  it("sends noise is answered or closed, and the broker goes on", async () => {
    const random = randomFrom(printedSeed("noise"));
    const broker = await start({ topics: "orders:1,bystander:1" });
    await withBystander(broker, async () => {
      for (let round = 0; round < 200; round++) {
        const wire = await connectTo(broker);
        const noise = Uint8Array.from({ length: 1 + Math.floor(random() * 3000) }, () => Math.floor(random() * 256));
        // Half of them look like a frame for a while.
        if (round % 2 === 0) noise.set(int32(Math.floor(random() * 2000) + 1).subarray(0, noise.length), 0);
        wire.send(noise);
        wire.socket.end();
        await wire.closed;
      }
    });
    const wire = await connectTo(broker);
    expect(readFetched(await wire.ask(fetch(0))).highWatermark).toBe(0);
  });

  it("changes good frames by single bits is told what is wrong or is right, and the log holds only what was sent", async () => {
    const random = randomFrom(printedSeed("flipped bits"));
    const broker = await start({ topics: "orders:1,bystander:1" });
    await withBystander(broker, async () => {
      const good = [produce([ascii("aaaa"), ascii("bb")]), fetch(0), metadata(["orders"]), hello()];
      for (let round = 0; round < 300; round++) {
        const wire = await connectTo(broker);
        const bytes = concat(...good.slice(round % 4), ...good);
        bytes[Math.floor(random() * bytes.length)] ^= 1 << Math.floor(random() * 8);
        wire.send(bytes);
        wire.socket.end();
        await wire.closed;
      }
    });
    const wire = await connectTo(broker);
    const { payload } = readFetched(await wire.ask(fetch(0)));
    for (const record of readStored(payload).payloads) expect([1, 2, 3, 4, 5, 6]).toContain(record.length);
  });
});
