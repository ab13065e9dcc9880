// Text with half a character has no UTF-8: it is refused wherever text is taken, and nothing turns into U+FFFD on the way.

import { describe, expect, it } from "vitest";
import { text } from "../../src/client/index.js";
import { partitionOfKey } from "../../src/client/partitioner.js";
import { recordRegion } from "../../src/client/record-region.js";
import { clientOf } from "./subscription/reading.js";

const refused = expect.objectContaining({
  code: "BAD_ARGUMENT",
  message: expect.stringContaining("lone surrogates"),
});
const HALVES = ["a\ud800b", "\udc00", "\ud83d", `${"long ".repeat(50)}\ud83d\ud83d\ude00`];
const WHOLE = ["\ufffd", "grün", "\ud83d\ude00", "a"];

describe("text with half a character", () => {
  it("is no record and no key, of one call or of many records", async () => {
    const { broker, client } = await clientOf({ topics: { orders: 4 } });
    const producer = client.producer();
    for (const half of HALVES) {
      await expect(producer.send("orders", half)).rejects.toThrow(refused);
      await expect(producer.send("orders", "whole", { key: half })).rejects.toThrow(refused);
      await expect(producer.batch("orders", ["whole", half])).rejects.toThrow(refused);
      await expect(producer.batch("orders", ["whole"], { key: half })).rejects.toThrow(refused);
      await expect(producer.append("orders", [half], { partition: 0, expectedOffset: 0 })).rejects.toThrow(refused);
      expect(() => recordRegion([half])).toThrow(refused);
      expect(() => partitionOfKey(half, 4)).toThrow(refused);
    }
    await producer.flush();
    expect([0, 1, 2, 3].flatMap((partition) => broker.log("orders", partition))).toEqual([]);
  });

  it("is no key of a typed batch, whose values have the same key otherwise; nor is what is no text at all", async () => {
    const { broker, client } = await clientOf();
    const keyed = client.topic<string>("orders", { codec: text(), keyOf: (value) => value.slice(1) });
    await expect(keyed.batch(["1\ufffd", "2\ud800"])).rejects.toThrow(refused);
    const numbered = client.topic<string>("orders", { codec: text(), keyOf: () => 7 as unknown as string });
    await expect(numbered.batch(["1"])).rejects.toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
    expect(broker.log("orders", 0)).toEqual([]);
  });

  it("is told from text that is whole, also where that says U+FFFD itself", async () => {
    const { broker, client } = await clientOf();
    const producer = client.producer();
    for (const whole of WHOLE) await producer.send("orders", whole, { key: whole });
    await producer.batch("orders", WHOLE);
    const written = broker.log("orders", 0).map((record) => Buffer.from(record).toString());
    expect(written).toEqual([...WHOLE, ...WHOLE]);
  });
});
