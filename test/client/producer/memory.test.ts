// A producer takes no more than it was told, however slow the broker is and whatever its callers await.

import { describe, expect, it, onTestFinished } from "vitest";
import { Producer } from "../../../src/client/producer/producer.js";
import type { ProducerOptions } from "../../../src/client/producer/producer-options.js";
import { FakeBroker, type FakeRequest } from "../../support/fake-broker.js";
import { until } from "../../support/waiting.js";
import { backendOf, codeOf, isProduce } from "./backends.js";

const KIB = 1024;
const MIB = 1024 * KIB;

async function slow(options: ProducerOptions) {
  const broker = await FakeBroker.start();
  const producer = new Producer(backendOf(broker), { lingerMs: 0, ...options });
  onTestFinished(() => producer.destroy());
  const held: FakeRequest[] = [];
  let isSlow = true;
  broker.intercept = (request) => {
    if (!isSlow || !isProduce(request)) return false;
    held.push(request);
    return true;
  };
  const wakeUp = (): void => {
    isSlow = false;
    for (const { socket, answer } of held.splice(0)) if (answer !== undefined) socket.write(answer);
  };
  return { broker, producer, held, wakeUp };
}

describe("the memory of a producer", () => {
  it("P08 a slow broker stops whoever awaits what was sent", async () => {
    const { producer, held, wakeUp } = await slow({});
    let sent = 0;
    const loop = (async () => {
      for (; sent < 10; sent++) await producer.send("orders", "x");
    })();
    await until("one is there", () => held.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(sent).toBe(0);
    expect(held).toHaveLength(1);
    wakeUp();
    await loop;
    expect(sent).toBe(10);
  });

  it("P08 a slow broker stops whoever awaits room, at the bound", async () => {
    const { producer, held, wakeUp, broker } = await slow({ queuedBytesMax: 8 * 256 * KIB });
    const outcomes: Promise<string>[] = [];
    const loop = (async () => {
      for (let i = 0; i < 1000; i++) {
        await producer.room();
        outcomes.push(codeOf(producer.send("orders", "x".repeat(KIB))));
      }
    })();
    await until("something is there", () => held.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(outcomes.length).toBeLessThanOrEqual(256);
    expect(outcomes.length).toBeGreaterThan(150);
    wakeUp();
    await loop;
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["sent"]));
    expect(broker.log("orders", 0)).toHaveLength(1000);
  });

  it("P08 many who await room at once all find it", async () => {
    const { producer, wakeUp } = await slow({ queuedBytesMax: 8 * 64 * KIB });
    const one = async () => {
      await producer.room();
      return codeOf(producer.send("orders", "x".repeat(KIB)));
    };
    const first = Array.from({ length: 60 }, one);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const later = Array.from({ length: 50 }, one);
    wakeUp();
    expect(new Set(await Promise.all([...first, ...later]))).toEqual(new Set(["sent"]));
  });

  it("P08 refuses with QUEUE_FULL what nobody waits for, at the bound, and takes on when there is room", async () => {
    const { producer, wakeUp, broker } = await slow({ queuedBytesMax: 2 * MIB });
    const outcomes: Promise<string>[] = [];
    for (let i = 0; i < 50; i++) {
      for (let j = 0; j < 100; j++) outcomes.push(codeOf(producer.send("orders", "x".repeat(KIB))));
      await new Promise((resolve) => setImmediate(resolve));
    }
    wakeUp();
    const codes = await Promise.all(outcomes);
    const taken = codes.filter((code) => code === "sent").length;
    expect(new Set(codes)).toEqual(new Set(["sent", "QUEUE_FULL"]));
    expect(taken).toBeLessThanOrEqual(2048);
    expect(taken).toBeGreaterThan(1500);
    expect(codes.lastIndexOf("sent")).toBeLessThan(2048);
    expect(broker.log("orders", 0)).toHaveLength(taken);
    expect(await codeOf(producer.send("orders", "after"))).toBe("sent");
    await producer.close();
  });

  it("P08 holds a few times its bound at the most, while a program sends gigabytes without looking", async () => {
    const { producer, broker } = await slow({ queuedBytesMax: 8 * MIB, deliveryTimeoutMs: 60_000 });
    const payload = new Uint8Array(16 * KIB).fill(7);
    const used = () => {
      const { arrayBuffers, heapUsed } = process.memoryUsage();
      return arrayBuffers + heapUsed;
    };
    const before = used();
    let most = 0;
    let refused = 0;
    for (let i = 0; i < 1000; i++) {
      for (let j = 0; j < 100; j++) producer.send("orders", payload).catch(() => refused++);
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, used());
    }
    expect(refused).toBeGreaterThan(99_000);
    // What is queued, what is on its way, the played broker's copies of it, and garbage.
    expect(most - before).toBeLessThan(100 * MIB);
    expect(broker.requests.filter(isProduce).length).toBeLessThan(40);
  });

  it("has room again for what was given up before it left", async () => {
    const { producer, wakeUp } = await slow({ queuedBytesMax: 16 * KIB, lingerMs: 3_600_000 });
    wakeUp();
    await producer.batch("orders", ["warm"]);
    for (let i = 0; i < 50; i++) {
      const abort = new AbortController();
      const sent = codeOf(producer.send("orders", "x".repeat(KIB), { signal: abort.signal }));
      abort.abort();
      await sent;
      await producer.flush();
    }
    expect(producer.hasRoom).toBe(true);
    const kept = codeOf(producer.send("orders", "kept"));
    await producer.flush();
    expect(await kept).toBe("sent");
  });

  it("takes one record that is larger than the bound", async () => {
    const { producer, wakeUp } = await slow({ queuedBytesMax: 800 });
    wakeUp();
    expect(await codeOf(producer.send("orders", "x".repeat(10 * KIB)))).toBe("sent");
    const both = ["y", "z"].map((text) => codeOf(producer.send("orders", text.repeat(KIB))));
    expect(await Promise.all(both)).toEqual(["sent", "QUEUE_FULL"]);
  });
});
