// What a program sees of a producer when nothing goes wrong, on a played broker.

import { getEventListeners } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { partitionOfKey } from "../../../src/client/partitioner.js";
import { Producer } from "../../../src/client/producer/producer.js";
import type { ProducerOptions, SentRecord } from "../../../src/client/producer/producer-options.js";
import { ErrorCodes } from "../../../src/model/error-codes.js";
import { RequestKind } from "../../../src/protocol/api-keys.js";
import { hex } from "../../support/bytes.js";
import { FakeBroker, type FakeOptions, type FakeRequest } from "../../support/fake-broker.js";
import { ManualTime } from "../../support/manual-time.js";
import { until } from "../../support/waiting.js";
import { backendOf, codeOf, isProduce, texts } from "./backends.js";

async function started(options: ProducerOptions = {}, fake: FakeOptions = {}) {
  const broker = await FakeBroker.start(fake);
  const producer = new Producer(backendOf(broker), options);
  onTestFinished(() => producer.destroy());
  return { broker, producer };
}

const produces = (broker: FakeBroker) => broker.requests.filter(isProduce);

describe("a producer", () => {
  it("sends text and bytes, and says where each record is", async () => {
    const { broker, producer } = await started();
    const sent = await Promise.all([
      producer.send("orders", "apples"),
      producer.send("orders", Buffer.from("pears")),
      producer.topic("orders").send("größer 😀"),
    ]);
    expect(sent).toEqual([0, 1, 2].map((offset) => ({ topic: "orders", partition: 0, offset })));
    expect(texts(broker)).toEqual(["apples", "pears", "größer 😀"]);
    expect(produces(broker)).toHaveLength(1);
  });

  it("sends text of every length and width as UTF-8", async () => {
    const { broker, producer } = await started();
    const all = [1, 31, 32, 33, 200, 30_000, 70_000].flatMap((n) =>
      ["a", "é", "€", "😀", "\ufffd"].map((c) => c.repeat(n)),
    );
    await Promise.all(all.map((text) => producer.send("orders", text)));
    // Not toEqual: what differs would be printed.
    expect(texts(broker).every((text, i) => text === Buffer.from(all[i]).toString())).toBe(true);
    expect(broker.log("orders", 0)).toHaveLength(all.length);
  });

  it("takes a payload as it was when the call was made", async () => {
    const { broker, producer } = await started();
    const bytes = Buffer.from("before");
    const first = producer.send("orders", bytes);
    bytes.fill("x");
    await first;
    const second = producer.send("orders", bytes);
    bytes.fill("y");
    await second;
    expect(texts(broker)).toEqual(["before", "xxxxxx"]);
  });

  it("P05 chooses the partition by the vectors, and the key is not sent", async () => {
    const rows = readFileSync(new URL("../../vectors/partitioner-fnv1a.tsv", import.meta.url), "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("keyHex"))
      .map((line) => line.split("\t"));
    const { broker, producer } = await started({ lingerMs: 0 }, { topics: { t3: 3, t64: 64 } });
    for (const [keyHex, , , , p3, , , p64] of rows) {
      const bytes = hex(keyHex);
      const text = Buffer.from(bytes).toString();
      const keys = Buffer.from(text).equals(bytes) ? [bytes, text] : [bytes];
      for (const key of keys) {
        expect((await producer.send("t3", "p", { key })).partition, keyHex).toBe(Number(p3));
        expect((await producer.send("t64", "p", { key })).partition, keyHex).toBe(Number(p64));
      }
    }
    expect(rows.length).toBeGreaterThan(10);
    // Header, topic, partition, ack, count, size and one byte: there is no room for a key.
    for (const { frame } of produces(broker)) expect(frame.length).toBeLessThanOrEqual(8 + 2 + 3 + 4 + 1 + 4 + 4 + 1);
  });

  it("P05 sends records without a key in turn to the partitions, a batch at a time", async () => {
    const { producer } = await started({ lingerMs: 0 }, { topics: { orders: 3 } });
    const partitions: number[] = [];
    for (let i = 0; i < 7; i++) partitions.push((await producer.send("orders", "r")).partition);
    expect(partitions).toEqual([0, 1, 2, 0, 1, 2, 0]);
    const batches = [];
    for (let i = 0; i < 4; i++) batches.push((await producer.batch("orders", ["r", "s"])).partition);
    expect(batches).toEqual([1, 2, 0, 1]);
    const together = await Promise.all([1, 2, 3].map(() => producer.send("orders", "r")));
    expect(together.map(({ partition }) => partition)).toEqual([2, 2, 2]);
  });

  it("P05 a batch that is full ends its partition's turn", async () => {
    const { producer } = await started({ lingerMs: 0, batchBytes: 100 }, { topics: { orders: 3 } });
    await producer.send("orders", "warm", { partition: 2 });
    const sent = await Promise.all(Array.from({ length: 7 }, () => producer.send("orders", "x".repeat(60))));
    expect(sent.map(({ partition }) => partition)).toEqual([0, 1, 2, 0, 1, 2, 0]);
  });

  it("P06 counts the linger from the first record of a batch", async () => {
    const time = new ManualTime();
    const { broker, producer } = await started({ lingerMs: 100, time });
    const first = producer.send("orders", "a");
    await until("the topic is known", () => time.armed > 1);
    time.advance(60);
    void producer.send("orders", "b");
    time.advance(39);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(produces(broker)).toEqual([]);
    time.advance(1);
    await first;
    expect(texts(broker)).toEqual(["a", "b"]);
  });

  it("P06 close sends what waits, settles every send, and takes no more", async () => {
    const { broker, producer } = await started({ lingerMs: 3_600_000 });
    const sends = ["a", "b", "c"].map((text) => producer.send("orders", text));
    await producer.close();
    expect((await Promise.all(sends)).map(({ offset }) => offset)).toEqual([0, 1, 2]);
    expect(texts(broker)).toEqual(["a", "b", "c"]);
    expect(await codeOf(producer.send("orders", "d"))).toBe("CLOSED");
    expect(await codeOf(producer.batch("orders", ["d"]))).toBe("CLOSED");
    await until("the connection is closed", () => broker.sockets.size === 0);
  });

  it("flush sends what waits and resolves when it is acknowledged", async () => {
    const { broker, producer } = await started({ lingerMs: 3_600_000 });
    void producer.send("orders", "a");
    await producer.flush();
    expect(texts(broker)).toEqual(["a"]);
    void producer.send("orders", "b");
    await producer.flush();
    expect(texts(broker)).toEqual(["a", "b"]);
    await producer.flush();
  });

  it("is closed by `await using`", async () => {
    const { broker, producer } = await started({ lingerMs: 3_600_000 });
    void producer.send("orders", "a");
    await producer[Symbol.asyncDispose]();
    expect(texts(broker)).toEqual(["a"]);
  });

  it("P07 batch is one request with adjacent offsets, behind what was sent before", async () => {
    const { broker, producer } = await started({ lingerMs: 3_600_000 });
    const before = producer.send("orders", "before");
    const batch = await producer.batch("orders", ["a", Buffer.from("b"), "c"]);
    expect(batch).toEqual({ topic: "orders", partition: 0, baseOffset: 1, nextOffset: 4 });
    expect((await before).offset).toBe(0);
    expect(texts(broker)).toEqual(["before", "a", "b", "c"]);
    expect(produces(broker)).toHaveLength(2);
  });

  it("closes a batch by its bytes and by its records", async () => {
    const { broker, producer } = await started({ lingerMs: 3_600_000, batchBytes: 100, batchRecords: 4 });
    await Promise.all(Array.from({ length: 8 }, () => producer.send("orders", "x")));
    expect(produces(broker)).toHaveLength(2);
    const large = [1, 2, 3].map(() => producer.send("orders", "y".repeat(60)));
    await Promise.all(large.slice(0, 2));
    expect(produces(broker)).toHaveLength(4);
    await producer.flush();
    await large[2];
  });

  it("appends where the log must end, and hears when it does not", async () => {
    const { broker, producer } = await started();
    const first = await producer.append("orders", ["a", "b"], { partition: 0, expectedOffset: 0 });
    expect(first).toMatchObject({ baseOffset: 0, nextOffset: 2 });
    expect(await codeOf(producer.append("orders", ["c"], { partition: 0, expectedOffset: 1 }))).toBe("OFFSET_MISMATCH");
    await producer.topic("orders").append(["c"], { partition: 0, expectedOffset: first.nextOffset });
    expect(texts(broker)).toEqual(["a", "b", "c"]);
  });

  it("sends without acknowledgement, and says no offset", async () => {
    const { broker, producer } = await started({ ack: "none" });
    const sent = await Promise.all(Array.from({ length: 100 }, (_, i) => producer.send("orders", `r${i}`)));
    expect(sent[99]).toEqual({ topic: "orders", partition: 0, offset: -1 });
    expect(await producer.batch("orders", ["a"])).toMatchObject({ baseOffset: -1, nextOffset: -1 });
    expect(await codeOf(producer.append("orders", ["a"], { partition: 0, expectedOffset: 0 }))).toBe("BAD_ARGUMENT");
    await producer.close();
    await until("all is there", () => broker.log("orders", 0).length === 101);
  });

  it("refuses at once what does not fit the broker's frames, and takes what just fits", async () => {
    const { broker, producer } = await started({ lingerMs: 0 }, { maxFrameBytes: 1000 });
    const beside = 8 + 2 + "orders".length + 4 + 1 + 4 + 4;
    await producer.send("orders", "x".repeat(1000 - beside));
    expect(await codeOf(producer.send("orders", "x".repeat(1000 - beside + 1)))).toBe("RECORD_TOO_LARGE");
    expect(await codeOf(producer.batch("orders", ["x".repeat(500), "y".repeat(500)]))).toBe("RECORD_TOO_LARGE");
    await Promise.all(Array.from({ length: 100 }, () => producer.send("orders", "z".repeat(90))));
    expect(broker.log("orders", 0)).toHaveLength(101);
    expect(Math.max(...broker.requests.map(({ frame }) => frame.length))).toBe(1000);
  });

  it("says where the log ends to whoever expected another end, also while it closes, and as well as it can without an answer", async () => {
    const { broker, producer } = await started({ lingerMs: 0 });
    await producer.batch("orders", ["a", "b"], { partition: 0 });
    const misplaced = () =>
      producer.append("orders", ["c"], { partition: 0, expectedOffset: 1 }).catch((error: unknown) => error);
    broker.refuse = ({ kind }) => (kind === RequestKind.METADATA_V2 ? ErrorCodes.OVERLOADED : undefined);
    expect(await misplaced()).toMatchObject({
      logEndOffset: undefined,
      message: "orders-0 does not end at the expected offset 1; nothing was written",
    });
    broker.refuse = () => undefined;
    const last = misplaced();
    let settled = false;
    void last.then(() => {
      settled = true;
    });
    await producer.close();
    expect(settled).toBe(true);
    expect(await last).toMatchObject({ expectedOffset: 1, logEndOffset: 2 });
  });

  it("asks an iterable of a batch that has no end for no more than a request can hold, and ends it", async () => {
    const { broker, producer } = await started({ lingerMs: 0 }, { maxFrameBytes: 1000 });
    await producer.send("orders", "a");
    let [given, ended] = [0, false];
    function* endless(): Generator<string, void> {
      try {
        for (;;) yield `record ${given++}`;
      } finally {
        ended = true;
      }
    }
    for (const call of [
      () => producer.batch("orders", endless()),
      () => producer.append("orders", endless(), { partition: 0, expectedOffset: 1 }),
    ]) {
      [given, ended] = [0, false];
      expect(await codeOf(call())).toBe("RECORD_TOO_LARGE");
      expect(given).toBeLessThan(100);
      expect(ended).toBe(true);
    }
    expect(texts(broker)).toEqual(["a"]);
    expect(await codeOf(producer.batch(undefined as never, endless()))).toBe("BAD_ARGUMENT");
  });

  it("leaves out what was given up before it left, and the others keep their places", async () => {
    const { broker, producer } = await started({ lingerMs: 3_600_000 });
    await producer.batch("orders", ["first"]);
    const aborts = [1, 2, 3, 4, 5].map(() => new AbortController());
    const sends = aborts.map(({ signal }, i) => producer.send("orders", `record ${i}`, { signal }));
    aborts[1].abort(new Error("given up"));
    aborts[3].abort(new Error("given up"));
    await expect(sends[1]).rejects.toThrow("given up");
    await expect(sends[3]).rejects.toThrow("given up");
    await expect(producer.send("orders", "x", { signal: aborts[1].signal })).rejects.toThrow("given up");
    await producer.flush();
    const offsets = (await Promise.all([sends[0], sends[2], sends[4]])).map(({ offset }) => offset);
    expect(offsets.map((at) => texts(broker)[at])).toEqual(["record 0", "record 2", "record 4"]);
    expect(texts(broker).filter((text) => text === "record 3")).toEqual([]);
    await producer.close();
  });

  it("tells the others their places also where batches that waited were put together", async () => {
    const { broker, producer } = await started({ requestsInFlight: 1 });
    await producer.send("orders", "warm");
    const held: FakeRequest[] = [];
    broker.intercept = (request) => isProduce(request) && held.length === 0 && held.push(request) > 0;
    const first = producer.send("orders", "in flight");
    await until("it is in flight", () => held.length === 1);
    const abort = new AbortController();
    const sends: Promise<SentRecord>[] = [];
    for (const turn of [0, 1, 2]) {
      sends.push(producer.send("orders", `kept ${turn}`));
      producer.send("orders", `given up ${turn}`, { signal: abort.signal }).catch(() => undefined);
      sends.push(producer.send("orders", `also kept ${turn}`));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    abort.abort();
    for (const { socket, answer } of held) if (answer !== undefined) socket.write(answer);
    const places = (await Promise.all([first, ...sends])).map(({ offset }) => texts(broker)[offset]);
    const kept = [0, 1, 2].flatMap((turn) => [`kept ${turn}`, `also kept ${turn}`]);
    expect(places).toEqual(["in flight", ...kept]);
    expect(texts(broker)).toEqual(["warm", "in flight", ...kept]);
    expect(produces(broker)).toHaveLength(3);
  });

  it("leaves out what was given up before its topic was known, and lets go of the signals", async () => {
    const { broker, producer } = await started();
    const abort = new AbortController();
    const { signal: given } = abort;
    const sends = ["a", "b"].map((text): Promise<unknown> => producer.send("orders", text, { signal: given }));
    sends.push(producer.batch("orders", ["whole"], { signal: given }));
    const kept = producer.send("orders", "c", { signal: new AbortController().signal });
    abort.abort();
    expect((await Promise.allSettled(sends)).map(({ status }) => status)).toEqual(Array(3).fill("rejected"));
    await kept;
    expect(texts(broker)).toEqual(["c"]);
    const { signal } = new AbortController();
    await producer.send("orders", "d", { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await producer.close();
  });

  it("lets a record and its key be changed as soon as it was told, also before the topic is known", async () => {
    const { producer, broker } = await started({}, { topics: { orders: 8 } });
    const [record, key] = [Buffer.from("a"), Buffer.from("a")];
    const sent: Promise<{ readonly partition: number }>[] = [
      producer.send("orders", record, { key }),
      producer.batch("orders", [record], { key }),
    ];
    for (const changed of [record, key]) changed.write("b");
    const [partition, other] = [partitionOfKey("a", 8), partitionOfKey("b", 8)];
    expect(partition).not.toBe(other);
    expect((await Promise.all(sent)).map((each) => each.partition)).toEqual([partition, partition]);
    expect(texts(broker, partition)).toEqual(["a", "a"]);
  });

  it("says what is wrong with an argument, and sends nothing", async () => {
    const { broker, producer } = await started();
    const wrong: unknown[][] = [
      ["orders", ""],
      ["orders", new Uint8Array(0)],
      ["orders", 7],
      ["or ders", "x"],
      ["orders", "x", { kee: "k" }],
      ["orders", "x", { key: 7 }],
      ["orders", "x", { partition: -1 }],
      ["orders", "x", { partition: 0, key: "k" }],
      ["orders", "x", { signal: 7 }],
    ];
    for (const args of wrong) {
      const call = (producer.send as (...args: unknown[]) => Promise<unknown>).apply(producer, args);
      expect(await codeOf(call), JSON.stringify(args)).toBe("BAD_ARGUMENT");
    }
    expect(await codeOf(producer.batch("orders", []))).toBe("BAD_ARGUMENT");
    expect(await codeOf(producer.batch("orders", "text" as never))).toBe("BAD_ARGUMENT");
    expect(() => producer.topic("no topic")).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
    for (const options of [{ lingerMs: -1 }, { batchBytes: 0 }, { ack: "all" }, { exclusive: 1 }, { retries: 3 }]) {
      const made = () => new Producer(backendOf(broker), options as ProducerOptions);
      expect(made).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
    }
    expect(produces(broker)).toEqual([]);
  });

  it("rejects what goes to a topic or a partition that is not there", async () => {
    const { broker, producer } = await started();
    expect(await codeOf(producer.send("plums", "x"))).toBe("UNKNOWN_TOPIC_OR_PARTITION");
    expect(await codeOf(producer.send("orders", "x", { partition: 1 }))).toBe("UNKNOWN_TOPIC_OR_PARTITION");
    expect(await codeOf(producer.send("plums", "x"))).toBe("UNKNOWN_TOPIC_OR_PARTITION");
    expect(broker.count(RequestKind.METADATA_V2)).toBe(3);
    await producer.close();
  });
});
