// What holds of a link whatever it leads to: the same tests for a broker and for logs in the process. A producer, a consumer
// and a subscription need not know which of the two they have.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { FetchPosition } from "../../src/client/connection-options.js";
import { BrokerError } from "../../src/client/errors.js";
import type { Backend, Link } from "../../src/client/link.js";
import { RegionBuilder, recordRegion } from "../../src/client/record-region.js";
import { ApiKey } from "../../src/protocol/api-keys.js";
import { ascii } from "../support/bytes.js";
import { LONG_MS, SOON_MS, timed } from "../support/waiting.js";
import { readStored } from "../support/wire.js";

export interface GroundOptions {
  readonly topics?: Readonly<Record<string, number>>;
  /** A directory with `<topic>-<partition>` in it; default: a new one. */
  readonly dir?: string;
  readonly segmentBytes?: number;
  readonly retentionBytes?: number;
}
/** What the tests stand on. Everything is closed after the test. */
export type MakeGround = (options?: GroundOptions) => Promise<Backend>;

const LARGE = 1 << 20;
const code = (expected: string) => expect.objectContaining({ code: expected });
const refused = (name: string, retriable = false) => ({ code: name, retriable, name: expect.stringMatching(/Error$/) });
export const textsOf = (payload: Uint8Array): string[] =>
  readStored(payload).payloads.map((each) => Buffer.from(each).toString());
const at = (partition: number, fetchOffset: number, more: Partial<FetchPosition> = {}): FetchPosition => {
  return { topic: "orders", partition, epoch: -1, fetchOffset, maxBytes: LARGE, ...more };
};

async function linkTo(backend: Backend): Promise<Link> {
  const link = await backend.connect();
  onTestFinished(() => link.destroy());
  return link;
}

export function linkConformance(name: string, make: MakeGround): void {
  const ground = async (options: GroundOptions = {}) => {
    const backend = await make(options);
    return { backend, link: await linkTo(backend) };
  };

  describe(`a link to ${name}: producing`, () => {
    it("S07 S20 a batch gets adjacent offsets; partitions and topics know nothing of each other", async () => {
      const { link } = await ground();
      expect(await link.produce("orders", 0, recordRegion(["a", "b"]))).toEqual({ baseOffset: 0, logEndOffset: 2 });
      expect(await link.produce("orders", 0, recordRegion(["c"]))).toEqual({ baseOffset: 2, logEndOffset: 3 });
      expect(await link.produce("orders", 1, recordRegion(["d"]))).toEqual({ baseOffset: 0, logEndOffset: 1 });
      expect((await link.produce("clicks", 0, recordRegion(["e"]), { ack: "written" })).baseOffset).toBe(0);
      expect(textsOf((await link.fetch("orders", 0, 0, LARGE)).payload)).toEqual(["a", "b", "c"]);
      expect(textsOf((await link.fetch("orders", 1, 0, LARGE)).payload)).toEqual(["d"]);
    });

    it("batches that are sent without waiting keep their order, and a region may be changed as soon as it was sent", async () => {
      const { link } = await ground();
      const region = new RegionBuilder();
      const sent = Array.from({ length: 200 }, (_, n) => {
        region.clear();
        const text = ascii(`record ${n}`);
        region.append(text, 0, text.length);
        return link.produce("orders", 0, region, { ack: n % 7 === 0 ? "forced" : "written" });
      });
      expect((await Promise.all(sent)).map(({ baseOffset }) => baseOffset)).toEqual(sent.map((_, n) => n));
      const { payload } = await link.fetch("orders", 0, 0, LARGE);
      expect(textsOf(payload)).toEqual(sent.map((_, n) => `record ${n}`));
    });

    it("P11 a batch with an expected offset is there once, and of two writers that expect the same one wins", async () => {
      const { link, backend } = await ground();
      const other = await linkTo(backend);
      await link.produce("orders", 0, recordRegion(["first"]));
      const both = await Promise.allSettled([
        link.produce("orders", 0, recordRegion(["mine", "mine too"]), { expectedOffset: 1 }),
        other.produce("orders", 0, recordRegion(["theirs", "theirs too"]), { expectedOffset: 1 }),
      ]);
      expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const lost = both.find(({ status }) => status === "rejected") as PromiseRejectedResult;
      expect(lost.reason).toMatchObject(refused("OFFSET_MISMATCH"));
      const again = link.produce("orders", 0, recordRegion(["mine"]), { expectedOffset: 1 });
      await expect(again).rejects.toMatchObject(refused("OFFSET_MISMATCH"));
      expect(textsOf((await link.fetch("orders", 0, 0, LARGE)).payload)).toHaveLength(3);
    });

    it("without an acknowledgement nobody answers: not for what is written, and not for what is refused", async () => {
      const { link } = await ground();
      expect(await link.produce("orders", 0, recordRegion(["quiet"]), { ack: "none" })).toBeUndefined();
      expect(await link.produce("nowhere", 0, recordRegion(["lost"]), { ack: "none" })).toBeUndefined();
      expect((await link.produce("orders", 0, recordRegion(["loud"]))).baseOffset).toBe(1);
    });

    it("refuses what is not there or does not fit, and goes on", async () => {
      const { link } = await ground();
      for (const [topic, partition] of [
        ["nowhere", 0],
        ["orders", 99],
      ] as const) {
        const produced = link.produce(topic, partition, recordRegion(["x"]));
        await expect(produced).rejects.toMatchObject(refused("UNKNOWN_TOPIC_OR_PARTITION"));
        await expect(produced).rejects.toBeInstanceOf(BrokerError);
        await expect(link.fetch(topic, partition, 0, LARGE)).rejects.toMatchObject(
          refused("UNKNOWN_TOPIC_OR_PARTITION"),
        );
        await expect(link.listOffsets(topic, partition, "latest")).rejects.toMatchObject(
          refused("UNKNOWN_TOPIC_OR_PARTITION"),
        );
      }
      const lying = { records: 3, bytes: recordRegion(["a", "b"]).bytes };
      await expect(link.produce("orders", 0, lying)).rejects.toMatchObject(refused("CORRUPT_REQUEST"));
      expect((await link.produce("orders", 0, recordRegion(["x"]))).baseOffset).toBe(0);
    });

    it("names a wrong argument, and asks nothing", async () => {
      const { link } = await ground();
      const wrong = "x" as unknown as number;
      const region = recordRegion(["x"]);
      for (const call of [
        () => link.produce("no/topic", 0, region),
        () => link.produce("orders", -1, region),
        () => link.produce("orders", 0, region, { expectedOffset: -2 }),
        () => link.produce("orders", 0, region, { ack: "sometimes" as "forced" }),
        () => link.produce("orders", 0, region, { akc: "forced" } as object),
        () => link.fetch("orders", 0, wrong, LARGE),
        () => link.fetch("orders", 0, 0, 0),
        () => link.fetch("orders", 0, 0, 10, { maxWaitMs: 1, minBytes: 11 }),
        () => link.fetchMany([], LARGE),
        () => link.fetchMany([at(0, -1)], LARGE),
        () => link.metadata(["no/topic"]),
        () => link.listOffsets("orders", 0, "middle" as "latest"),
        () => link.listOffsets("orders", 0, -5),
      ]) {
        await expect(call()).rejects.toThrow(code("BAD_ARGUMENT"));
      }
    });
  });

  describe(`a link to ${name}: reading`, () => {
    it("S16 S17 fetches stored bytes to a byte boundary; the end is no error, and what lies beyond is", async () => {
      const { link } = await ground();
      await link.produce("orders", 0, recordRegion(["first", "second"]));
      const whole = await link.fetch("orders", 0, 0, LARGE);
      expect([whole.highWatermark, textsOf(whole.payload)]).toEqual([2, ["first", "second"]]);
      const cut = await link.fetch("orders", 0, 0, 20);
      expect(Buffer.from(cut.payload)).toEqual(Buffer.from(whole.payload.subarray(0, 20)));
      expect((await link.fetch("orders", 0, 2, LARGE)).payload).toHaveLength(0);
      await expect(link.fetch("orders", 0, 3, LARGE)).rejects.toMatchObject(refused("OFFSET_OUT_OF_RANGE"));
      expect((await link.fetch("orders", 0, 1, LARGE)).highWatermark).toBe(2);
    });

    it("fetches several partitions in the order asked for, each with its own error and its own place in its log", async () => {
      const { link } = await ground();
      await link.produce("orders", 0, recordRegion(["a", "b"]));
      await link.produce("orders", 2, recordRegion(["c"]));
      const answers = await link.fetchMany(
        [at(2, 0), at(9, 0), at(0, 1), at(1, 0), at(0, 7, { topic: "clicks" })],
        LARGE,
      );
      expect(answers.map(({ topic, partition, error }) => [topic, partition, error])).toEqual([
        ["orders", 2, 0],
        ["orders", 9, 1],
        ["orders", 0, 0],
        ["orders", 1, 0],
        ["clicks", 0, 2],
      ]);
      expect(answers.map(({ payload }) => textsOf(payload))).toEqual([["c"], [], ["b"], [], []]);
      expect(answers[1]).toMatchObject({ epoch: -1, epochStart: -1, logStartOffset: -1, highWatermark: -1 });
      expect(answers[2]).toMatchObject({
        epoch: 0,
        epochStart: 0,
        logStartOffset: 0,
        highWatermark: 2,
        logEndOffset: 2,
      });
      expect(answers[4]).toMatchObject({ epoch: 0, logStartOffset: 0, highWatermark: 0, logEndOffset: 0 });
      await expect(link.fetchMany([at(0, 0), at(0, 1)], LARGE)).rejects.toMatchObject(refused("CORRUPT_REQUEST"));
    });

    it("bounds what all partitions bring together: the first in any case, and no other in part", async () => {
      const { link } = await ground();
      for (const partition of [0, 1, 2]) await link.produce("orders", partition, recordRegion(["x".repeat(92)]));
      const lengths = async (maxBytes: number, ...positions: FetchPosition[]) =>
        (await link.fetchMany(positions, maxBytes)).map(({ payload }) => payload.length);
      expect(await lengths(10, at(0, 0), at(1, 0), at(2, 0))).toEqual([100, 0, 0]);
      expect(await lengths(210, at(0, 0), at(1, 0), at(2, 0))).toEqual([100, 100, 0]);
      expect(await lengths(150, at(2, 0, { maxBytes: 50 }), at(1, 0), at(0, 0))).toEqual([50, 100, 0]);
      expect(await lengths(LARGE, at(0, 1), at(1, 0), at(2, 0))).toEqual([0, 100, 100]);
    });

    it("describes topics and partitions, sorted, each once, and fails for one that is not there", async () => {
      const { link } = await ground();
      await link.produce("orders", 1, recordRegion(["a"]));
      const all = await link.metadata();
      expect(all.map(({ topic, partitions }) => [topic, partitions.length])).toEqual([
        ["clicks", 1],
        ["orders", 3],
      ]);
      expect(await link.metadata(["orders", "clicks", "orders"])).toEqual(all);
      expect(all[1]).toMatchObject({ recordFormat: "crc32c" });
      expect(all[1]?.partitions[1]).toEqual({
        partition: 1,
        epoch: 0,
        logStartOffset: 0,
        highWatermark: 1,
        durableOffset: 1,
        logEndOffset: 1,
      });
      await expect(link.metadata(["orders", "nowhere"])).rejects.toMatchObject(refused("UNKNOWN_TOPIC_OR_PARTITION"));
    });

    it("finds the start, the end and the offset of a time", async () => {
      const { link } = await ground();
      const before = Date.now();
      await link.produce("orders", 0, recordRegion(["a", "b"]));
      expect(await link.listOffsets("orders", 0, "earliest")).toEqual({ offset: 0, timestampMs: -1 });
      expect(await link.listOffsets("orders", 0, "latest")).toEqual({ offset: 2, timestampMs: -1 });
      const found = await link.listOffsets("orders", 0, before - 1000);
      expect(found.offset).toBe(0);
      expect(found.timestampMs).toBeGreaterThanOrEqual(before);
      expect(await link.listOffsets("orders", 0, Date.now() + 60_000)).toEqual({ offset: 2, timestampMs: -1 });
    });

    it("S13 P02 what retention has removed is out of range, and metadata says where the log starts", async () => {
      const { link } = await ground({ segmentBytes: 64 * 1024, retentionBytes: 64 * 1024 });
      const region = recordRegion(Array.from({ length: 15 }, () => new Uint8Array(1016).fill(120)));
      for (let i = 0; i < 20; i++) await link.produce("orders", 0, region, { ack: "written" });
      const start = async () => (await link.metadata(["orders"]))[0]?.partitions[0]?.logStartOffset ?? 0;
      await expect.poll(start, { timeout: SOON_MS }).toBeGreaterThan(0);
      await expect(link.fetch("orders", 0, 0, LARGE)).rejects.toMatchObject(refused("OFFSET_OUT_OF_RANGE"));
      const [answer] = await link.fetchMany([at(0, 0)], LARGE, { maxWaitMs: LONG_MS });
      expect(answer).toMatchObject({ error: 2, highWatermark: 300 });
      expect(answer?.logStartOffset).toBeGreaterThan(0);
      // Retention may go on between the two questions.
      const atStart = async () => (await link.fetch("orders", 0, await start(), LARGE)).payload.length;
      await expect.poll(atStart, { timeout: SOON_MS }).toBeGreaterThan(0);
    });
  });

  describe(`a link to ${name}: waiting`, () => {
    it("F04 waits at the end for its time, and an empty answer is no error", async () => {
      const { link } = await ground();
      const { value, ms } = await timed(link.fetch("orders", 0, 0, LARGE, { maxWaitMs: 60 }));
      expect(value).toEqual({ highWatermark: 0, payload: new Uint8Array(0) });
      expect(ms).toBeGreaterThan(40);
    });

    it("F06 F18 ends its wait when a record comes, from whatever link", async () => {
      const { link, backend } = await ground();
      const other = await linkTo(backend);
      const waiting = timed(link.fetch("orders", 0, 0, LARGE, { maxWaitMs: LONG_MS }));
      await sleep(30);
      await other.produce("orders", 1, recordRegion(["elsewhere"]));
      await other.produce("orders", 0, recordRegion(["here"]));
      const { value, ms } = await waiting;
      expect(textsOf(value.payload)).toEqual(["here"]);
      expect(ms).toBeLessThan(SOON_MS);
    });

    it("F10 F07 sums what it waits for over the partitions, bytes and records, and too little does not end it", async () => {
      const { link, backend } = await ground();
      const other = await linkTo(backend);
      const bytes = link.fetchMany([at(0, 0), at(1, 0)], LARGE, { maxWaitMs: LONG_MS, minBytes: 300 });
      for (const partition of [0, 1, 2]) await other.produce("orders", partition, recordRegion(["x".repeat(92)]));
      const early = await Promise.race([bytes.then(() => "answered"), sleep(60).then(() => "waits")]);
      expect(early).toBe("waits");
      await other.produce("orders", 1, recordRegion(["y".repeat(92)]));
      expect((await bytes).map(({ payload }) => payload.length)).toEqual([100, 200]);
      const records = link.fetchMany([at(0, 1), at(1, 2)], LARGE, { maxWaitMs: LONG_MS, minRecords: 2 });
      await other.produce("orders", 0, recordRegion(["one"]));
      expect(await Promise.race([records.then(() => "answered"), sleep(60).then(() => "waits")])).toBe("waits");
      await other.produce("orders", 1, recordRegion(["two"]));
      expect((await records).map(({ payload }) => textsOf(payload))).toEqual([["one"], ["two"]]);
    });

    it("F03 F02 never waits where something lies in an older segment, or where one of the partitions is an error", async () => {
      const { link } = await ground({ segmentBytes: 64 * 1024 });
      const region = recordRegion(Array.from({ length: 15 }, () => new Uint8Array(1016).fill(120)));
      for (let i = 0; i < 6; i++) await link.produce("orders", 0, region, { ack: "written" });
      const old = await timed(link.fetch("orders", 0, 0, LARGE, { maxWaitMs: LONG_MS, minBytes: LARGE }));
      expect(old.value.payload.length).toBeLessThanOrEqual(64 * 1024);
      expect(old.value.payload.length).toBeGreaterThan(0);
      const wait = { maxWaitMs: LONG_MS, minBytes: LARGE };
      const several = await timed(link.fetchMany([at(1, 0), at(0, 0)], LARGE, wait));
      expect(several.value.map(({ payload }) => payload.length)).toEqual([0, old.value.payload.length]);
      const unknown = await timed(link.fetchMany([at(1, 0), at(77, 0)], LARGE, wait));
      expect(unknown.value.map(({ error }) => error)).toEqual([0, 1]);
      const beyond = await timed(link.fetchMany([at(1, 0), at(2, 5)], LARGE, wait));
      expect(beyond.value.map(({ error }) => error)).toEqual([0, 2]);
      for (const { ms } of [old, several, unknown, beyond]) expect(ms).toBeLessThan(SOON_MS);
    });

    it("ends its wait by its signal, with the signal's reason", async () => {
      const { link } = await ground();
      const ending = new AbortController();
      const waiting = link.fetchMany([at(0, 0)], LARGE, { maxWaitMs: LONG_MS, signal: ending.signal });
      setTimeout(() => ending.abort(new Error("enough")), 20);
      await expect(waiting).rejects.toThrow("enough");
      await expect(link.fetch("orders", 0, 0, LARGE, { signal: ending.signal })).rejects.toThrow("enough");
    });
  });

  describe(`a link to ${name}: its end`, () => {
    it("supports all that there is, and says how much a request may be", async () => {
      const { link } = await ground();
      for (const [key, version] of [
        [ApiKey.PRODUCE, 2],
        [ApiKey.FETCH, 3],
        [ApiKey.METADATA, 2],
        [ApiKey.LIST_OFFSETS, 1],
      ] as const) {
        expect([link.supports(key, version), link.supports(key, 99)]).toEqual([true, false]);
      }
      expect(link.maxFrameBytes).toBeGreaterThanOrEqual(16 * 1024);
      await link.flushed();
    });

    it("a close waits for what is open, takes nothing new, and is no error", async () => {
      const { link } = await ground();
      const produced = link.produce("orders", 0, recordRegion(["a"]));
      expect(link.openRequests).toBe(1);
      await link.close();
      expect((await produced).baseOffset).toBe(0);
      expect(await link.closed).toBeUndefined();
      for (const call of [
        () => link.produce("orders", 0, recordRegion(["b"])),
        () => link.produce("orders", 0, recordRegion(["b"]), { ack: "none" }),
        () => link.fetch("orders", 0, 0, LARGE),
        () => link.fetchMany([at(0, 0)], LARGE),
        () => link.metadata(),
        () => link.listOffsets("orders", 0, 5),
      ]) {
        await expect(call()).rejects.toThrow(code("CLOSED"));
      }
      expect(link.openRequests).toBe(0);
    });

    it("a destroy rejects what is open with CLOSED, also a wait, at once; other links go on", async () => {
      const { link, backend } = await ground();
      const other = await linkTo(backend);
      const waiting = timed(link.fetch("orders", 0, 0, LARGE, { maxWaitMs: LONG_MS }).catch((error: unknown) => error));
      const elsewhere = other.fetch("orders", 0, 0, LARGE, { maxWaitMs: LONG_MS });
      await sleep(20);
      link.destroy();
      const { value, ms } = await waiting;
      expect(value).toMatchObject({ code: "CLOSED" });
      expect(ms).toBeLessThan(SOON_MS);
      const third = await linkTo(backend);
      await third.produce("orders", 0, recordRegion(["on"]));
      expect(textsOf((await elsewhere).payload)).toEqual(["on"]);
    });
  });
}
