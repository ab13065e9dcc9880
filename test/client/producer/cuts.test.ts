// What becomes of sends when the connection dies, comes late or never answers, on a played broker.

import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { Producer } from "../../../src/client/producer/producer.js";
import type { ProducerOptions } from "../../../src/client/producer/producer-options.js";
import { ErrorCodes } from "../../../src/model/error-codes.js";
import type { MillraceError } from "../../../src/model/errors.js";
import { RequestKind } from "../../../src/protocol/api-keys.js";
import { FakeBroker } from "../../support/fake-broker.js";
import { until } from "../../support/waiting.js";
import { backendOf, codeOf, isProduce, texts } from "./backends.js";

async function started(options: ProducerOptions = {}) {
  const broker = await FakeBroker.start();
  const backend = backendOf(broker);
  const producer = new Producer(backend, { lingerMs: 0, ...options });
  onTestFinished(() => producer.destroy());
  return { broker, producer, backend };
}

const batches = (producer: Producer, count: number) =>
  Array.from({ length: count }, (_, i) => producer.batch("orders", [`batch ${i}`], { partition: 0 }));

/** An address at which nobody listens any more. */
async function deadAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return `127.0.0.1:${port}`;
}

describe("a producer whose connection dies", () => {
  it("P06 rejects what was in flight with OUTCOME_UNKNOWN and its cause, never repeats it, and sends the rest over the next", async () => {
    const { broker, producer } = await started({ requestsInFlight: 3 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    let taken = 0;
    broker.intercept = (request) => {
      if (!isProduce(request) || ++taken > 3) return false;
      if (taken === 3) setTimeout(() => broker.cut(), 10);
      return true;
    };
    const sent = batches(producer, 8);
    const errors = await Promise.all(sent.slice(0, 3).map((each) => each.catch((error: unknown) => error)));
    for (const error of errors) {
      expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN", cause: { code: "CONNECTION_LOST" } });
    }
    expect(await Promise.all(sent.slice(3).map(codeOf))).toEqual(Array(5).fill("sent"));
    // This broker had written the three, and nobody knew: each is there once.
    expect(texts(broker)).toEqual(["warm", ...Array.from({ length: 8 }, (_, i) => `batch ${i}`)]);
    expect(broker.connections).toBe(2);
  });

  it("rejects what was refused when it is not known whether something behind it was accepted", async () => {
    const { broker, producer } = await started({ requestsInFlight: 3 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    let turn = 0;
    broker.refuse = (request) => (isProduce(request) && turn++ === 0 ? ErrorCodes.OVERLOADED : undefined);
    let taken = 0;
    broker.intercept = (request) => {
      if (!isProduce(request) || ++taken > 3 || taken === 1) return false;
      if (taken === 3) setTimeout(() => broker.cut(), 30);
      return true;
    };
    const codes = await Promise.all(batches(producer, 5).map(codeOf));
    expect(codes).toEqual(["OVERLOADED", "OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "sent", "sent"]);
    expect(texts(broker).filter((text) => text === "batch 0")).toEqual([]);
  });

  it("tells of the loss and of the recovery, and waits longer each time", async () => {
    const lost: { readonly error: MillraceError; readonly retryMs: number }[] = [];
    let recovered = 0;
    const target = { address: await deadAddress() };
    const producer = new Producer(backendOf(target), {
      lingerMs: 0,
      random: () => 0.5,
      onLost: (error, retryMs) => lost.push({ error, retryMs }),
      onRecovered: () => recovered++,
    });
    onTestFinished(() => producer.destroy());
    const sent = producer.send("orders", "x");
    await until("three tries", () => lost.length === 3);
    expect(lost.map(({ error }) => error.code)).toEqual(Array(3).fill("CONNECTION_FAILED"));
    expect(lost.map(({ retryMs }) => retryMs)).toEqual([37.5, 75, 150]);
    const broker = await FakeBroker.start();
    target.address = broker.address;
    expect((await sent).offset).toBe(0);
    expect(recovered).toBe(1);
  });

  it("rejects what nobody could be found for within its delivery time, also when it is closed", async () => {
    const producer = new Producer(backendOf({ address: await deadAddress() }), { lingerMs: 0, deliveryTimeoutMs: 200 });
    const sends: Promise<unknown>[] = [producer.send("orders", "x"), producer.batch("orders", ["y"], { partition: 0 })];
    const errors = sends.map((each) => each.catch((error: unknown) => error));
    await producer.close();
    for (const error of await Promise.all(errors)) {
      expect(error).toMatchObject({ code: "DELIVERY_TIMEOUT", cause: { code: "CONNECTION_FAILED" } });
    }
  });

  it("gives a connection up that does not answer in time, and what was in flight on it is unknown", async () => {
    const { broker, producer } = await started({ requestTimeoutMs: 60, requestsInFlight: 2 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    let taken = 0;
    broker.intercept = (request) => isProduce(request) && ++taken <= 2;
    const sent = batches(producer, 4);
    const error = await sent[0].catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN", cause: { code: "REQUEST_TIMEOUT" } });
    expect(await Promise.all(sent.map(codeOf))).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "sent", "sent"]);
    expect(broker.connections).toBe(2);
  });

  it("gives a connection up that does not answer its questions in time, either", async () => {
    const { broker, producer } = await started({ requestTimeoutMs: 60 });
    let asked = 0;
    broker.intercept = ({ kind }) => kind === RequestKind.METADATA_V2 && asked++ === 0;
    const begun = performance.now();
    expect((await producer.send("orders", "a")).offset).toBe(0);
    expect(performance.now() - begun).toBeLessThan(2000);
    expect([asked, broker.connections]).toEqual([2, 2]);
  });

  it("P09 takes no answer with another correlation id for its own: the connection is broken, nobody gets a wrong offset", async () => {
    const { broker, producer } = await started();
    await producer.batch("orders", ["warm"], { partition: 0 });
    let taken = 0;
    broker.intercept = (request) => {
      if (!isProduce(request) || ++taken > 1 || request.answer === undefined) return false;
      const wrong = Uint8Array.from(request.answer);
      new DataView(wrong.buffer).setInt32(4, request.correlationId + 1);
      request.socket.write(wrong);
      return true;
    };
    const sent = batches(producer, 2);
    const errors = await Promise.all(sent.map((each) => each.catch((error: unknown) => error)));
    const [first] = errors;
    expect(first).toMatchObject({
      code: "OUTCOME_UNKNOWN",
      cause: { code: "CONNECTION_LOST", cause: { code: "BAD_RESPONSE" } },
    });
    expect(await codeOf(producer.send("orders", "after"))).toBe("sent");
    expect(broker.connections).toBe(2);
  });

  it("P06 settles every send when it is destroyed: what has not left as CLOSED, what is in flight as OUTCOME_UNKNOWN", async () => {
    const { broker, producer } = await started({ requestsInFlight: 1 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    broker.intercept = (request) => isProduce(request);
    const sent = batches(producer, 3);
    await until("one is there", () => broker.requests.filter(isProduce).length === 2);
    const gathered = producer.send("orders", "gathered");
    producer.destroy();
    const codes = await Promise.all([...sent, gathered].map(codeOf));
    expect(codes).toEqual(["OUTCOME_UNKNOWN", "CLOSED", "CLOSED", "CLOSED"]);
    expect(await codeOf(producer.send("orders", "late"))).toBe("CLOSED");
    await producer.close();
  });

  it("finds the partitions that a restart has added", async () => {
    const first = await FakeBroker.start({ topics: { orders: 1 } });
    const target = { address: first.address };
    const backend = backendOf(target);
    const producer = new Producer(backend, { lingerMs: 0 });
    onTestFinished(() => producer.destroy());
    expect((await producer.send("orders", "x")).partition).toBe(0);
    const second = await FakeBroker.start({ topics: { orders: 4 } });
    target.address = second.address;
    first.stop();
    await backend.links[0].closed;
    expect(await codeOf(producer.send("orders", "y", { partition: 0 }))).toBe("sent");
    const partitions = [];
    for (let i = 0; i < 4; i++) partitions.push((await producer.send("orders", "z")).partition);
    expect([...partitions].sort()).toEqual([0, 1, 2, 3]);
    expect(await codeOf(producer.send("orders", "y", { partition: 3 }))).toBe("sent");
  });

  it("stays quiet while there is nothing to send, and connects again when there is", async () => {
    const { broker, producer, backend } = await started();
    await producer.send("orders", "x");
    broker.cut();
    await backend.links[0].closed;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(broker.connections).toBe(1);
    expect((await producer.send("orders", "y")).offset).toBe(1);
    expect(broker.connections).toBe(2);
  });

  it("goes on without acknowledgement after a cut", async () => {
    const { broker, producer, backend } = await started({ ack: "none" });
    await producer.send("orders", "x");
    await until("it is there", () => broker.log("orders", 0).length === 1);
    broker.cut();
    await backend.links[0].closed;
    await producer.send("orders", "y");
    await producer.close();
    await until("it is there", () => broker.log("orders", 0).length === 2);
  });
});
