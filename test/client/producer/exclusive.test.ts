// A producer that is the only writer: what was in flight at a cut is found out and repeated, so that every record is there once.

import { describe, expect, it, onTestFinished } from "vitest";
import { Producer } from "../../../src/client/producer/producer.js";
import type { ProducerOptions } from "../../../src/client/producer/producer-options.js";
import { ErrorCodes } from "../../../src/model/error-codes.js";
import { offset, partitionId } from "../../../src/model/ids.js";
import { ApiKey, OLDEST_VERSIONS, RequestKind, SUPPORTED_VERSIONS } from "../../../src/protocol/api-keys.js";
import { encodeMetadataResponse } from "../../../src/protocol/metadata.js";
import { decodeProduceV2, ProduceHeader } from "../../../src/protocol/produce.js";
import { FakeBroker, type FakeOptions, type FakeRequest } from "../../support/fake-broker.js";
import { until } from "../../support/waiting.js";
import { backendOf, codeOf, isProduce, refuse, texts } from "./backends.js";

async function started(options: ProducerOptions = {}, fake: FakeOptions = {}) {
  const broker = await FakeBroker.start(fake);
  const producer = new Producer(backendOf(broker), { lingerMs: 0, ...options, exclusive: true } as ProducerOptions);
  onTestFinished(() => producer.destroy());
  return { broker, producer };
}

const batches = (producer: Producer, count: number) =>
  Array.from({ length: count }, (_, i) => producer.batch("orders", [`${i}a`, `${i}b`], { partition: 0 }));

const written = (count: number) => Array.from({ length: count }, (_, i) => [`${i}a`, `${i}b`]).flat();

const bases = async (sent: readonly Promise<{ readonly baseOffset: number }>[]) =>
  (await Promise.all(sent)).map(({ baseOffset }) => baseOffset);

/** Everything, but of some requests no more than this version. */
const versions = (most: Readonly<Record<number, number>>) =>
  SUPPORTED_VERSIONS.map((range) => ({ ...range, maxVersion: Math.min(range.maxVersion, most[range.apiKey] ?? 99) }));

/** The offset that a request expects. */
function expectedOf({ frame }: FakeRequest): number {
  const header = new ProduceHeader();
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  expect(decodeProduceV2(view, 8, view.byteLength, header)).toBe(ErrorCodes.NONE);
  return header.expectedOffset;
}

/** Lets the connection die at the produce request of this turn, counted from 0, after it was carried out or before. */
function cutAt(broker: FakeBroker, turn: number, isCarriedOut: boolean): void {
  let at = 0;
  let isCut = false;
  const isNow = (request: { readonly kind: number }) => isProduce(request) && at === turn && !isCut;
  broker.refuse = (request) => (isNow(request) && !isCarriedOut ? ErrorCodes.OVERLOADED : undefined);
  broker.intercept = (request) => {
    if (!isProduce(request)) return false;
    const isIt = isNow(request);
    at++;
    if (!isIt) return isCut ? false : at > turn && !isCarriedOut;
    isCut = true;
    request.socket.resetAndDestroy();
    return true;
  };
}

describe("a producer that is the only writer", () => {
  it("P11 names with each request the offset that it must get", async () => {
    const { broker, producer } = await started({ requestsInFlight: 4 });
    expect(await bases(batches(producer, 6))).toEqual([0, 2, 4, 6, 8, 10]);
    expect(texts(broker)).toEqual(written(6));
    const produces = broker.requests.filter(isProduce);
    expect(produces.map(({ kind }) => kind)).toEqual(Array(6).fill(RequestKind.PRODUCE_V2));
    expect(produces.map(expectedOf)).toEqual([0, 2, 4, 6, 8, 10]);
    const { offset: at } = await producer.send("orders", "single");
    expect(at).toBe(12);
  });

  it("begins where the log ends", async () => {
    const { broker, producer } = await started();
    broker.log("orders", 0).push(Buffer.from("old"));
    expect((await producer.send("orders", "new")).offset).toBe(1);
  });

  it.each([0, 1, 3, 5])(
    "P11 repeats a batch whose answer was lost, and it is there once (request %i)",
    async (turn) => {
      const { broker, producer } = await started({ requestsInFlight: 4 });
      cutAt(broker, turn, true);
      expect(await bases(batches(producer, 8))).toEqual([0, 2, 4, 6, 8, 10, 12, 14]);
      expect(texts(broker)).toEqual(written(8));
      expect(broker.connections).toBe(2);
    },
  );

  it.each([0, 1, 3, 5])("P11 repeats a batch that never arrived, and it is there once (request %i)", async (turn) => {
    const { broker, producer } = await started({ requestsInFlight: 4 });
    cutAt(broker, turn, false);
    expect(await bases(batches(producer, 8))).toEqual([0, 2, 4, 6, 8, 10, 12, 14]);
    expect(texts(broker)).toEqual(written(8));
    expect(broker.connections).toBe(2);
  });

  it("P11 takes no harm when a first copy arrives after the second", async () => {
    const { broker, producer } = await started({ requestsInFlight: 4 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    const late: FakeRequest[] = [];
    let isCut = false;
    let fourth = 0;
    broker.refuse = (request) => (isProduce(request) && (!isCut || fourth++ === 0) ? ErrorCodes.OVERLOADED : undefined);
    broker.intercept = (request) => {
      if (!isProduce(request)) return false;
      if (!isCut) late.push(request);
      if (!isCut && late.length === 3) {
        isCut = true;
        request.socket.resetAndDestroy();
      } else if (isCut && !request.socket.destroyed) {
        // The second copy of the first one has been written: now, as if the broker came to them only then, the first copies.
        for (const { frame } of late.splice(0)) broker.carryOut(frame);
      }
      return !isCut || request.socket.destroyed;
    };
    expect(await bases(batches(producer, 5))).toEqual([1, 3, 5, 7, 9]);
    expect(texts(broker)).toEqual(["warm", ...written(5)]);
    expect(late).toEqual([]);
  });

  it("lets nothing pass a refused batch, and sends what missed its offset because of it again", async () => {
    const { broker, producer } = await started({ requestsInFlight: 5 });
    let turn = 0;
    broker.refuse = (request) => (isProduce(request) && [1, 4, 6].includes(turn++) ? ErrorCodes.OVERLOADED : undefined);
    expect(await bases(batches(producer, 8))).toEqual([0, 2, 4, 6, 8, 10, 12, 14]);
    expect(texts(broker)).toEqual(written(8));
  });

  it("goes on behind a batch that was refused for good", async () => {
    const { broker, producer } = await started({ requestsInFlight: 5 });
    let turn = 0;
    broker.refuse = (request) => (isProduce(request) && turn++ === 1 ? ErrorCodes.RECORD_TOO_LARGE : undefined);
    const codes = await Promise.all(batches(producer, 4).map(codeOf));
    expect(codes).toEqual(["sent", "RECORD_TOO_LARGE", "sent", "sent"]);
    expect(texts(broker)).toEqual(["0a", "0b", "2a", "2b", "3a", "3b"]);
  });

  it("says so when somebody else wrote, and writes nothing there any more", async () => {
    const { broker, producer } = await started({}, { topics: { orders: 2 } });
    await producer.send("orders", "mine", { partition: 0 });
    broker.log("orders", 0).push(Buffer.from("theirs"));
    const sent = [producer.batch("orders", ["a"], { partition: 0 }), producer.batch("orders", ["b"], { partition: 0 })];
    const [error] = await Promise.all(sent.map((each) => each.catch((caught: unknown) => caught)));
    expect(error).toMatchObject({ code: "OFFSET_MISMATCH" });
    expect(String(error)).toContain("not the only writer of orders-0");
    // The second was on its way, and their record stands where the first one should: so it fitted, and its caller is told so.
    expect(await codeOf(sent[1])).toBe("sent");
    expect(await codeOf(producer.send("orders", "later", { partition: 0 }))).toBe("OFFSET_MISMATCH");
    expect(texts(broker)).toEqual(["mine", "theirs", "b"]);
    expect(await codeOf(producer.send("orders", "elsewhere", { partition: 1 }))).toBe("sent");
  });

  it.each([1, 5])("says so when somebody else wrote %i records where a lost batch should be", async (theirs) => {
    const { broker, producer } = await started();
    await producer.batch("orders", ["warm"], { partition: 0 });
    let isCut = false;
    broker.refuse = (request) => (isProduce(request) && !isCut ? ErrorCodes.OVERLOADED : undefined);
    broker.intercept = (request) => {
      if (!isProduce(request) || isCut) return false;
      isCut = true;
      for (let i = 0; i < theirs; i++) broker.log("orders", 0).push(Buffer.from("theirs"));
      request.socket.resetAndDestroy();
      return true;
    };
    const error = await producer.batch("orders", ["mine"], { partition: 0 }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "OFFSET_MISMATCH" });
    expect(String(error)).toContain("at offset 1 stands another record");
    expect(await codeOf(producer.send("orders", "later"))).toBe("OFFSET_MISMATCH");
    expect(texts(broker)).toEqual(["warm", ...Array(theirs).fill("theirs")]);
  });

  it("finds what was lost, and says so when somebody else wrote behind it", async () => {
    const { broker, producer } = await started();
    await producer.batch("orders", ["warm"], { partition: 0 });
    let isCut = false;
    broker.intercept = (request) => {
      if (!isProduce(request) || isCut) return false;
      isCut = true;
      broker.log("orders", 0).push(Buffer.from("theirs"));
      request.socket.resetAndDestroy();
      return true;
    };
    const sent = producer.batch("orders", ["mine"], { partition: 0 });
    expect((await sent).baseOffset).toBe(1);
    expect(await codeOf(producer.send("orders", "later"))).toBe("OFFSET_MISMATCH");
    expect(texts(broker)).toEqual(["warm", "mine", "theirs"]);
  });

  it("says so when the log ends below what was acknowledged", async () => {
    const { broker, producer } = await started({ ack: "written" });
    await producer.batch("orders", ["a", "b"], { partition: 0 });
    broker.partition("orders", 0).cutTo(1);
    expect(await codeOf(producer.send("orders", "c"))).toBe("OFFSET_MISMATCH");
    expect(texts(broker)).toEqual(["a"]);
  });

  it("writes the rest of a batch that a crash tore", async () => {
    const { broker, producer } = await started();
    await producer.batch("orders", ["warm"], { partition: 0 });
    let isTorn = false;
    broker.intercept = (request) => {
      if (!isProduce(request) || isTorn) return false;
      isTorn = true;
      broker.partition("orders", 0).cutTo(3);
      broker.cut();
      return true;
    };
    const whole = producer.batch("orders", ["a", "b", "c", "d"], { partition: 0 });
    const after = producer.batch("orders", ["e"], { partition: 0 });
    expect(await whole).toMatchObject({ baseOffset: 1, nextOffset: 5 });
    expect((await after).baseOffset).toBe(5);
    expect(texts(broker)).toEqual(["warm", "a", "b", "c", "d", "e"]);
  });

  it("counts what it finds in the log only when it is forced", async () => {
    const { broker, producer } = await started();
    await producer.batch("orders", ["warm"], { partition: 0 });
    let produces = 0;
    let looks = 0;
    broker.intercept = (request) => {
      if (isProduce(request) && produces++ === 0) {
        request.socket.resetAndDestroy();
        return true;
      }
      if (request.kind !== RequestKind.METADATA_V2 || looks > 3) return false;
      looks++;
      const ends = { logStartOffset: offset(0), highWatermark: offset(2), logEndOffset: offset(2) };
      const partitions = [{ partition: partitionId(0), epoch: 0, durableOffset: offset(1), ...ends }];
      const topics = [{ topic: "orders", recordFormat: "crc32c" as const, partitions }];
      request.socket.write(encodeMetadataResponse(2, request.correlationId, topics));
      return true;
    };
    expect((await producer.batch("orders", ["lost"], { partition: 0 })).baseOffset).toBe(1);
    expect(looks).toBe(4);
    expect(texts(broker)).toEqual(["warm", "lost"]);
  });

  it("gives up all that is in doubt when the repetition is refused for good, and begins anew at the log's end", async () => {
    const { broker, producer } = await started({ requestsInFlight: 3 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    let turn = 0;
    broker.refuse = (request) => (isProduce(request) && turn === 3 ? ErrorCodes.CORRUPT_REQUEST : undefined);
    broker.intercept = (request) => {
      if (!isProduce(request) || turn++ > 2) return false;
      if (turn === 3) request.socket.resetAndDestroy();
      return true;
    };
    const codes = await Promise.all(batches(producer, 4).map(codeOf));
    expect(codes).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "sent"]);
    // The three had been written, and are there once.
    expect(texts(broker)).toEqual(["warm", ...written(4)]);
  });

  it("repeats nothing that is in doubt behind a barrier that failed: the log's end does not tell what of it is there", async () => {
    const { broker, producer } = await started({ requestsInFlight: 2 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    let turn = 0;
    broker.intercept = (request) => {
      if (!isProduce(request) || turn++ > 1) return false;
      if (turn === 1) refuse(request, "STORAGE_FAILURE");
      else request.socket.end();
      return true;
    };
    expect(await Promise.all(batches(producer, 3).map(codeOf))).toEqual(["STORAGE_FAILURE", "OUTCOME_UNKNOWN", "sent"]);
    // The first two had been written, and are there once.
    expect(texts(broker)).toEqual(["warm", ...written(3)]);
  });

  it("says OUTCOME_UNKNOWN of what is in doubt behind a batch that was refused for now, and CLOSED of that one", async () => {
    const { broker, producer } = await started({ requestsInFlight: 2 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    let turn = 0;
    broker.refuse = (request) => (isProduce(request) && turn === 0 ? ErrorCodes.OVERLOADED : undefined);
    broker.intercept = (request) => {
      if (!isProduce(request)) return false;
      if (turn++ === 0) return false;
      broker.stop();
      return true;
    };
    const sent = batches(producer, 2).map(codeOf);
    await until("the second was cut", () => turn === 2);
    await new Promise((resolve) => setTimeout(resolve, 30));
    producer.destroy();
    expect(await Promise.all(sent)).toEqual(["CLOSED", "OUTCOME_UNKNOWN"]);
  });

  it("gives up with OUTCOME_UNKNOWN when the broker does not come back", async () => {
    const { broker, producer } = await started({ deliveryTimeoutMs: 300 });
    await producer.batch("orders", ["warm"], { partition: 0 });
    broker.intercept = (request) => {
      if (isProduce(request)) broker.stop();
      return isProduce(request);
    };
    const sent = [producer.batch("orders", ["a"], { partition: 0 }), producer.batch("orders", ["b"], { partition: 0 })];
    const waiting = producer.send("orders", "c");
    expect(await Promise.all(sent.map(codeOf))).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"]);
    expect(await codeOf(waiting)).toMatch(/DELIVERY_TIMEOUT|OUTCOME_UNKNOWN/);
  });

  it("appends where its caller expects, and refuses an append that cannot be right", async () => {
    const { broker, producer } = await started({ requestsInFlight: 4 });
    const sent = [
      producer.append("orders", ["a", "b"], { partition: 0, expectedOffset: 0 }),
      producer.append("orders", ["x"], { partition: 0, expectedOffset: 1 }),
      producer.append("orders", ["c"], { partition: 0, expectedOffset: 2 }),
    ];
    expect(await Promise.all(sent.map(codeOf))).toEqual(["sent", "OFFSET_MISMATCH", "sent"]);
    expect(texts(broker)).toEqual(["a", "b", "c"]);
  });

  it("asks again for a partition that wanted to know while a question was out that is refused", async () => {
    const { broker, producer } = await started({}, { topics: { orders: 3 } });
    await producer.send("orders", "the topic is known then", { partition: 2 });
    const held: FakeRequest[] = [];
    broker.intercept = (request) => request.kind === RequestKind.METADATA_V2 && held.push(request) > 0;
    const sent = [producer.send("orders", "a", { partition: 0 })];
    await until("it asks", () => held.length === 1);
    sent.push(producer.send("orders", "b", { partition: 1 }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    broker.intercept = () => false;
    refuse(held[0], "UNKNOWN_TOPIC_OR_PARTITION");
    expect(await Promise.all(sent.map(codeOf))).toEqual(["UNKNOWN_TOPIC_OR_PARTITION", "sent"]);
  });

  it("leaves out what is given up while it asks where the log ends, and nothing else", async () => {
    const { broker, producer } = await started({}, { topics: { orders: 2 } });
    await producer.send("orders", "the topic is known then", { partition: 1 });
    const held: FakeRequest[] = [];
    broker.intercept = (request) => request.kind === RequestKind.METADATA_V2 && held.push(request) > 0;
    const send = (text: string, signal?: AbortSignal) => producer.send("orders", text, { partition: 0, signal });
    const [before, meanwhile] = [new AbortController(), new AbortController()];
    const givenUp = [codeOf(send("given up before it asked", before.signal))];
    const kept = [send("a")];
    before.abort();
    await until("it asks", () => held.length > 0);
    givenUp.push(codeOf(send("given up meanwhile", meanwhile.signal)));
    kept.push(send("b"));
    // They are put into the batch that waits.
    await new Promise((resolve) => setImmediate(resolve));
    givenUp.push(codeOf(send("given up with it", meanwhile.signal)));
    kept.push(send("c"));
    await new Promise((resolve) => setImmediate(resolve));
    meanwhile.abort();
    for (const { socket, answer } of held) socket.write(answer as Uint8Array);
    expect((await Promise.all(kept)).map(({ offset: at }) => at)).toEqual([0, 1, 2]);
    expect(texts(broker)).toEqual(["a", "b", "c"]);
    expect(await Promise.all(givenUp)).not.toContain("sent");
  });

  it("refuses a broker whose METADATA does not say where a log ends, and takes the one that comes after it", async () => {
    const { producer, broker } = await started({ random: () => 0 }, { versions: versions({ [ApiKey.METADATA]: 1 }) });
    for (let i = 0; i < 3; i++) {
      const error = await producer.send("orders", "x").catch((caught: unknown) => caught);
      expect(error).toMatchObject({
        code: "UNSUPPORTED_VERSION",
        message: expect.stringMatching(/not know METADATA v2$/),
      });
    }
    expect(texts(broker)).toEqual([]);
    broker.stop();
    const { port } = broker;
    const newer = await FakeBroker.start({ port });
    await expect.poll(() => codeOf(producer.send("orders", "y"))).toBe("sent");
    expect(texts(newer)).toEqual(["y"]);
  });

  it("refuses a broker that knows no expected offsets, and the ack none", async () => {
    const versions = OLDEST_VERSIONS;
    const { producer, broker } = await started({}, { versions });
    expect(await codeOf(producer.send("orders", "x"))).toBe("UNSUPPORTED_VERSION");
    expect(await codeOf(producer.send("orders", "x"))).toBe("UNSUPPORTED_VERSION");
    expect(texts(broker)).toEqual([]);
    const made = () => new Producer(backendOf(broker), { exclusive: true, ack: "none" } as never);
    expect(made).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
  });
});
