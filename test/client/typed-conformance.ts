// What holds of the typed topics of a client whatever it leads to: the same tests on a broker and on logs in the process.

import { describe, expect, it } from "vitest";
import { memoryCheckpoints } from "../../src/client/checkpoint/memory.js";
import { envelope } from "../../src/client/codec/envelope.js";
import { PayloadError } from "../../src/client/codec/payload-error.js";
import { json, text } from "../../src/client/codec/plain-codecs.js";
import { partitionOfKey } from "../../src/client/partitioner.js";
import { clientOn } from "./client-conformance.js";
import type { GroundOptions, MakeGround } from "./conformance.js";

const code = (expected: string) => expect.objectContaining({ code: expected });
const textOf = (payload: Uint8Array): string => Buffer.from(payload).toString().trimEnd();

interface Order {
  readonly id: string;
  readonly apples: number;
}

export function typedConformance(name: string, make: MakeGround): void {
  const clientOf = (options?: GroundOptions) => clientOn(make, options);

  describe(`typed topics of a client of ${name}`, () => {
    it("send values and give them back, with the partition by their key", async () => {
      const client = await clientOf();
      const orders = client.topic("orders", { codec: json<Order>(), keyOf: ({ id }) => id });
      const sent = await orders.send({ id: "a1", apples: 3 });
      expect(sent).toEqual({ topic: "orders", partition: partitionOfKey("a1", 3), offset: 0 });
      expect((await orders.send({ id: "a1", apples: 4 }, { key: "fruit" })).partition).toBe(partitionOfKey("fruit", 3));
      const apples: number[] = [];
      for await (const { value, topic, key, headers, timestampMs, payload } of orders.replay().records()) {
        apples.push(value.apples);
        expect([topic, key, headers.size, timestampMs]).toEqual(["orders", undefined, 0, undefined]);
        expect(JSON.parse(textOf(payload))).toEqual(value);
      }
      expect(apples.sort()).toEqual([3, 4]);
    });

    it("with an envelope the key is in the payload and chooses the partition; headers and time come back", async () => {
      const client = await clientOf();
      const orders = client.topic("orders", { codec: envelope(json<Order>()) });
      const before = Date.now();
      const sent = await orders.send({ id: "a1", apples: 3 }, { key: "größe", headers: { trace: "47" } });
      expect(sent.partition).toBe(partitionOfKey("größe", 3));
      await orders.send({ id: "a2", apples: 1 }, { partition: sent.partition, timestampMs: 5 });
      const read = [];
      for await (const batch of orders.replay()) for (const record of batch) read.push(record);
      expect(read.map(({ value }) => value.id)).toEqual(["a1", "a2"]);
      expect(read.map(({ keyText }) => keyText)).toEqual(["größe", undefined]);
      expect(read[0]?.headers).toEqual(new Map([["trace", "47"]]));
      expect(read[0]?.timestampMs).toBeGreaterThanOrEqual(before);
      expect(read[1]?.timestampMs).toBe(5);
      // What was read can be sent on as it is.
      await orders.send({ id: "a3", apples: 0 }, { key: read[0]?.key, headers: read[0]?.headers });
    });

    it("a batch goes to one partition, an append where the log must end; several keys need a word on which", async () => {
      const client = await clientOf();
      const orders = client.topic("orders", { codec: envelope(json<Order>()), keyOf: ({ id }) => id });
      const [one, other] = [
        { id: "a", apples: 1 },
        { id: "b", apples: 2 },
      ];
      const sent = await orders.batch([one, one]);
      expect(sent).toMatchObject({ partition: partitionOfKey("a", 3), baseOffset: 0, nextOffset: 2 });
      await expect(orders.batch([one, other])).rejects.toThrow(code("BAD_ARGUMENT"));
      await orders.batch([one, other], { partition: 2 });
      const end = (await client.topics(["orders"]))[0]?.partitions[2]?.logEndOffset ?? 0;
      await orders.append([one, other], { partition: 2, expectedOffset: end });
      await expect(orders.append([one], { partition: 2, expectedOffset: 0 })).rejects.toThrow(code("OFFSET_MISMATCH"));
      const keys: unknown[] = [];
      for await (const { keyText } of orders.replay({ partitions: [2] }).records()) keys.push(keyText);
      // Each has its own key, also where the partition was said.
      expect(keys.slice(-4)).toEqual(["a", "b", "a", "b"]);
    });

    it("a partition that is given beats the one of the key, for a value as for a batch; the key stays in the envelope", async () => {
      const client = await clientOf();
      const keyOf = ({ id }: Order): string => id;
      const [one, other] = [partitionOfKey("a", 3), (partitionOfKey("a", 3) + 1) % 3];
      const wrapped = client.topic("orders", { codec: envelope(json<Order>()), keyOf });
      const plain = client.topic("orders", { codec: json<Order>(), keyOf });
      const value = { id: "a", apples: 1 };
      expect((await wrapped.send(value)).partition).toBe(one);
      expect((await wrapped.send(value, { partition: other })).partition).toBe(other);
      expect((await wrapped.send(value, { partition: other, key: "named" })).partition).toBe(other);
      expect((await wrapped.batch([value], { partition: other, key: "named" })).partition).toBe(other);
      const keys: unknown[] = [];
      for await (const { keyText } of wrapped.replay({ partitions: [other] }).records()) keys.push(keyText);
      expect(keys).toEqual(["a", "named", "named"]);
      expect((await plain.send(value, { partition: other })).partition).toBe(other);
      expect((await plain.batch([value], { partition: other })).partition).toBe(other);
    });

    it("ask what gives the values of a batch one by one for no more than is needed, and end it", async () => {
      const client = await clientOf();
      const orders = client.topic("orders", { codec: json<Order>(), keyOf: ({ id }) => id });
      let [given, ended] = [0, 0];
      function* endless(id: (n: number) => string): Generator<Order, void> {
        try {
          for (;;) yield { id: id(given), apples: given++ };
        } finally {
          ended++;
        }
      }
      await expect(orders.batch(endless((n) => (n < 5 ? "a" : "b")))).rejects.toThrow(code("BAD_ARGUMENT"));
      expect([given, ended]).toEqual([6, 1]);
      const unknown = endless(() => "a");
      await expect(orders.batch(unknown, { partition: -1 })).rejects.toThrow(code("BAD_ARGUMENT"));
      expect([given, ended]).toEqual([7, 2]);
      const words = client.topic("orders", { codec: text() });
      await expect(words.batch("abc" as never)).rejects.toThrow(code("BAD_ARGUMENT"));
      await expect(words.batch([])).rejects.toThrow(code("BAD_ARGUMENT"));
      await expect(words.append("abc" as never, { partition: 0, expectedOffset: 0 })).rejects.toThrow(
        code("BAD_ARGUMENT"),
      );
    });

    it("a record that is none is an error that names its place where its value is asked for, and nowhere before", async () => {
      const client = await clientOf();
      const producer = client.producer();
      await producer.batch("orders", ['{"id":"a","apples":1}', "nonsense", '{"id":"b","apples":2}'], { partition: 1 });
      const orders = client.topic("orders", { codec: json<Order>() });
      const read: unknown[] = [];
      for await (const record of orders.replay().records()) {
        try {
          read.push(record.value.id);
        } catch (error) {
          read.push(error);
        }
      }
      expect([read[0], read[2]]).toEqual(["a", "b"]);
      expect(read[1]).toBeInstanceOf(PayloadError);
      expect(read[1]).toMatchObject({ code: "BAD_PAYLOAD", topic: "orders", partition: 1, offset: 1 });
      expect((read[1] as PayloadError).message).toMatch(
        /^the record at offset 1 of orders-1 cannot be decoded: it is no JSON/,
      );
      expect(textOf((read[1] as PayloadError).payload)).toBe("nonsense");
    });

    it("onBad is told of such a record, which is left out; what it throws ends the reading", async () => {
      const client = await clientOf();
      await client.producer().batch("orders", ["nonsense", '{"id":"b","apples":2}', "more"], { partition: 1 });
      const bad: string[] = [];
      const codec = json<Order>();
      const orders = client.topic("orders", {
        codec,
        onBad: (error, { payload }) => bad.push(`${error.offset} ${textOf(payload)}`),
      });
      const ids: string[] = [];
      for await (const { value, offset: at } of orders.replay().records()) ids.push(`${at} ${value.id}`);
      for await (const batch of orders.replay()) for (const { value } of batch) ids.push(value.id);
      expect(ids).toEqual(["1 b", "b"]);
      expect(bad).toEqual(["0 nonsense", "2 more", "0 nonsense", "2 more"]);
      const strict = client.topic("orders", {
        codec,
        onBad: (error) => {
          throw error;
        },
      });
      await expect(strict.replay().records().next()).rejects.toBeInstanceOf(PayloadError);
    });

    it("P04 keep their place in a checkpoint, by batch and by run()", async () => {
      const client = await clientOf();
      const words = client.topic("orders", { codec: text() });
      await words.batch(["a", "b"], { partition: 0 });
      const store = memoryCheckpoints();
      const read: string[] = [];
      for await (const { value } of words.replay().checkpointing(store).records()) read.push(value);
      await words.batch(["c", "d"], { partition: 0 });
      await words
        .follow()
        .checkpointing(store)
        .run((batch) => {
          for (const { value } of batch) read.push(value);
          return false;
        });
      await words.send("e", { partition: 0 });
      for await (const batch of words.follow().checkpointing(store)) {
        for (const { value } of batch) read.push(value);
        break;
      }
      const again = words.follow().checkpointing(store);
      for await (const batch of again) {
        for (const { value } of batch) read.push(value);
        await again.save(batch);
        break;
      }
      // The batch that was left by break was given again.
      expect(read).toEqual(["a", "b", "c", "d", "e", "e"]);
      expect((await store.load()).find(({ partition }) => partition === 0)?.offset).toBe(5);
    });

    it("refuse what the codec has no place for, what it makes nothing of, and what is no codec", async () => {
      const client = await clientOf();
      const words = client.topic("orders", { codec: text() });
      for (const call of [
        () => words.send("a", { headers: { a: "b" } } as object),
        () => words.send("a", { timestampMs: 5 } as object),
        () => words.send("a", { key: "k", partition: 0 } as object),
        () => words.batch(["a"], { key: "k", partition: 0 } as object),
        () => words.append(["a"], { partition: 0, expectedOffset: 0, key: "k" } as never),
        () => words.send(""),
        () => words.send("\ud800"),
        () => words.send(7 as unknown as string),
        () => words.send("a", { kye: "x" } as object),
        () => words.append(["a"], { partition: 0, expectedOffset: -1 }),
      ]) {
        await expect(call()).rejects.toThrow(code("BAD_ARGUMENT"));
      }
      for (const options of [
        {},
        { codec: {} },
        { codec: text(), keyOf: "id" },
        { codec: text(), onBad: "skip" },
        { codec: text(), cdoec: 1 },
      ]) {
        expect(() => client.topic("orders", options as never)).toThrow(code("BAD_ARGUMENT"));
      }
      expect(() => client.topic("no/topic", { codec: text() })).toThrow(code("BAD_ARGUMENT"));
      // An empty text has a place inside an envelope.
      const wrapped = client.topic("orders", { codec: envelope(text()) });
      await wrapped.send("");
      expect((await wrapped.replay().records().next()).value?.value).toBe("");
    });
  });
}
