// The order inside a partition, and what becomes of batches that the broker refuses, on a played one.

import { describe, expect, it, onTestFinished } from "vitest";
import { Producer } from "../../../src/client/producer/producer.js";
import type { ProducerOptions } from "../../../src/client/producer/producer-options.js";
import { ErrorCodes } from "../../../src/model/error-codes.js";
import { RequestKind } from "../../../src/protocol/api-keys.js";
import { FakeBroker, type FakeOptions } from "../../support/fake-broker.js";
import { until } from "../../support/waiting.js";
import { backendOf, codeOf, isProduce, refuse, texts } from "./backends.js";

async function started(options: ProducerOptions = {}, fake: FakeOptions = {}) {
  const broker = await FakeBroker.start(fake);
  const producer = new Producer(backendOf(broker), { lingerMs: 0, ...options });
  onTestFinished(() => producer.destroy());
  return { broker, producer };
}

/** A batch each, so that each is a request. */
const batches = (producer: Producer, count: number) =>
  Array.from({ length: count }, (_, i) => producer.batch("orders", [`batch ${i}`], { partition: 0 }));

const named = (...numbers: number[]) => numbers.map((i) => `batch ${i}`);

/** Refuses the produce requests of these turns, counted from 0. */
function refuseTurns(broker: FakeBroker, error: keyof typeof ErrorCodes, isRefused: (turn: number) => boolean): void {
  let turn = 0;
  broker.refuse = (request) => (isProduce(request) && isRefused(turn++) ? ErrorCodes[error] : undefined);
}

describe("the order inside a partition", () => {
  it("keeps several requests in flight, and never more than it was told", async () => {
    const { broker, producer } = await started({ requestsInFlight: 3 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    const held: (() => void)[] = [];
    broker.intercept = (request) => {
      if (!isProduce(request) || request.answer === undefined) return false;
      const { answer } = request;
      held.push(() => void request.socket.write(answer));
      return true;
    };
    const sent = batches(producer, 10);
    await until("three are there", () => held.length === 3);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(held).toHaveLength(3);
    for (let i = 0; i < 10; i++) {
      await until("the next is there", () => held.length > i);
      held[i]();
    }
    expect((await Promise.all(sent)).map(({ baseOffset }) => baseOffset)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(texts(broker)).toEqual(["warm", ...named(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)]);
  });

  it.each(["OVERLOADED", "LOG_FULL", "SHUTTING_DOWN"] as const)(
    "survives a refusal with %s of everything in flight: all of it goes again, in order",
    async (error) => {
      const { broker, producer } = await started({ requestsInFlight: 5 });
      await producer.batch("orders", ["warm"], { partition: 0 });
      refuseTurns(broker, error, (turn) => turn < 7);
      const sent = batches(producer, 12);
      expect(await Promise.all(sent.map(codeOf))).toEqual(Array(12).fill("sent"));
      expect(texts(broker)).toEqual(["warm", ...named(...Array(12).keys())]);
    },
  );

  it("rejects a refused batch when one behind it was accepted, and sends none out of order", async () => {
    const { broker, producer } = await started({ requestsInFlight: 5 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    const refused = [1, 2, 4];
    let turn = 0;
    broker.refuse = (request) => (isProduce(request) && refused.includes(turn) ? ErrorCodes.OVERLOADED : undefined);
    // The first five answers come together, as they do from a broker that has many at once.
    const held: Uint8Array[] = [];
    broker.intercept = (request) => {
      if (!isProduce(request) || request.answer === undefined || turn++ > 4) return false;
      held.push(request.answer);
      if (held.length === 5) request.socket.write(Buffer.concat(held));
      return true;
    };
    const codes = await Promise.all(batches(producer, 8).map(codeOf));
    expect(codes).toEqual(["sent", "OVERLOADED", "OVERLOADED", "sent", "sent", "sent", "sent", "sent"]);
    expect(texts(broker)).toEqual(["warm", ...named(0, 3, 4, 5, 6, 7)]);
  });

  it("sends one batch after a refusal until one is accepted, and several again then", async () => {
    const { broker, producer } = await started({ requestsInFlight: 4 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    const answered: boolean[] = [];
    let open = 0;
    let most = 0;
    const mosts: number[] = [];
    broker.intercept = (request) => {
      if (!isProduce(request)) return false;
      open++;
      most = Math.max(most, open);
      const isRefused = answered.length < 6;
      setTimeout(() => {
        open--;
        mosts.push(most);
        most = open;
        if (isRefused) refuse(request, "OVERLOADED");
        else if (request.answer !== undefined) request.socket.write(request.answer);
      }, 5);
      answered.push(isRefused);
      return true;
    };
    broker.refuse = (request) => (isProduce(request) && answered.length < 6 ? ErrorCodes.OVERLOADED : undefined);
    await Promise.all(batches(producer, 12));
    expect(mosts.slice(0, 4)).toEqual([4, 4, 4, 4].map((n, i) => (i === 0 ? n : expect.any(Number))));
    // The 5th and 6th are refused alone, the 7th is accepted alone.
    expect(mosts.slice(4, 7)).toEqual([1, 1, 1]);
    expect(Math.max(...mosts.slice(7))).toBeGreaterThan(1);
  });

  it("rejects only the batch that is refused for good", async () => {
    const { broker, producer } = await started();
    await producer.batch("orders", ["warm"], { partition: 0 });
    refuseTurns(broker, "RECORD_TOO_LARGE", (turn) => turn === 1);
    const codes = await Promise.all(batches(producer, 4).map(codeOf));
    expect(codes).toEqual(["sent", "RECORD_TOO_LARGE", "sent", "sent"]);
    expect(texts(broker)).toEqual(["warm", ...named(0, 2, 3)]);
  });

  it("sends nothing refused again when a barrier behind it has failed: that one may be in the log", async () => {
    const { broker, producer } = await started({ requestsInFlight: 3 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    const errors = [ErrorCodes.OVERLOADED, ErrorCodes.STORAGE_FAILURE];
    broker.refuse = (request) => (isProduce(request) ? errors.shift() : undefined);
    const codes = await Promise.all(batches(producer, 2).map(codeOf));
    expect(codes).toEqual(["OVERLOADED", "STORAGE_FAILURE"]);
    expect(texts(broker)).toEqual(["warm"]);
    expect(await codeOf(producer.send("orders", "after"))).toBe("sent");
  });

  it("tries a refused batch again until its delivery time is over, and says why it was not written", async () => {
    // Long enough that a busy machine comes to several tries, and to the one that is taken at the end.
    const { broker, producer } = await started({ deliveryTimeoutMs: 2000 });
    refuseTurns(broker, "LOG_FULL", () => true);
    const before = performance.now();
    const error = await producer.send("orders", "x").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "DELIVERY_TIMEOUT", cause: { code: "LOG_FULL" } });
    expect(performance.now() - before).toBeGreaterThan(1990);
    expect(broker.requests.filter(isProduce).length).toBeGreaterThan(2);
    expect(texts(broker)).toEqual([]);
    broker.refuse = () => undefined;
    await producer.send("orders", "y");
    expect(texts(broker)).toEqual(["y"]);
  });

  it("tries at once what comes when all that was refused was given up", async () => {
    const { broker, producer } = await started({ deliveryTimeoutMs: 200, random: () => 1 - Number.EPSILON });
    refuseTurns(broker, "LOG_FULL", () => true);
    for (let record = 0; record < 5; record++) {
      const before = broker.requests.filter(isProduce).length;
      const error = await producer.send("orders", "x").catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: "DELIVERY_TIMEOUT", cause: { code: "LOG_FULL" } });
      expect(broker.requests.filter(isProduce).length).toBeGreaterThan(before);
    }
  });

  it("counts the delivery time from the call, also when the topic was not known for most of it", async () => {
    const { broker, producer } = await started({ deliveryTimeoutMs: 2500 });
    const held: (() => void)[] = [];
    broker.refuse = (request) => (isProduce(request) ? ErrorCodes.OVERLOADED : undefined);
    broker.intercept = ({ kind, socket, answer }) =>
      kind === RequestKind.METADATA_V2 && held.push(() => void socket.write(answer as Uint8Array)) > 0;
    const begun = performance.now();
    const sent = [producer.send("orders", "a"), producer.batch("orders", ["b"])];
    await until("it asks", () => held.length > 0);
    const told = Promise.all(sent.map(codeOf));
    setTimeout(() => {
      for (const answer of held) answer();
    }, 1500);
    expect(await told).toEqual(["DELIVERY_TIMEOUT", "DELIVERY_TIMEOUT"]);
    // With the time of the look at what waits; not 4000.
    expect(performance.now() - begun).toBeLessThan(3500);
    expect(broker.requests.filter(isProduce)).not.toEqual([]);
  });

  it("lets no partition wait for another that is refused", async () => {
    const { broker, producer } = await started({}, { topics: { orders: 2 } });
    await producer.batch("orders", ["warm"], { partition: 1 });
    let isFull = true;
    broker.refuse = ({ kind, frame }) => {
      // Header, topic's length and name; then the partition.
      const partition = new DataView(frame.buffer, frame.byteOffset).getInt32(8 + 2 + 6);
      return isFull && isProduce({ kind }) && partition === 0 ? ErrorCodes.LOG_FULL : undefined;
    };
    const waiting = producer.batch("orders", ["slow"], { partition: 0 });
    for (let i = 0; i < 20; i++) await producer.send("orders", "quick", { partition: 1 });
    expect(texts(broker, 0)).toEqual([]);
    isFull = false;
    expect((await waiting).baseOffset).toBe(0);
  });

  it("puts what came while requests were in flight into one request", async () => {
    const { broker, producer } = await started({ requestsInFlight: 1 });
    await producer.send("orders", "warm");
    const sends: Promise<unknown>[] = [];
    for (let turn = 0; turn < 20; turn++) {
      sends.push(producer.send("orders", `turn ${turn}`));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(sends);
    expect(texts(broker).slice(1)).toEqual(Array.from({ length: 20 }, (_, turn) => `turn ${turn}`));
    expect(broker.requests.filter(isProduce).length).toBeLessThan(20);
  });
});
