// FETCH v3 over real sockets: several partitions in one request, what each gets, and what ends a wait of all of them.

import { describe, expect, it } from "vitest";
import type { RunningBroker } from "../../src/ops/start-broker.js";
import { startBroker } from "../../src/ops/start-broker.js";
import { connectTo, runBroker, testSettings } from "../support/broker.js";
import { ascii, hex } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { LONG_MS, SOON_MS, timed, until } from "../support/waiting.js";
import {
  type FetchedPart,
  hello,
  multiFetch,
  produce,
  type Response,
  readMultiFetched,
  readStored,
  type Wire,
} from "../support/wire.js";

const UNKNOWN_PARTITION = 1;
const OUT_OF_RANGE = 2;
const CORRUPT = 5;
const OVERLOADED = 8;

/** 100 bytes as stored. */
const record = (name: string, bytes = 92): Uint8Array => ascii(name.padEnd(bytes));
const names = ({ payload }: FetchedPart): string[] =>
  readStored(payload).payloads.map((stored) => Buffer.from(stored).toString().trimEnd());
const parts = async (response: Promise<Response>): Promise<FetchedPart[]> => {
  const answer = await response;
  expect(answer.error).toBe(0);
  return readMultiFetched(answer);
};
const waiting = (broker: RunningBroker, count: number): Promise<void> =>
  until(`${count} fetches wait`, () => broker.statistics().fetchesWaiting === count);

async function fill(wire: Wire, partition: number, count: number, bytes?: number): Promise<void> {
  const records = Array.from({ length: count }, (_, i) => record(`p${partition}r${i}`, bytes));
  await wire.ask(produce(records, { partition }));
}

describe("FETCH v3", () => {
  it("the bytes of a response are exactly those of the protocol", async () => {
    const wire = await connectTo(await runBroker({ topics: "a:2", "record.format": "plain" }));
    await wire.ask(produce([ascii("xyz")], { topic: "a", partition: 1 }));
    const positions = [0, 1].map((partition) => ({ topic: "a", partition, offset: 0 }));
    wire.send(multiFetch([...positions, { topic: "b", partition: 7, offset: 0 }], { correlation: 9 }));
    const { body, correlation } = await wire.response();
    expect(correlation).toBe(9);
    const none = "ffffffffffffffff";
    expect(body).toEqual(
      hex(`00000003
        0001 61 00000000 0000 00000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 00000000
        0001 61 00000001 0000 00000000 0000000000000000 0000000000000000 0000000000000001 0000000000000001 00000007
          00000003 78797a
        0001 62 00000007 0001 ffffffff ${none} ${none} ${none} ${none} 00000000`),
    );
  });

  it.each(["ZERO_COPY", "HEAP"] as const)(
    "brings the records of all its partitions in the order of the request, %s",
    async (mode) => {
      const broker = await runBroker({ topics: "orders:3,clicks:2", "fetch.mode": mode });
      const wire = await connectTo(broker);
      for (let partition = 0; partition < 3; partition++) await fill(wire, partition, partition + 2);
      await wire.ask(produce([record("click")], { topic: "clicks", partition: 1 }));
      const got = await parts(
        wire.ask(
          multiFetch([
            { partition: 2, offset: 1 },
            { topic: "clicks", partition: 1, offset: 0 },
            { topic: "clicks", partition: 0, offset: 0 },
            { partition: 0, offset: 0 },
            { partition: 1, offset: 3 },
          ]),
        ),
      );
      expect(got.map(({ topic, partition }) => `${topic}-${partition}`)).toEqual([
        "orders-2",
        "clicks-1",
        "clicks-0",
        "orders-0",
        "orders-1",
      ]);
      expect(got.map(names)).toEqual([["p2r1", "p2r2", "p2r3"], ["click"], [], ["p0r0", "p0r1"], []]);
      expect(got[0]).toMatchObject({ error: 0, epoch: 0, epochStart: 0, logStart: 0, highWatermark: 4, logEnd: 4 });
    },
  );

  it("has an error for each partition that fails, and records for the others", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:2" }));
    await fill(wire, 1, 2);
    const got = await parts(
      wire.ask(
        multiFetch(
          [
            { topic: "nowhere", offset: 0 },
            { partition: 2, offset: 0 },
            { partition: 1, offset: 0 },
            { partition: 0, offset: 1 },
            { topic: "nowhere", partition: 1, offset: 0 },
          ],
          { maxWaitMs: LONG_MS, minBytes: 10_000 },
        ),
      ),
    );
    expect(got.map(({ error }) => error)).toEqual([
      UNKNOWN_PARTITION,
      UNKNOWN_PARTITION,
      0,
      OUT_OF_RANGE,
      UNKNOWN_PARTITION,
    ]);
    expect(got.map(names)).toEqual([[], [], ["p1r0", "p1r1"], [], []]);
    expect(got[0]).toMatchObject({
      topic: "nowhere",
      partition: 0,
      epoch: -1,
      logStart: -1,
      highWatermark: -1,
      logEnd: -1,
    });
    expect(got[3]).toMatchObject({ epoch: 0, logStart: 0, highWatermark: 0, logEnd: 0 });
  });

  it("does not parse with a partition named twice, and the connection stays open", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:2" }));
    const twice = [{ offset: 0 }, { partition: 1, offset: 0 }, { offset: 5 }];
    expect(await wire.ask(multiFetch(twice, { correlation: 4 }))).toMatchObject({ correlation: 4, error: CORRUPT });
    expect((await wire.ask(multiFetch([]))).error).toBe(CORRUPT);
    expect((await wire.ask(hello())).error).toBe(0);
  });

  it("takes a thousand partitions, each once", async () => {
    const broker = await runBroker({ topics: "orders:1000", "segment.bytes": "64KiB", "max.frame.bytes": "60000" });
    const wire = await connectTo(broker);
    for (const partition of [0, 500, 999]) await fill(wire, partition, 1);
    const positions = Array.from({ length: 1000 }, (_, partition) => ({ partition, offset: 0 }));
    const got = await parts(wire.ask(multiFetch(positions)));
    expect(got).toHaveLength(1000);
    expect(got.flatMap(names)).toEqual(["p0r0", "p500r0", "p999r0"]);
    const answer = wire.ask(
      multiFetch(
        positions.map((position) => ({ ...position, offset: position.partition % 500 === 0 ? 1 : 0 })).slice(0, 999),
        { maxWaitMs: LONG_MS },
      ),
    );
    await waiting(broker, 1);
    const other = await connectTo(broker);
    await other.ask(produce([record("new")], { partition: 777 }));
    const woken = await parts(answer);
    expect(woken.flatMap(names)).toEqual(["new"]);
    expect(names(woken[777])).toEqual(["new"]);
  }, 60_000);
});

describe("how much FETCH v3 brings", () => {
  it("a payload is cut only by its partitionMaxBytes", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:2" }));
    for (const partition of [0, 1]) await fill(wire, partition, 10);
    const got = await parts(
      wire.ask(
        multiFetch([
          { partition: 0, offset: 0, maxBytes: 250 },
          { partition: 1, offset: 9, maxBytes: 1 },
        ]),
      ),
    );
    expect(got.map(({ payload }) => payload.length)).toEqual([250, 1]);
    expect(names(got[0])).toEqual(["p0r0", "p0r1"]);
  });

  it("one that does not fit the rest of maxBytes comes back empty, and a later one that fits does not", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:4" }));
    await fill(wire, 0, 4);
    await fill(wire, 1, 7);
    await fill(wire, 2, 5);
    await fill(wire, 3, 1);
    const positions = [0, 1, 2, 3].map((partition) => ({ partition, offset: 0 }));
    const got = await parts(wire.ask(multiFetch(positions, { maxBytes: 1000 })));
    expect(got.map(({ payload }) => payload.length)).toEqual([400, 0, 500, 100]);
    // An empty one says by its high watermark that there is more.
    expect(got[1]).toMatchObject({ error: 0, highWatermark: 7 });
    const rotated = await parts(wire.ask(multiFetch([...positions.slice(1), positions[0]], { maxBytes: 1000 })));
    expect(rotated.map(({ payload }) => payload.length)).toEqual([700, 0, 100, 0]);
  });

  it("the first that has any may be larger than maxBytes: a record that never fits shows only at its own bound", async () => {
    const wire = await connectTo(await runBroker({ topics: "orders:3" }));
    await fill(wire, 1, 1, 5000);
    await fill(wire, 2, 1);
    const positions = [0, 1, 2].map((partition) => ({ partition, offset: 0 }));
    const got = await parts(wire.ask(multiFetch(positions, { maxBytes: 1000 })));
    expect(got.map(({ payload }) => payload.length)).toEqual([0, 5008, 0]);
    expect(names(got[1])).toEqual(["p1r0"]);
  });

  it("the broker's fetch.max.bytes bounds both", async () => {
    const broker = await runBroker({ topics: "orders:2", "fetch.max.bytes": "8MiB" });
    const wire = await connectTo(broker);
    for (const partition of [0, 1]) {
      for (let i = 0; i < 9; i++) await wire.ask(produce([new Uint8Array(1024 * 1024)], { partition }));
    }
    const positions = [0, 1].map((partition) => ({ partition, offset: 0, maxBytes: 1 << 30 }));
    const got = await parts(wire.ask(multiFetch(positions, { maxBytes: 1 << 30 })));
    expect(got.map(({ payload }) => payload.length)).toEqual([8 << 20, 0]);
  }, 30_000);
});

describe("how long FETCH v3 waits", () => {
  it("F10 minBytes counts bytes summed over the partitions", async () => {
    const broker = await runBroker({ topics: "orders:3" });
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    await fill(writer, 0, 3);
    // Partition 0 has 200 bytes behind offset 1.
    const positions = [{ offset: 1 }, { partition: 1, offset: 0 }, { partition: 2, offset: 0 }];
    const answer = reader.ask(multiFetch(positions, { maxWaitMs: LONG_MS, minBytes: 501 }));
    await waiting(broker, 1);
    await fill(writer, 1, 2);
    await fill(writer, 2, 1);
    expect(broker.statistics()).toMatchObject({ fetchesWaiting: 1, fetchesWoken: 0 });
    await writer.ask(produce([new Uint8Array(1)], { partition: 2 }));
    const got = await parts(answer);
    expect(got.map(({ payload }) => payload.length)).toEqual([200, 200, 109]);
    expect(broker.statistics()).toMatchObject({ fetchesWaiting: 0, fetchesWoken: 1, fetchesExpired: 0 });
  });

  it("F10 minRecords counts records summed over the partitions, whatever their sizes", async () => {
    const broker = await runBroker({ topics: "orders:2" });
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    const positions = [{ offset: 0 }, { partition: 1, offset: 0 }];
    const answer = reader.ask(multiFetch(positions, { maxWaitMs: LONG_MS, minBytes: 1, minRecords: 5 }));
    await waiting(broker, 1);
    await fill(writer, 0, 2, 10_000);
    await fill(writer, 1, 2, 1);
    expect(broker.statistics()).toMatchObject({ fetchesWaiting: 1, fetchesWoken: 0 });
    await fill(writer, 1, 1, 1);
    expect((await parts(answer)).map(({ highWatermark }) => highWatermark)).toEqual([2, 3]);
  });

  it("waits until both hold", async () => {
    const broker = await runBroker();
    const [reader, writer] = [await connectTo(broker), await connectTo(broker)];
    const answer = reader.ask(multiFetch([{ offset: 0 }], { maxWaitMs: LONG_MS, minBytes: 1000, minRecords: 2 }));
    await waiting(broker, 1);
    await fill(writer, 0, 1, 2000);
    expect(broker.statistics().fetchesWaiting).toBe(1);
    await fill(writer, 0, 1, 1);
    expect((await parts(answer))[0].payload).toHaveLength(2008 + 12);
  });

  it("ends when a partition reaches its own bound, or all together reach maxBytes", async () => {
    const broker = await runBroker({ topics: "orders:2" });
    const [one, two, writer] = [await connectTo(broker), await connectTo(broker), await connectTo(broker)];
    const wanted = { maxWaitMs: LONG_MS, minRecords: 1000 };
    const own = one.ask(
      multiFetch(
        [
          { offset: 0, maxBytes: 300 },
          { partition: 1, offset: 0 },
        ],
        wanted,
      ),
    );
    const sum = two.ask(multiFetch([{ offset: 0 }, { partition: 1, offset: 0 }], { ...wanted, maxBytes: 500 }));
    await waiting(broker, 2);
    await fill(writer, 0, 2);
    expect(broker.statistics().fetchesWaiting).toBe(2);
    await fill(writer, 0, 1);
    expect((await parts(own)).map(({ payload }) => payload.length)).toEqual([300, 0]);
    expect(broker.statistics().fetchesWaiting).toBe(1);
    await fill(writer, 1, 2);
    expect((await parts(sum)).map(({ payload }) => payload.length)).toEqual([300, 200]);
  });

  it("does not begin when one partition has an error or lies in an older segment", async () => {
    const small = { "segment.bytes": "4KiB", "max.frame.bytes": "2KiB", "index.interval.bytes": 512 };
    const broker = await runBroker({ topics: "orders:2", ...small });
    const wire = await connectTo(broker);
    for (let i = 0; i < 5; i++) await fill(wire, 0, 1, 1300);
    const wanted = { maxWaitMs: LONG_MS, minRecords: 1000 };
    const before = performance.now();
    const older = await parts(wire.ask(multiFetch([{ partition: 1, offset: 0 }, { offset: 0 }], wanted)));
    expect(older.map((part) => names(part).length)).toEqual([0, 3]);
    const wrong = await parts(wire.ask(multiFetch([{ offset: 4 }, { partition: 1, offset: 1 }], wanted)));
    expect(wrong.map(({ error }) => error)).toEqual([0, OUT_OF_RANGE]);
    expect(performance.now() - before).toBeLessThan(SOON_MS);
    expect(broker.statistics().fetchesParked).toBe(0);
  });

  it("answers at its deadline with what there is", async () => {
    const broker = await runBroker({ topics: "orders:2" });
    const wire = await connectTo(broker);
    await fill(wire, 1, 1);
    const wanted = { maxWaitMs: 250, minRecords: 10 };
    const { value, ms } = await timed(
      parts(wire.ask(multiFetch([{ offset: 0 }, { partition: 1, offset: 0 }], wanted))),
    );
    expect(value.map(names)).toEqual([[], ["p1r0"]]);
    expect(ms).toBeGreaterThanOrEqual(250);
    expect(broker.statistics()).toMatchObject({ fetchesParked: 1, fetchesExpired: 1 });
  });
});

describe("what FETCH v3 keeps", () => {
  it("reads what is not in memory first, also for more partitions than files may be open", async () => {
    const settings = {
      ...testSettings(tempDir("cold")),
      topics: "orders:200",
      "segment.bytes": "20KiB",
      "max.frame.bytes": "16KiB",
      "index.interval.bytes": 64,
      "index.cache.bytes": "64KiB",
    };
    const before = await startBroker({ settings });
    const writer = await connectTo(before);
    for (let partition = 0; partition < 200; partition++) {
      for (let i = 0; i < 5; i++) await fill(writer, partition, 1, 6000);
    }
    await before.stop();
    const broker = await runBroker(settings);
    const wire = await connectTo(broker);
    const left = new Map(Array.from({ length: 200 }, (_, partition) => [partition, 0]));
    let rounds = 0;
    while (left.size > 0) {
      const positions = [...left].map(([partition, offset]) => ({ partition, offset }));
      const got = await parts(wire.ask(multiFetch(positions, { maxWaitMs: LONG_MS, minBytes: 1 })));
      // Whatever else, each answer brings somebody on.
      expect(got.some(({ payload }) => payload.length > 0)).toBe(true);
      for (const part of got) {
        expect(part.error).toBe(0);
        const from = left.get(part.partition) as number;
        const records = names(part);
        expect(records).toEqual(records.map(() => `p${part.partition}r0`));
        if (from + records.length === 5) left.delete(part.partition);
        else left.set(part.partition, from + records.length);
      }
      rounds++;
    }
    expect(rounds).toBeLessThan(200);
    expect(broker.statistics().fetchLoads).toBeGreaterThan(0);
  }, 60_000);

  it("refuses with OVERLOADED what a connection would keep beyond its bound, and nobody else is refused", async () => {
    const broker = await runBroker({
      topics: "orders:100",
      "segment.bytes": "128KiB",
      "connection.queued.bytes.max": "64KiB",
      "max.frame.bytes": "64KiB",
    });
    const [greedy, modest, writer] = [await connectTo(broker), await connectTo(broker), await connectTo(broker)];
    const positions = Array.from({ length: 100 }, (_, partition) => ({ partition, offset: 0 }));
    const count = 20;
    for (let i = 0; i < count; i++) greedy.send(multiFetch(positions, { maxWaitMs: LONG_MS, correlation: i }));
    await waiting(broker, 1);
    const answer = modest.ask(multiFetch(positions, { maxWaitMs: LONG_MS }));
    await waiting(broker, 2);
    await until("all have arrived", () => broker.statistics().fetchRequests === count + 1);
    await fill(writer, 50, 1);
    expect((await parts(answer)).flatMap(names)).toEqual(["p50r0"]);
    const responses = await greedy.responses(count);
    expect(responses.map(({ correlation }) => correlation)).toEqual(responses.map((_, i) => i));
    const errors = responses.map(({ error }) => error);
    const kept = errors.filter((error) => error === 0).length;
    expect(kept).toBeGreaterThan(1);
    expect(kept).toBeLessThan(10);
    expect(errors).toEqual([...Array(kept).fill(0), ...Array(count - kept).fill(OVERLOADED)]);
    // What was answered is kept no longer.
    expect((await greedy.ask(multiFetch(positions))).error).toBe(0);
  });
});
