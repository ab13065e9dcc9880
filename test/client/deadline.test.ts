// The deadline of a caller bounds the whole call: connecting, asking, and all that is tried again.

import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { within } from "../../src/client/deadline.js";
import { FakeBroker } from "../support/fake-broker.js";
import { clientOf, fill } from "./subscription/reading.js";

/** How long it took to reject, and with what. */
async function rejected(call: () => Promise<unknown>) {
  const from = performance.now();
  const error = await call().then(
    () => undefined,
    (caught: unknown) => caught,
  );
  return { error, ms: performance.now() - from };
}
const timeout = (ms: number) => ({ code: "REQUEST_TIMEOUT", message: expect.stringContaining(`in ${ms} ms`) });

describe("a deadline", () => {
  it("ends a question and a poll whose broker answers nothing, not even a greeting", async () => {
    const { broker, client } = await clientOf();
    const consumer = await client.consumer({ topic: "orders", partition: 0 });
    await client.topics();
    broker.intercept = () => true;
    for (let round = 0; round < 2; round++) {
      for (const call of [
        () => client.topics(undefined, { timeoutMs: 120 }),
        () => client.listOffsets("orders", 0, "latest", { timeoutMs: 120 }),
        () => client.offsetsAt("orders", new Date(0), { timeoutMs: 120 }),
        () => consumer.poll({ timeoutMs: 120 }),
      ]) {
        const { error, ms } = await rejected(call);
        expect(error).toMatchObject(timeout(120));
        expect(ms).toBeLessThan(2000);
      }
    }
    const { ms, error } = await rejected(() => consumer.poll({ timeoutMs: 60, maxWaitMs: 80 }));
    expect(error).toMatchObject(timeout(140));
    expect(ms).toBeGreaterThan(100);
  });

  it("ends what is tried again, and says with what the last try failed", async () => {
    const { broker, client } = await clientOf();
    const { port } = broker;
    const consumer = await client.consumer({ topic: "orders", partition: 0 });
    broker.stop();
    for (const call of [() => client.topics([], { timeoutMs: 200 }), () => consumer.poll({ timeoutMs: 200 })]) {
      const { error, ms } = await rejected(call);
      expect(error).toMatchObject(timeout(200));
      expect(error).toMatchObject({ cause: { code: expect.stringMatching(/^CONNECTION_/) } });
      expect(ms).toBeLessThan(2000);
    }
    const again = await FakeBroker.start({ port });
    fill(again, "orders", 0, 2);
    expect((await consumer.poll({ timeoutMs: 10_000 })).length).toBe(2);
  });

  it("of one question does not end another's", async () => {
    const { broker, client } = await clientOf();
    await client.topics();
    let silent = true;
    broker.intercept = () => silent;
    const patient = client.topics(["orders"]);
    const { error } = await rejected(() => client.topics([], { timeoutMs: 100 }));
    silent = false;
    expect(error).toMatchObject(timeout(100));
    expect((await patient)[0]?.topic).toBe("orders");
  });

  it("that no timer can hold is none", async () => {
    expect(await within(Number.POSITIVE_INFINITY, undefined, "it", () => sleep(5, "done"))).toBe("done");
    expect(await within(2 ** 31, undefined, "it", () => sleep(5, "done"))).toBe("done");
  });
});
