// A follower on a broker that the test plays: what it asks for, in which order, and how it goes on after a cut.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { Backoff } from "../../src/client/backoff.js";
import { Connection } from "../../src/client/connection.js";
import { CorruptRecordError, LogTruncatedError } from "../../src/client/errors.js";
import { Follower, type FollowerOptions } from "../../src/client/follower.js";
import type { ReadBounds } from "../../src/client/read-bounds.js";
import { ReadPosition } from "../../src/client/read-position.js";
import type { RecordBatch } from "../../src/client/record-batch.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { offset } from "../../src/model/ids.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { ascii } from "../support/bytes.js";
import { errorAnswer, FakeBroker, type FakeOptions } from "../support/fake-broker.js";
import { storedRecords } from "../support/stored-records.js";

const code = (expected: string) => expect.objectContaining({ code: expected });
const UP_TO_V2 = [1, 2, 3, 4].map((apiKey) => ({ apiKey, minVersion: 1, maxVersion: apiKey % 2 === 0 ? 2 : 1 }));

interface Told extends FollowerOptions {
  readonly bounds?: ReadBounds;
  readonly from?: number;
}

/** A follower of all partitions of `orders`, from the start. */
async function following(fake: FakeOptions = {}, told: Partial<Told> = {}) {
  const broker = await FakeBroker.start(fake);
  const { bounds = {}, from = 0, ...options } = told;
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const connect = () => Connection.connect({ broker: broker.address });
  const asking = await connect();
  const [topic] = await asking.metadata(["orders"]);
  await asking.close();
  const positions = (topic?.partitions ?? []).map(
    (metadata) => new ReadPosition("orders", "crc32c", metadata, offset(from), metadata.epoch, bounds),
  );
  broker.requests.length = 0;
  broker.connections = 0;
  const follower = new Follower({ connect, positions, signal: stop.signal, ...options });
  return { broker, stop, follower, positions, batches: follower[Symbol.asyncIterator]() };
}

async function next(batches: AsyncGenerator<readonly RecordBatch[], void>): Promise<readonly RecordBatch[]> {
  const { value } = await batches.next();
  if (value === undefined) throw new Error("the following has ended");
  return value;
}

const textsOf = (batches: readonly RecordBatch[]) =>
  batches.flatMap((batch) => [...batch].map((record) => `${batch.partition} ${Buffer.from(record)}`));

/** So many fetches come, and no more of them. */
async function settled(broker: FakeBroker, fetches: number): Promise<void> {
  await expect.poll(() => broker.fetches.length).toBeGreaterThanOrEqual(fetches);
  await sleep(50);
  expect(broker.fetches).toHaveLength(fetches);
}

function fill(broker: FakeBroker, partition: number, count: number, bytes = 10): void {
  const log = broker.log("orders", partition);
  for (let i = 0; i < count; i++) log.push(ascii(`${log.length}`.padEnd(bytes, ".")));
}

describe("a follower", () => {
  it("reads all partitions by one request, and waits at their ends by one", async () => {
    const { broker, batches } = await following({ topics: { orders: 3 } });
    fill(broker, 0, 2, 1);
    fill(broker, 2, 1, 1);
    expect(textsOf(await next(batches))).toEqual(["0 0", "0 1", "2 0"]);
    const waiting = next(batches);
    await settled(broker, 2);
    broker.log("orders", 1).push(ascii("late"));
    expect(textsOf(await waiting)).toEqual(["1 late"]);
    expect(broker.fetches[1]?.maxWaitMs).toBe(20_000);
    expect(broker.fetches[1]?.parts.map(({ offset: from }) => from).sort()).toEqual([0, 1, 2]);
    expect(broker.connections).toBe(1);
  });

  it("asks again when a wait has brought nothing", async () => {
    const { broker, batches } = await following({}, { maxWaitMs: 20 });
    const waiting = next(batches);
    await expect.poll(() => broker.fetches.length).toBeGreaterThan(2);
    fill(broker, 0, 1);
    expect((await waiting)[0]?.length).toBe(1);
  });

  it("has one answer on its way while one is handled, and not more", async () => {
    const { broker, batches } = await following({}, { bounds: { maxBytes: 100 }, maxBytes: 100 });
    fill(broker, 0, 1000);
    await next(batches);
    await settled(broker, 2);
    await next(batches);
    await settled(broker, 3);
  });

  it("lets every partition come first in its turn, so that none starves behind full ones", async () => {
    const { broker, batches } = await following(
      { topics: { orders: 5 } },
      { bounds: { maxBytes: 400 }, maxBytes: 1000 },
    );
    for (let partition = 0; partition < 5; partition++) fill(broker, partition, 200, 92);
    const read = [0, 0, 0, 0, 0];
    for (let round = 0; round < 50; round++) {
      for (const { partition, length } of await next(batches)) read[partition] = (read[partition] ?? 0) + length;
    }
    // Two of five fit an answer, four records of each.
    expect(Math.max(...read) - Math.min(...read)).toBeLessThanOrEqual(8);
    expect(read.reduce((sum, count) => sum + count)).toBe(50 * 8);
  });

  it("reads a record that is larger than what it asks for, if it may, beside others", async () => {
    const bounds = { maxBytes: 64, maxBytesLimit: 5000 };
    const { broker, batches } = await following({ topics: { orders: 3 } }, { bounds, maxBytes: 64 });
    fill(broker, 0, 3);
    broker.log("orders", 1).push(new Uint8Array(3000).fill(0x61));
    fill(broker, 1, 3);
    fill(broker, 2, 3);
    const read: string[] = [];
    while (read.length < 10) read.push(...textsOf(await next(batches)));
    expect(read.filter((text) => text.startsWith("1 ")).map((text) => text.length)).toEqual([3002, 12, 12, 12]);
    expect(new Set(read).size).toBe(10);
  });

  it("gives what came beside an error, and then the error", async () => {
    const { broker, batches } = await following({ topics: { orders: 3 } }, { from: 2 });
    fill(broker, 0, 3, 1);
    fill(broker, 1, 1, 1);
    fill(broker, 2, 4, 1);
    expect(textsOf(await next(batches))).toEqual(["0 2", "2 2", "2 3"]);
    await expect(next(batches)).rejects.toThrow(code("OFFSET_OUT_OF_RANGE"));
    await expect(next(batches)).rejects.toThrow("has ended");
    await expect.poll(() => broker.sockets.size).toBe(0);
  });

  it("gives what came beside a refusal that may pass at once, and pauses only then", async () => {
    const lost: number[] = [];
    const told = { random: () => 0.99, onLost: (_: Error, ms: number) => lost.push(ms), maxWaitMs: 0 };
    const { broker, batches } = await following({ topics: { orders: 2 } }, told);
    let answeredAt = 0;
    broker.intercept = ({ fetch, socket, answer }) => {
      if (fetch === undefined || answer === undefined) return false;
      const refusing = Buffer.from(answer);
      const part = fetch.parts[0]?.partition === 1 ? refusing.indexOf("orders") : refusing.lastIndexOf("orders");
      refusing.writeInt16BE(ErrorCodes.OVERLOADED, part + "orders".length + 4);
      answeredAt = performance.now();
      return socket.write(refusing);
    };
    const first = next(batches);
    await expect.poll(() => lost.length, { timeout: 10_000 }).toBe(4);
    fill(broker, 0, 1, 1);
    expect(textsOf(await first)).toEqual(["0 0"]);
    // The next pause takes 0.8 s.
    expect(performance.now() - answeredAt).toBeLessThan(400);
    expect(lost.at(-1)).toBeGreaterThan(700);
  });

  it("P10 names a record whose sum is wrong, after the others were given", async () => {
    const { broker, batches } = await following({ topics: { orders: 2 } });
    fill(broker, 0, 2, 1);
    fill(broker, 1, 2, 1);
    broker.intercept = ({ fetch, socket, answer }) => {
      if (fetch === undefined || answer === undefined) return false;
      const wrong = Uint8Array.from(answer);
      const stored = storedRecords("crc32c", [ascii("1")]);
      const last = Buffer.from(wrong).lastIndexOf(stored);
      if (last >= 0) wrong[last + 8] = 0x39;
      return socket.write(wrong);
    };
    expect(textsOf(await next(batches))).toEqual(["0 0", "0 1", "1 0"]);
    const error = await next(batches).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CorruptRecordError);
    expect(error).toMatchObject({ partition: 1, offset: 1 });
  });

  it("ends by its signal, while it waits and while it is away, and by being left", async () => {
    const waiting = await following();
    const never = next(waiting.batches);
    await expect.poll(() => waiting.broker.fetches.length).toBe(1);
    waiting.stop.abort(new Error("enough"));
    await expect(never).rejects.toThrow("enough");
    await expect.poll(() => waiting.broker.sockets.size).toBe(0);

    const lost: number[] = [];
    const away = await following({}, { random: () => 0.99, onLost: (_, ms) => lost.push(ms) });
    const meanwhile = next(away.batches);
    await expect.poll(() => away.broker.fetches.length).toBe(1);
    away.broker.stop();
    await expect.poll(() => lost.length).toBeGreaterThan(3);
    away.stop.abort(new Error("enough"));
    await expect(meanwhile).rejects.toThrow("enough");

    const left = await following();
    fill(left.broker, 0, 1);
    for await (const _ of left.follower) break;
    await expect.poll(() => left.broker.sockets.size).toBe(0);
  });
});

describe("a follower of a broker that knows less", () => {
  it("of one partition waits by v2, also from before HELLO", async () => {
    for (const fake of [{ versions: UP_TO_V2 }, { oldest: true }]) {
      const { broker, batches } = await following(fake);
      const waiting = next(batches);
      await sleep(50);
      fill(broker, 0, 1, 1);
      expect(textsOf(await waiting)).toEqual(["0 0"]);
      await settled(broker, 2);
      expect(broker.fetches.map(({ kind }) => kind)).toEqual([RequestKind.FETCH_V2, RequestKind.FETCH_V2]);
    }
  });

  it("of several asks all of them ten times a second, so that none keeps back another's answer", async () => {
    const { broker, batches } = await following({ versions: UP_TO_V2, topics: { orders: 3 } });
    const waiting = next(batches);
    const begun = performance.now();
    await expect.poll(() => broker.fetches.length).toBeGreaterThan(8);
    // Three rounds, with two pauses of a tenth of a second between them; timers may come a little early.
    expect(performance.now() - begun).toBeGreaterThan(180);
    expect(broker.fetches.every(({ kind }) => kind === RequestKind.FETCH_V1)).toBe(true);
    fill(broker, 1, 1, 1);
    fill(broker, 2, 1, 1);
    const read = textsOf(await waiting);
    while (read.length < 2) read.push(...textsOf(await next(batches)));
    expect(read).toEqual(["1 0", "2 0"]);
  });
});

describe("a follower whose connection is cut", () => {
  it("F17 goes on over another from where it was, and says that it was away and is back", async () => {
    const events: string[] = [];
    const { broker, batches } = await following(
      { topics: { orders: 2 } },
      { onLost: ({ code: why }) => events.push(`lost ${why}`), onRecovered: () => events.push("back") },
    );
    fill(broker, 0, 3, 1);
    const read = textsOf(await next(batches));
    for (let cut = 0; cut < 5; cut++) {
      const waiting = next(batches);
      await expect.poll(() => broker.fetches.at(-1)?.parts.some(({ offset: at }) => at === 3 + cut)).toBe(true);
      broker.cut();
      // It hears at once that the broker is back, though there is nothing to read.
      await expect.poll(() => events.length).toBe(2 * cut + 2);
      fill(broker, 0, 1, 1);
      read.push(...textsOf(await waiting));
    }
    expect(read).toEqual(["0 0", "0 1", "0 2", "0 3", "0 4", "0 5", "0 6", "0 7"]);
    expect(events).toEqual(Array.from({ length: 5 }, () => ["lost CONNECTION_LOST", "back"]).flat());
  });

  it("tries again and again, each time a little later, until the broker is there", async () => {
    const pauses: number[] = [];
    const told = { random: () => 0, onLost: (_: Error, ms: number) => pauses.push(ms), maxWaitMs: 50 };
    const { broker, batches } = await following({}, told);
    const waiting = next(batches);
    await expect.poll(() => broker.fetches.length).toBeGreaterThan(0);
    const { port } = broker;
    broker.stop();
    await expect.poll(() => pauses.length).toBeGreaterThanOrEqual(5);
    const again = await FakeBroker.start({ port });
    fill(again, 0, 1, 1);
    expect(textsOf(await waiting)).toEqual(["0 0"]);
    expect(pauses.slice(0, 5)).toEqual([25, 50, 100, 200, 400]);
  });

  it("F16 takes a broker that is stopping for one that comes back", async () => {
    const events: string[] = [];
    const { broker, batches } = await following({}, { maxWaitMs: 20, onLost: ({ code: why }) => events.push(why) });
    const waiting = next(batches);
    await expect.poll(() => broker.fetches.length).toBeGreaterThan(1);
    broker.intercept = ({ fetch, socket, correlationId }) =>
      fetch !== undefined && (socket.write(errorAnswer(correlationId, ErrorCodes.SHUTTING_DOWN)) || true);
    await expect.poll(() => events.length).toBeGreaterThan(1);
    broker.intercept = () => false;
    fill(broker, 0, 1, 1);
    expect(textsOf(await waiting)).toEqual(["0 0"]);
    expect(new Set(events)).toEqual(new Set(["SHUTTING_DOWN"]));
  });

  it("gives up a connection on which nothing comes any more", async () => {
    const { broker, batches } = await following({}, { maxWaitMs: 30, timeoutMs: 50 });
    broker.intercept = ({ fetch }) => fetch !== undefined && broker.connections === 1;
    fill(broker, 0, 1, 1);
    expect(textsOf(await next(batches))).toEqual(["0 0"]);
    expect(broker.connections).toBe(2);
  });

  it("F20 does not go on in silence when the log was cut meanwhile", async () => {
    const { broker, batches } = await following({ topics: { orders: 2 } });
    fill(broker, 0, 100, 1);
    expect((await next(batches))[0]?.length).toBe(100);
    const waiting = next(batches);
    await expect.poll(() => broker.fetches.length).toBe(2);
    broker.partition("orders", 0).cutTo(80);
    fill(broker, 0, 40, 1);
    broker.cut();
    const error = await waiting.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(LogTruncatedError);
    expect(error).toMatchObject({ partition: 0, offset: 100, epochStart: 80 });
  });

  it("says at once when it cannot connect in the beginning", async () => {
    const refused = Object.assign(new Error("no"), { code: "CONNECTION_FAILED" });
    const { batches } = await following({}, { connect: () => Promise.reject(refused) });
    await expect(next(batches)).rejects.toBe(refused);
  });
});

describe("the pauses between tries", () => {
  it("double up to a bound, lie between half and all of that, and begin anew after a success", () => {
    let random = 0;
    const backoff = new Backoff(50, 1000, () => random);
    expect([1, 2, 3, 4, 5, 6, 7].map(() => backoff.next())).toEqual([25, 50, 100, 200, 400, 500, 500]);
    random = 0.999999;
    expect(backoff.next()).toBeCloseTo(1000, 0);
    backoff.reset();
    expect(backoff.next()).toBeCloseTo(50, 0);
    for (let i = 0; i < 5000; i++) expect(backoff.next()).toBeLessThanOrEqual(1000);
  });
});
