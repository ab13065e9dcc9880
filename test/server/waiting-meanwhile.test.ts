// What happens while fetches wait, over real sockets and with real time: rolls, retention, clients that leave or send nothing
// more, and what stands behind them.

import { describe, expect, it } from "vitest";
import { connectTo, runBroker } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { LONG_MS, SOON_MS, timed, until } from "../support/waiting.js";
import {
  fetch,
  hello,
  multiFetch,
  produce,
  readFetched,
  readMultiFetched,
  readProduced,
  waitingFetch,
} from "../support/wire.js";
import { fetched, parked, record, SMALL_SEGMENTS, text, third } from "./waiters.js";

const OUT_OF_RANGE = 2;

describe("what else may happen while a fetch waits", () => {
  it("F15 a roll by time answers a fetch whose offset lies in an older segment then", async () => {
    const broker = await runBroker({ "segment.roll.ms": "400ms" });
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    await writer.ask(produce([record("a"), record("b")]));
    const several = await connectTo(broker);
    const answers = [
      reader.ask(waitingFetch(1, { maxWaitMs: LONG_MS, minBytes: 10_000 })),
      several.ask(multiFetch([{ offset: 0 }], { maxWaitMs: LONG_MS, minRecords: 3 })),
    ];
    const atEnd = await connectTo(broker);
    const waits = atEnd.ask(waitingFetch(2, { maxWaitMs: LONG_MS }));
    await parked(broker, 3);
    const { value, ms } = await timed(Promise.all(answers));
    expect(text(readFetched(value[0]).payload)).toEqual(["b"]);
    expect(text(readMultiFetched(value[1])[0].payload)).toEqual(["a", "b"]);
    expect(ms).toBeLessThan(SOON_MS);
    // At the end nothing has become older: it waits on, for what comes into the new segment.
    expect(broker.statistics().fetchesWaiting).toBe(1);
    await writer.ask(produce([record("c")]));
    expect(await fetched(waits)).toEqual(["c"]);
  });

  it("F15 a roll by a producer does so, too", async () => {
    const broker = await runBroker(SMALL_SEGMENTS);
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    await writer.ask(produce([third("a")]));
    const answer = reader.ask(waitingFetch(0, { maxWaitMs: LONG_MS, minBytes: 10_000, maxBytes: 20_000 }));
    await parked(broker, 1);
    for (const name of ["b", "c", "d"]) await writer.ask(produce([third(name)]));
    expect(await fetched(answer)).toEqual(["a", "b", "c"]);
  });

  it("F15 waiting holds no segment: retention takes what a fetch waits behind, and the fetch is told or has its records", async () => {
    const settings = { ...SMALL_SEGMENTS, "retention.bytes": 1, "retention.check.ms": "10ms" };
    const broker = await runBroker(settings);
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    let end = 0;
    const seen = { data: 0, gone: 0 };
    for (let round = 0; round < 20; round++) {
      const answer = reader.ask(waitingFetch(end, { maxWaitMs: LONG_MS, minBytes: 100_000 }));
      await parked(broker, 1);
      const names = Array.from({ length: 7 }, (_, i) => `${end + i}`);
      for (const name of names) await writer.ask(produce([third(name)]));
      const { value, ms } = await timed(answer);
      expect(ms).toBeLessThan(SOON_MS);
      if (value.error === OUT_OF_RANGE) seen.gone++;
      else {
        const got = text(readFetched(value).payload);
        expect(got.length).toBeGreaterThan(0);
        expect(got).toEqual(names.slice(0, got.length));
        seen.data++;
      }
      end += 7;
    }
    expect(seen.data + seen.gone).toBe(20);
    const start = async (): Promise<number> =>
      readMultiFetched(await reader.ask(multiFetch([{ offset: end }])))[0].logStart;
    await expect.poll(start, { timeout: SOON_MS }).toBeGreaterThanOrEqual(end - 3);
    expect(readMultiFetched(await reader.ask(multiFetch([{ offset: 0 }])))[0].error).toBe(OUT_OF_RANGE);
  });

  it("a client that goes away while its fetches wait leaves nothing behind", async () => {
    const broker = await runBroker({ topics: "orders:3" });
    const writer = await connectTo(broker);
    for (let round = 0; round < 3; round++) {
      const wires = await Promise.all(Array.from({ length: 20 }, () => connectTo(broker)));
      for (const [i, wire] of wires.entries()) {
        const partition = i % 3;
        wire.send(waitingFetch(round, { partition }), waitingFetch(round, { partition }), multiFetch([{ offset: 0 }]));
      }
      await parked(broker, 20);
      for (const wire of wires) wire.destroy();
      await parked(broker, 0);
      for (let partition = 0; partition < 3; partition++) await writer.ask(produce([record("x")], { partition }));
    }
    expect(broker.statistics()).toMatchObject({ fetchesParked: 60, fetchesExpired: 0 });
    await until("its connections are freed", () => broker.statistics().connections === 1);
    expect(await fetched(writer.ask(waitingFetch(0)))).toEqual(["x", "x", "x"]);
  });
});

describe("a client that sends nothing more", () => {
  it("has its answers, and no fetch waits for it: it may be gone", async () => {
    const broker = await runBroker();
    const wire = await connectTo(broker);
    wire.send(produce([record("a")]), waitingFetch(1, { maxWaitMs: LONG_MS }), waitingFetch(1, { maxWaitMs: LONG_MS }));
    await parked(broker, 1);
    const before = performance.now();
    wire.socket.end(multiFetch([{ offset: 1 }], { maxWaitMs: LONG_MS }));
    const [produced, ...empty] = await wire.responses(4);
    expect(readProduced(produced)).toEqual({ base: 0, end: 1 });
    for (const response of empty.slice(0, 2)) expect(readFetched(response)).toMatchObject({ highWatermark: 1 });
    expect(readMultiFetched(empty[2])[0]).toMatchObject({ error: 0, highWatermark: 1 });
    await wire.closed;
    expect(performance.now() - before).toBeLessThan(SOON_MS);
  });

  it("as one whose frames make no sense any more", async () => {
    const broker = await runBroker();
    const wire = await connectTo(broker);
    wire.send(waitingFetch(0, { maxWaitMs: LONG_MS }));
    await parked(broker, 1);
    wire.send(ascii("\xff\xff\xff\xff"));
    expect((await wire.response()).error).toBe(0);
    await wire.closed;
  });
});

describe("fetches and what stands behind them", () => {
  it("F18 a fetch that waits on one connection delays no request on another", async () => {
    const broker = await runBroker();
    const [reader, other] = [await connectTo(broker), await connectTo(broker)];
    const answer = reader.ask(waitingFetch(0, { maxWaitMs: LONG_MS, minBytes: 100_000 }));
    await parked(broker, 1);
    const before = performance.now();
    for (let i = 0; i < 100; i++) {
      other.send(produce([record(`${i}`)]), fetch(i), hello(), waitingFetch(i, { minBytes: 1 }));
      const [produced, first, , second] = await other.responses(4);
      expect(readProduced(produced).base).toBe(i);
      for (const response of [first, second]) expect(text(readFetched(response).payload)).toEqual([`${i}`]);
    }
    expect(performance.now() - before).toBeLessThan(SOON_MS);
    expect(broker.statistics().fetchesWaiting).toBe(1);
    reader.destroy();
    await expect(answer).rejects.toThrow("the connection ended");
  });

  it("a PRODUCE behind a fetch that waits is carried out at once, and answered after it", async () => {
    const broker = await runBroker();
    const wire = await connectTo(broker);
    wire.send(waitingFetch(0, { maxWaitMs: LONG_MS, correlation: 1 }), produce([record("a")], { correlation: 2 }));
    const [first, second] = await wire.responses(2);
    expect([first.correlation, second.correlation]).toEqual([1, 2]);
    expect(text(readFetched(first).payload)).toEqual(["a"]);
  });

  it("a fetch behind another counts its wait from when it came", async () => {
    const broker = await runBroker();
    const wire = await connectTo(broker);
    const waits = [300, 100, 0, 1500].map((maxWaitMs, i) => waitingFetch(0, { maxWaitMs, correlation: i }));
    const before = performance.now();
    wire.send(...waits);
    const at: number[] = [];
    for (let i = 0; i < 4; i++) {
      expect(await wire.response()).toMatchObject({ correlation: i, error: 0 });
      at.push(performance.now() - before);
    }
    // The second and third are over when the first is; none of them waits after it.
    expect(at[0]).toBeGreaterThanOrEqual(300);
    expect(at[3]).toBeGreaterThanOrEqual(1500);
    expect(at[3]).toBeLessThan(1500 + SOON_MS);
    expect(broker.statistics().fetchesParked).toBe(2);
  });

  it("one publish answers all fetches of a connection that it concerns, in order", async () => {
    const broker = await runBroker();
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    const count = 1000;
    reader.send(...Array.from({ length: count }, (_, i) => waitingFetch(0, { maxWaitMs: LONG_MS, correlation: i })));
    await parked(broker, 1);
    await writer.ask(produce([record("a")]));
    const responses = await reader.responses(count);
    expect(responses.map(({ correlation }) => correlation)).toEqual(responses.map((_, i) => i));
    for (const response of responses) expect(text(readFetched(response).payload)).toEqual(["a"]);
  });
});
