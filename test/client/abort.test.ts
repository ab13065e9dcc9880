// What an abort ends, and what it does not take along.

import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { onAbort, unlessAborted } from "../../src/client/abort.js";
import { memoryCheckpoints } from "../../src/client/checkpoint/memory.js";
import { Client } from "../../src/client/client.js";
import { brokerBackend } from "../../src/client/connect.js";
import type { Link } from "../../src/client/link.js";
import { until } from "../support/waiting.js";
import { clientOf, fill, readAll } from "./subscription/reading.js";

const enough = new Error("enough");

/** What Node warns of while `work` goes on. */
async function warnings(work: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = [];
  const warned = (warning: Error): void => void seen.push(warning.message);
  process.on("warning", warned);
  onTestFinished(() => void process.off("warning", warned));
  await work();
  // Node says it in a later turn.
  await sleep(10);
  return seen;
}

describe("waiting for an abort", () => {
  it("takes one listener for all, which goes with the last of them", () => {
    const { signal } = new AbortController();
    const action = (): void => undefined;
    const stops = Array.from({ length: 20 }, () => onAbort(signal, action));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    for (const stop of stops.slice(1)) stop();
    for (const stop of stops.slice(1)) stop();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    stops[0]();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("calls everybody once, but whoever was taken back", () => {
    const controller = new AbortController();
    const { signal } = controller;
    const called: string[] = [];
    onAbort(signal, () => {
      called.push("first");
      stopThird();
    });
    const stopSecond = onAbort(signal, () => called.push("second"));
    const stopThird = onAbort(signal, () => called.push("third"));
    onAbort(signal, () => called.push("fourth"));
    stopSecond();
    controller.abort();
    controller.abort();
    expect(called).toEqual(["first", "fourth"]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("rejects with the reason, and lets go of the signal when the work is done first", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7);
    await expect(unlessAborted(Promise.reject(enough), signal)).rejects.toBe(enough);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    const never = unlessAborted(new Promise(() => undefined), signal);
    controller.abort(enough);
    await expect(never).rejects.toBe(enough);
    await expect(unlessAborted(Promise.reject(new Error("unheard")), signal)).rejects.toBe(enough);
  });
});

describe("a signal", () => {
  it("serves any number of sends, questions and readings without a warning", async () => {
    const { client } = await clientOf();
    const { signal } = new AbortController();
    const many = (work: () => Promise<unknown>) => () => Promise.all(Array.from({ length: 20 }, work));
    const producer = client.producer();
    expect(await warnings(many(() => client.topics()))).toEqual([]);
    expect(await warnings(many(() => client.topics([], { signal })))).toEqual([]);
    expect(await warnings(many(() => producer.send("orders", "x", { signal })))).toEqual([]);
    expect(await warnings(many(() => readAll(client.replay("orders", { signal }))))).toEqual([]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("ends a reading whose store does not answer", async () => {
    const { client } = await clientOf();
    const stop = new AbortController();
    const store = { ...memoryCheckpoints(), load: () => new Promise<never>(() => undefined) };
    const reading = readAll(client.replay("orders", { signal: stop.signal }).checkpointing(store));
    stop.abort(enough);
    await expect(reading).rejects.toBe(enough);
  });

  it("ends a reading that waits for a choice where to go on", async () => {
    const { broker, client } = await clientOf();
    const stop = new AbortController();
    let isAsked = false;
    const onOutOfRange = () => {
      isAsked = true;
      return new Promise<never>(() => undefined);
    };
    const reading = readAll(client.follow("orders", { from: 7, onOutOfRange, signal: stop.signal }));
    await until("it asks", () => isAsked);
    stop.abort(enough);
    await expect(reading).rejects.toBe(enough);
    await until("the connection is closed", () => broker.sockets.size === 0);
  });

  it("leaves no records out: a poll gives what had come, or has not moved", async () => {
    const { broker } = await clientOf();
    fill(broker, "orders", 0, 3);
    const seen = new Set<string>();
    for (let turns = 0; turns < 24; turns++) {
      const stop = new AbortController();
      const abortAfter = (left: number): void =>
        left === 0 ? stop.abort(enough) : queueMicrotask(() => abortAfter(left - 1));
      const backend = brokerBackend({ broker: broker.address });
      const connect = async (): Promise<Link> => {
        const link = await backend.connect();
        const fetchMany = link.fetchMany.bind(link);
        link.fetchMany = async (...asked) => {
          const answers = await fetchMany(...asked);
          abortAfter(turns);
          return answers;
        };
        return link;
      };
      await using client = new Client({ address: backend.address, connect });
      const consumer = await client.consumer({ topic: "orders", partition: 0 });
      const outcome = await consumer.poll({ signal: stop.signal }).then(
        ({ length }) => `gave ${length}`,
        (error) => (error === enough ? "aborted" : String(error)),
      );
      seen.add(`${outcome}, stands at ${consumer.position}`);
    }
    expect([...seen].filter((each) => !["aborted, stands at 0", "gave 3, stands at 3"].includes(each))).toEqual([]);
  });
});
