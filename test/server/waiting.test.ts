// How far a reader may read, and how a fetch at the end of the log waits, over real sockets and with real time.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connectTo, runBroker } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";
import { LONG_MS, SOON_MS, sleep, timed } from "../support/waiting.js";
import {
  fetch,
  hello,
  multiFetch,
  produce,
  readFetched,
  readMultiFetched,
  readProduced,
  type Wire,
  waitingFetch,
} from "../support/wire.js";
import { fetched, parked, record, SMALL_SEGMENTS, text, third } from "./waiters.js";

const CORRUPT = 5;

const segmentsOf = (dataDir: string): number[] =>
  readdirSync(join(dataDir, "orders-0"))
    .filter((name) => name.endsWith(".log"))
    .map((name) => Number.parseInt(name, 10))
    .sort((a, b) => a - b);

async function sevenRecords(wire: Wire): Promise<void> {
  for (let i = 0; i < 7; i++) await wire.ask(produce([third(`r${i}`)]));
}

describe("how far a reader may read", () => {
  it("F01 a record that is written and not forced is seen by a follower and not by a consumer", async () => {
    const wire = await connectTo(await runBroker({ visibility: "durable" }));
    // All in one turn of the broker, in which no barrier can end.
    wire.send(
      produce([record("a")]),
      multiFetch([{ offset: 0 }]),
      multiFetch([{ offset: 0 }], { replica: 7 }),
      multiFetch([{ offset: 0 }], { replica: 0 }),
      fetch(0),
      waitingFetch(0),
    );
    const [produced, consumer, follower, other, v1, v2] = await wire.responses(6);
    expect(readProduced(produced)).toEqual({ base: 0, end: 1 });
    const [seen] = readMultiFetched(consumer);
    expect(seen).toMatchObject({ error: 0, highWatermark: 0, logEnd: 1 });
    expect(seen.payload).toHaveLength(0);
    for (const response of [follower, other]) expect(text(readMultiFetched(response)[0].payload)).toEqual(["a"]);
    expect(readFetched(v1)).toEqual({ highWatermark: 0, payload: new Uint8Array(0) });
    // It waited, and the barrier that the publish asked for made the record visible.
    expect(readFetched(v2).highWatermark).toBe(1);
    expect(text(readFetched(v2).payload)).toEqual(["a"]);
  });

  it("F02 one partition's answer comes from one segment", async () => {
    const dir = tempDir("segments");
    const wire = await connectTo(await runBroker({ "data.dir": dir, ...SMALL_SEGMENTS }));
    await sevenRecords(wire);
    expect(segmentsOf(dir).slice(0, 3)).toEqual([0, 3, 6]);
    expect(await fetched(wire.ask(waitingFetch(0)))).toEqual(["r0", "r1", "r2"]);
    const [part] = readMultiFetched(await wire.ask(multiFetch([{ offset: 1 }])));
    expect(text(part.payload)).toEqual(["r1", "r2"]);
    expect(part).toMatchObject({ error: 0, logStart: 0, highWatermark: 7, logEnd: 7 });
  });

  it("F03 a fetch from an older segment never waits, whatever it asks for", async () => {
    const dir = tempDir("segments");
    const broker = await runBroker({ "data.dir": dir, ...SMALL_SEGMENTS });
    const wire = await connectTo(broker);
    await sevenRecords(wire);
    expect(segmentsOf(dir).length).toBeGreaterThanOrEqual(3);
    const before = performance.now();
    expect(await fetched(wire.ask(waitingFetch(5, { maxWaitMs: LONG_MS, minBytes: 1 << 20 })))).toEqual(["r5"]);
    const response = await wire.ask(multiFetch([{ offset: 0 }], { minRecords: 99, maxWaitMs: LONG_MS }));
    expect(text(readMultiFetched(response)[0].payload)).toEqual(["r0", "r1", "r2"]);
    expect(performance.now() - before).toBeLessThan(SOON_MS);
    expect(broker.statistics().fetchesParked).toBe(0);
  });
});

describe("a fetch at the end of the log", () => {
  it("F04 waits, its deadline passes, and the answer is empty and no error: parked and timed out", async () => {
    const broker = await runBroker();
    const wire = await connectTo(broker);
    await wire.ask(produce([record("a")]));
    const { value, ms } = await timed(wire.ask(waitingFetch(1, { maxWaitMs: 300, correlation: 9 })));
    expect(value).toMatchObject({ error: 0, correlation: 9 });
    expect(readFetched(value)).toEqual({ highWatermark: 1, payload: new Uint8Array(0) });
    expect(ms).toBeGreaterThanOrEqual(300);
    expect(broker.statistics()).toMatchObject({
      fetchesParked: 1,
      fetchesExpired: 1,
      fetchesWoken: 0,
      fetchesWaiting: 0,
    });
  });

  it("F05 does not wait when the producer came first", async () => {
    const broker = await runBroker();
    const wire = await connectTo(broker);
    await wire.ask(produce([record("a")]));
    expect(await fetched(wire.ask(waitingFetch(0, { maxWaitMs: LONG_MS })))).toEqual(["a"]);
    const response = await wire.ask(multiFetch([{ offset: 0 }], { maxWaitMs: LONG_MS, minRecords: 1 }));
    expect(text(readMultiFetched(response)[0].payload)).toEqual(["a"]);
    expect(broker.statistics()).toMatchObject({ fetchesParked: 0, fetchesExpired: 0, fetchesWoken: 0 });
  });

  it("F06 is answered at once with what a producer brings during the wait", async () => {
    const broker = await runBroker();
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    for (const [n, name] of ["a", "b"].entries()) {
      const answer = timed(reader.ask(waitingFetch(n, { maxWaitMs: LONG_MS })));
      await parked(broker, 1);
      await writer.ask(produce([record(name)]));
      const { value, ms } = await answer;
      expect(text(readFetched(value).payload)).toEqual([name]);
      expect(ms).toBeLessThan(SOON_MS);
    }
    expect(broker.statistics()).toMatchObject({
      fetchesParked: 2,
      fetchesExpired: 0,
      fetchesWoken: 2,
      fetchesWaiting: 0,
    });
  });

  it("F07 has a deadline that wake-ups which bring too little do not move", async () => {
    const broker = await runBroker();
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    let stop = false;
    const producing = (async () => {
      while (!stop) {
        await writer.ask(produce([record("x")]));
        await sleep(10);
      }
    })();
    const { value, ms } = await timed(reader.ask(waitingFetch(0, { maxWaitMs: 400, minBytes: 1 << 20 })));
    stop = true;
    await producing;
    expect(value.error).toBe(0);
    const { payload, highWatermark } = readFetched(value);
    // Whatever had come by then, and all of it.
    expect(payload.length).toBe(highWatermark * 100);
    expect(payload.length).toBeGreaterThan(0);
    expect(ms).toBeGreaterThanOrEqual(400);
    expect(ms).toBeLessThan(400 + SOON_MS);
    expect(broker.statistics()).toMatchObject({ fetchesParked: 1, fetchesExpired: 1, fetchesWoken: 0 });
  });

  it("F08 every one whose condition holds is woken by a publish, wherever it waits, and nobody else", async () => {
    const broker = await runBroker();
    const writer = await connectTo(broker);
    for (let i = 0; i < 10; i++) await writer.ask(produce([record(`r${i}`)]));
    // From offset o to the new end there are 11 - o records: enough for the even ones, one byte too few for the odd ones.
    const readers = await Promise.all(Array.from({ length: 11 }, () => connectTo(broker)));
    const answers = readers.map((reader, o) =>
      reader.ask(waitingFetch(o, { maxWaitMs: LONG_MS, minBytes: (11 - o) * 100 + (o % 2) })),
    );
    await parked(broker, 11);
    await writer.ask(produce([record("new")]));
    for (let o = 0; o <= 10; o += 2) expect((await fetched(answers[o])).length).toBe(11 - o);
    expect(broker.statistics()).toMatchObject({ fetchesWaiting: 5, fetchesWoken: 6 });
    await writer.ask(produce([record("newer")]));
    for (let o = 1; o <= 9; o += 2) expect((await fetched(answers[o])).length).toBe(12 - o);
    expect(broker.statistics()).toMatchObject({ fetchesWaiting: 0, fetchesWoken: 11, fetchesExpired: 0 });
  });

  it("F12 misses no record that comes between the look and the wait", async () => {
    const broker = await runBroker();
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    for (let i = 0; i < 500; i++) {
      const order = i % 3;
      if (order === 0) reader.send(waitingFetch(i, { maxWaitMs: LONG_MS }));
      writer.send(produce([record(`${i}`)], { ack: 1 + (i % 2) }));
      if (order === 1) reader.send(waitingFetch(i, { maxWaitMs: LONG_MS }));
      if (order === 2) {
        await new Promise((resolve) => setImmediate(resolve));
        reader.send(waitingFetch(i, { maxWaitMs: LONG_MS }));
      }
      const { value, ms } = await timed(reader.response());
      expect(text(readFetched(value).payload)).toEqual([`${i}`]);
      expect(ms).toBeLessThan(SOON_MS);
      await writer.response();
    }
  });

  it("F13 gets the current high watermark when its wait expires, and the connection stays open", async () => {
    const broker = await runBroker();
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    await writer.ask(produce([record("a"), record("b")]));
    const answer = reader.ask(waitingFetch(2, { maxWaitMs: 500, minBytes: 10_000 }));
    await parked(broker, 1);
    await writer.ask(produce([record("c")]));
    const { highWatermark, payload } = readFetched(await answer);
    expect(highWatermark).toBe(3);
    expect(text(payload)).toEqual(["c"]);
    expect((await reader.ask(hello())).error).toBe(0);
    expect(await fetched(reader.ask(waitingFetch(0)))).toEqual(["a", "b", "c"]);
  });

  it("F14 minBytes above maxBytes is CORRUPT_REQUEST, and the connection stays open", async () => {
    const wire = await connectTo(await runBroker());
    const wrong = { minBytes: 2048, maxBytes: 1024, maxWaitMs: LONG_MS, correlation: 3 };
    for (const request of [waitingFetch(0, wrong), multiFetch([{ offset: 0 }], wrong)]) {
      expect(await wire.ask(request)).toEqual({ correlation: 3, error: CORRUPT, body: new Uint8Array(0) });
    }
    expect((await wire.ask(hello())).error).toBe(0);
  });

  it("F19 has its wait cut to the broker's limit, which HELLO tells, and is not refused", async () => {
    const broker = await runBroker({ "fetch.max.wait.ms": "200ms" });
    const wire = await connectTo(broker);
    for (const maxWaitMs of [201, 60_001, 0x7fff_ffff]) {
      for (const request of [waitingFetch(0, { maxWaitMs }), multiFetch([{ offset: 0 }], { maxWaitMs })]) {
        const { value, ms } = await timed(wire.ask(request));
        expect(value.error).toBe(0);
        expect(ms).toBeGreaterThanOrEqual(200);
        expect(ms).toBeLessThan(200 + SOON_MS);
      }
    }
    const { body } = await wire.ask(hello());
    expect(Buffer.from(body).readInt32BE(2 + "millrace".length + 2 + broker.version.length + 4)).toBe(200);
  });

  it("answers with all that maxBytes may bring although minBytes, cut to the broker's bound, asks for more", async () => {
    const broker = await runBroker({ "fetch.max.bytes": "8MiB" });
    const wire = await connectTo(broker);
    for (let i = 0; i < 9; i++) await wire.ask(produce([new Uint8Array(1024 * 1024)]));
    const ask = waitingFetch(0, { maxWaitMs: LONG_MS, minBytes: 9_000_000, maxBytes: 64 << 20 });
    const { value, ms } = await timed(wire.ask(ask));
    expect(readFetched(value).payload).toHaveLength(8 << 20);
    expect(ms).toBeLessThan(SOON_MS);
  });
});
