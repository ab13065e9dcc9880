// Typed records one by one: their order, and how an iteration of them ends.

import { describe, expect, it } from "vitest";
import { json } from "../../../src/client/codec/plain-codecs.js";
import { ascii } from "../../support/bytes.js";
import { until } from "../../support/waiting.js";
import { clientOf, fill } from "../subscription/reading.js";

/** Three records an answer, one answer a batch. */
const small = { maxBytes: 27, answerBytes: 54 } as const;

describe("typed records", () => {
  it("come in order to calls that do not wait for each other", async () => {
    const { broker, client } = await clientOf();
    fill(broker, "orders", 0, 9);
    const records = client.topic("orders", { codec: json<number>() }).replay(small).records();
    const given = await Promise.all(Array.from({ length: 11 }, () => records.next()));
    const values = given.map(({ value }) => value?.value);
    expect(values).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, undefined, undefined]);
  });

  it.each(["batches", "records"] as const)("are left at once by whoever waits for the next of the %s", async (what) => {
    const { broker, client } = await clientOf();
    const follow = client.topic("orders", { codec: json<number>() }).follow();
    const reading = what === "records" ? follow.records() : follow[Symbol.asyncIterator]();
    const next = reading.next();
    await until("it waits", () => broker.fetches.length > 0);
    expect((await reading.return?.())?.done).toBe(true);
    expect((await next).done).toBe(true);
    await until("the connection is closed", () => broker.sockets.size === 0);
  });

  it.each([0, 1])(
    "close their connection when what is told of a bad record throws, after %i good ones",
    async (good) => {
      const { broker, client } = await clientOf();
      fill(broker, "orders", 0, good);
      broker.log("orders", 0).push(ascii("no JSON"), ascii("7"));
      const onBad = (error: Error): never => {
        throw error;
      };
      const read: number[] = [];
      const records = client.topic("orders", { codec: json<number>(), onBad }).follow().records();
      const reading = async (): Promise<void> => {
        for await (const { value } of records) read.push(value);
      };
      await expect(reading()).rejects.toThrow(expect.objectContaining({ code: "BAD_PAYLOAD", offset: good }));
      expect(read).toHaveLength(good);
      expect((await records.next()).done).toBe(true);
      await until("the connection is closed", () => broker.sockets.size === 0);
    },
  );
});
