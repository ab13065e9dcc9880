// What clients can make a broker hold in memory: those that wait, those that go away, those that do not read. The broker is a
// process of its own, so that its memory can be read.

import { describe, expect, it } from "vitest";
import { native } from "../../src/native/binding.js";
import { type BrokerProcess, connectTo, spawnReady, testSettings } from "../support/broker.js";
import { withBystander } from "../support/bystander.js";
import { ascii, concat } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { sleep, until } from "../support/waiting.js";
import { fetch, hello, metadata, multiFetch, produce, readProduced, Wire, waitingFetch } from "../support/wire.js";

const MiB = 1024 * 1024;
/** As many as a broker is made for, or as this process may open. */
const CONNECTIONS = Math.min(10_000, native.openFilesLimit() - 500);
/** Socket, session and reply slot, the object in the purgatory, and the kernel's part that counts for the process. */
const WAITING_CONNECTION_BYTES = 4_000;
/** For the engine: collect often, so that what is measured is what is held. */
const LITTLE_GARBAGE = ["--max-semi-space-size=1", "--max-old-space-size=64"];
/** What the loop may do before it answers a bystander: a share of a turn for each of the others, who all have much to say. */
const WORK_MS = 400;

async function connectMany(broker: BrokerProcess, count: number): Promise<Wire[]> {
  const wires: Wire[] = [];
  while (wires.length < count) {
    const some = Math.min(100, count - wires.length);
    wires.push(...(await Promise.all(Array.from({ length: some }, () => Wire.connect(broker.port)))));
  }
  return wires;
}

describe.skipIf(process.platform !== "linux")(`${CONNECTIONS} connections, nine of ten waiting`, () => {
  it("take a bounded memory each, delay nobody, and give it and their places back when they vanish", async () => {
    const broker = await spawnReady(
      {
        ...testSettings(tempDir("many")),
        topics: "orders:1,quiet:2,bystander:1",
        "connections.max": CONNECTIONS + 2,
        "log.level": "warn",
      },
      { nodeFlags: LITTLE_GARBAGE },
    );
    const writer = await connectTo(broker);
    // Code that was never run takes its memory before anything is measured.
    const first = await connectMany(broker, 500);
    for (const wire of first) expect((await wire.ask(hello())).error).toBe(0);
    for (const wire of first) wire.destroy();
    await until("the first are gone", () => broker.sockets() < 10);
    await writer.ask(hello());
    // And the bystander.
    const socketsAfter = broker.sockets() + 1;

    await withBystander(
      broker,
      async () => {
        const before = broker.rss();
        const left: number[] = [];
        // Again and again: whoever vanished must not leave a place taken, for there are no others.
        for (const round of [1, 2, 3]) {
          const wires = await connectMany(broker, CONNECTIONS);
          const busy: Wire[] = [];
          for (const [n, wire] of wires.entries()) {
            if (n % 10 === 0) busy.push(wire);
            else if (n % 2 === 0) wire.send(waitingFetch(0, { topic: "quiet" }));
            else
              wire.send(
                multiFetch(
                  [0, 1].map((partition) => ({ topic: "quiet", partition, offset: 0 })),
                  { maxWaitMs: 60_000 },
                ),
              );
          }
          for (const wire of busy) expect((await wire.ask(produce([ascii("busy")]))).error).toBe(0);
          await sleep(500);
          expect((broker.rss() - before) / CONNECTIONS).toBeLessThan(WAITING_CONNECTION_BYTES);
          expect(wires.some(({ buffered, isClosed }) => buffered > 0 || isClosed)).toBe(false);
          // Some by a reset, most by an end that looks as if they went on reading.
          for (const [n, wire] of wires.entries()) {
            if (n % 3 === 0) wire.socket.resetAndDestroy();
            else wire.destroy();
          }
          await until(`those of round ${round} are noticed`, () => broker.sockets() <= socketsAfter, 20_000);
          left.push(broker.rss());
        }
        // What the first round took is there for the next ones; none takes more.
        expect(left[2] - left[1]).toBeLessThan(MiB * 8);
      },
      WORK_MS,
    );
    const end = readProduced(await writer.ask(produce([ascii("end")], { topic: "quiet" })));
    expect(end).toEqual({ base: 0, end: 1 });
  }, 120_000);
});

describe.skipIf(process.platform !== "linux")("readers that ask for much and take nothing", () => {
  // A hundred of them, each with as many requests open as it may have. The bound is small so that going beyond it shows.
  const READERS = 100;
  const BOUND = 24 * MiB;
  const settings = {
    "queued.bytes.max": BOUND,
    "connection.queued.bytes.max": 4 * MiB,
    "max.frame.bytes": "1MiB",
    "segment.bytes": "2MiB",
    "connection.write.stall.ms": "12s",
    "log.level": "warn",
  };
  /** Beside what the bound counts: code that was never run, the allocator's rounding. */
  const BESIDE = 32 * MiB;

  async function together(topics: string, asks: readonly Uint8Array[], fill: (wire: Wire) => Promise<void>) {
    const all = { ...testSettings(tempDir("greedy")), ...settings, topics };
    const broker = await spawnReady(all, { nodeFlags: LITTLE_GARBAGE });
    const writer = await connectTo(broker);
    await fill(writer);
    const readers = await Promise.all(Array.from({ length: READERS }, () => connectTo(broker)));
    const before = broker.rss();
    const bystander = await withBystander(
      broker,
      async () => {
        for (const { socket } of readers) socket.pause();
        for (const reader of readers) reader.send(concat(...asks));
        // One of a kind, so that every reader can be told from the others: what ends the waits that stand in front.
        await sleep(1_000);
        expect(readProduced(await writer.ask(produce([ascii("go")], { topic: "quiet" }))).base).toBe(0);
        await sleep(4_000);
      },
      WORK_MS,
    );
    return { broker, writer, readers, grown: broker.peakRss() - before, bystander };
  }

  const cases: readonly [string, string, readonly Uint8Array[], (wire: Wire) => Promise<void>][] = [
    [
      "fetches behind one that waits",
      "orders:1,quiet:1,bystander:1",
      [
        waitingFetch(0, { topic: "quiet", correlation: 0 }),
        ...Array.from({ length: 1023 }, (_, i) => fetch(0, { maxBytes: MiB, correlation: i + 1 })),
      ],
      async (wire) => {
        for (let i = 0; i < 4; i++) await wire.ask(produce([new Uint8Array(900_000)]));
      },
    ],
    [
      "fetches of many partitions",
      "orders:40,quiet:1,bystander:1",
      Array.from({ length: 12 }, (_, correlation) =>
        multiFetch(
          Array.from({ length: 40 }, (_, partition) => ({ partition, offset: 0 })),
          { maxBytes: 16 * MiB, correlation },
        ),
      ),
      async (wire) => {
        for (let i = 0; i < 40; i++) await wire.ask(produce([new Uint8Array(30_000)], { partition: i }));
      },
    ],
    [
      "descriptions of many partitions",
      "orders:1,many:300,quiet:1,bystander:1",
      [
        waitingFetch(0, { topic: "quiet", correlation: 0 }),
        ...Array.from({ length: 1000 }, (_, i) => metadata(["many"], 2, i + 1)),
      ],
      async () => undefined,
    ],
  ];

  it.each(cases)(
    "%s: are bounded together, keep nobody from being served, and are closed",
    async (_, topics, asks, fill) => {
      const { broker, readers, grown, bystander } = await together(topics, asks, fill);
      expect(grown).toBeLessThan(BOUND + BESIDE);
      // Far less than until they are closed.
      expect(bystander.slowestMs).toBeLessThan(6_000);
      // One that reads after all gets every answer in its order; the others are closed.
      const [late] = readers;
      late.socket.resume();
      for (const i of asks.keys()) {
        const { correlation, error } = await late.response();
        expect([correlation, error]).toEqual([i, 0]);
      }
      await until("the others are closed", () => broker.sockets() < 10, 30_000);
      expect((await late.ask(hello())).error).toBe(0);
    },
    90_000,
  );
});
