// The side port's API: pages of the broker, of topics, partitions, segments and records, each bounded, and what it refuses.

import { openSync, readdirSync, writeFileSync, writeSync } from "node:fs";
import { request } from "node:http";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { apiUrl } from "../../console/src/lib/api.js";
import type {
  BrokerInfo,
  OffsetAtTime,
  PartitionPage,
  RecordsPage,
  TopicPage,
  TopicsPage,
} from "../../src/ops/api/types.js";
import { connectTo, runBroker } from "../support/broker.js";
import { ascii } from "../support/bytes.js";
import { tempDir } from "../support/tmp.js";
import { produce } from "../support/wire.js";

const ops = { "ops.enabled": true, "ops.port": 0 };

interface Asked<T> {
  readonly status: number;
  readonly body: T;
}

async function ask<T>({ opsPort }: { opsPort: number | undefined }, path: string): Promise<Asked<T>> {
  const answer = await fetch(`http://127.0.0.1:${opsPort}/api/${path}`);
  return { status: answer.status, body: (await answer.json()) as T };
}

const get = async <T>(broker: { opsPort: number | undefined }, path: string): Promise<T> => {
  const { status, body } = await ask<T>(broker, path);
  expect([path, status, body]).toEqual([path, 200, body]);
  return body;
};

const text = (base64: string): string => Buffer.from(base64, "base64").toString();

describe("the API", () => {
  it("says what the broker is and how it is set", async () => {
    const broker = await runBroker({ ...ops, "max.frame.bytes": "2MiB" });
    const info = await get<BrokerInfo>(broker, "broker");
    const { port, opsPort, version, dataDir } = broker;
    expect(info).toMatchObject({ name: "millrace", version, port, opsPort, dataDir, topics: 1, partitions: 1 });
    expect(info).toMatchObject({ ready: true, stopping: false, reasons: [], pid: process.pid, socketPath: null });
    expect(Math.abs(info.startedAtMs + info.uptimeMs - Date.now())).toBeLessThan(2000);
    const settings = Object.fromEntries(info.settings.map(({ key, value, origin }) => [key, [value, origin]]));
    expect(settings["max.frame.bytes"]).toEqual(["2MiB", "startBroker"]);
    expect(settings["frame.timeout.ms"]).toEqual(["30s", "default"]);
  });

  it("names the data directory in full: who reads it there does not know the broker's working directory", async () => {
    const dataDir = tempDir("relative");
    const broker = await runBroker({ ...ops, "data.dir": relative(process.cwd(), dataDir) });
    expect((await get<BrokerInfo>(broker, "broker")).dataDir).toBe(dataDir);
  });

  it("has pages of topics that a URL would take for directories", async () => {
    const broker = await runBroker({ ...ops, topics: ".:1,..:2,.a:3" });
    for (const [name, partitions] of [
      [".", 1],
      ["..", 2],
      [".a", 3],
    ] as const) {
      const page = await get<TopicPage>(broker, apiUrl(["topics", name]).slice("api/".length));
      expect([page.topic.name, page.partitions.length]).toEqual([name, partitions]);
    }
  });

  it("says which settings a topic has for itself, and where they were written", async () => {
    const topics = { orders: { partitions: 1, "retention.bytes": "1GiB" }, plain: { partitions: 1 } };
    const info = await get<BrokerInfo>(await runBroker({ ...ops, topics }), "broker");
    const origin = "startBroker [topics.orders]";
    expect(info.topicSettings).toEqual([{ topic: "orders", key: "retention.bytes", value: "1GiB", origin }]);
    expect(info.topicSettingsLeftOut).toBe(0);
  });

  it("lists topics and partitions a page at a time", async () => {
    const broker = await runBroker({ ...ops, topics: "b:3,a:1,c:2" });
    const wire = await connectTo(broker);
    await wire.ask(produce([ascii("xyz"), ascii("1")], { topic: "b", partition: 2 }));
    const names = ({ topics }: TopicsPage) => topics.map(({ name }) => name);
    const first = await get<TopicsPage>(broker, "topics?limit=2");
    expect([names(first), first.next]).toEqual([["a", "b"], "c"]);
    const rest = await get<TopicsPage>(broker, "topics?from=c&limit=2");
    expect([names(rest), rest.next]).toEqual([["c"], null]);
    expect(first.topics[1]).toMatchObject({ partitions: 3, records: 2, bytes: 8 + 3 + 8 + 1, refused: 0, poisoned: 0 });
    const page = await get<TopicPage>(broker, "topics/b?from=1&limit=1");
    expect([page.partitions.map(({ partition }) => partition), page.next]).toEqual([[1], 2]);
    const last = await get<TopicPage>(broker, "topics/b?from=2");
    expect(last.next).toBeNull();
    expect(last.partitions[0]).toEqual({
      partition: 2,
      state: "open",
      reason: null,
      epoch: 0,
      logStartOffset: 0,
      highWatermark: 2,
      durableOffset: 0,
      logEndOffset: 2,
      bytes: 20,
      segments: 1,
    });
  });

  it("shows segments from an offset on", async () => {
    const broker = await runBroker({
      ...ops,
      "segment.bytes": "4KiB",
      "max.frame.bytes": "2KiB",
      "index.interval.bytes": 64,
    });
    const wire = await connectTo(broker);
    for (let i = 0; i < 10; i++) await wire.ask(produce([new Uint8Array(1500).fill(65), new Uint8Array(300).fill(66)]));
    const all = await get<PartitionPage>(broker, "topics/orders/partitions/0");
    expect(all.segments.map(({ baseOffset, endOffset }) => [baseOffset, endOffset])).toEqual(
      [0, 4, 8, 12, 16].map((base) => [base, base + 4]),
    );
    expect(all.segments.map(({ active }) => active)).toEqual([false, false, false, false, true]);
    for (const { bytes, firstAppendMs, lastAppendMs } of all.segments) {
      expect(bytes).toBe(2 * (1500 + 300 + 16));
      expect(Math.abs((lastAppendMs ?? 0) - Date.now())).toBeLessThan(20_000);
      expect(firstAppendMs).toBeGreaterThan(Date.now() - 20_000);
      expect(firstAppendMs).toBeLessThanOrEqual(lastAppendMs ?? 0);
    }
    const page = await get<PartitionPage>(broker, "topics/orders/partitions/0?from=7&limit=2");
    expect([page.segments.map(({ baseOffset }) => baseOffset), page.next]).toEqual([[4, 8], 12]);
    const exact = await get<PartitionPage>(broker, "topics/orders/partitions/0?from=8&limit=2");
    expect([exact.segments.map(({ baseOffset }) => baseOffset), exact.next]).toEqual([[8, 12], 16]);
    const end = await get<PartitionPage>(broker, "topics/orders/partitions/0?from=1000");
    expect([end.segments.map(({ baseOffset }) => baseOffset), end.next]).toEqual([[16], null]);
  });

  it("says while it stops that it does", async () => {
    const broker = await runBroker(ops);
    // Somebody who does not go away by himself is waited for.
    await connectTo(broker);
    const stopped = broker.stop();
    const { ready, stopping, reasons } = await get<BrokerInfo>(broker, "broker");
    expect([ready, stopping, reasons]).toEqual([false, true, ["the broker is stopping"]]);
    expect(await stopped).toBe(true);
  });

  it("names a partition that refused to open, and why, and shows nothing of it", async () => {
    const dataDir = tempDir("refused");
    await (await runBroker({ "data.dir": dataDir, topics: "orders:2" })).stop();
    writeFileSync(join(dataDir, "orders-1", "partition.json"), "{");
    const broker = await runBroker({ ...ops, "data.dir": dataDir, topics: "orders:2" });
    const { topic, partitions } = await get<TopicPage>(broker, "topics/orders");
    expect([topic.refused, partitions.map(({ state }) => state)]).toEqual([1, ["open", "refused"]]);
    expect(partitions[1].reason).toContain("partition.json");
    expect((await get<BrokerInfo>(broker, "broker")).ready).toBe(false);
    const page = await get<PartitionPage>(broker, "topics/orders/partitions/1");
    expect([page.segments, page.partition.logEndOffset]).toEqual([[], -1]);
    for (const path of ["records", "offset?time=1"]) {
      const { status, body } = await ask(broker, `topics/orders/partitions/1/${path}`);
      expect([status, body]).toMatchObject([500, { code: "STORAGE_FAILURE" }]);
    }
  });

  it("reads records from an offset on, as many as were asked for", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:1" });
    const wire = await connectTo(broker);
    await wire.ask(produce(Array.from({ length: 20 }, (_, i) => ascii(`record ${i}`))));
    const page = await get<RecordsPage>(broker, "topics/orders/partitions/0/records?from=5&limit=3");
    expect(page).toMatchObject({ topic: "orders", partition: 0, logStartOffset: 0, highWatermark: 20, nextOffset: 8 });
    expect(page.records.map(({ offset, payload }) => [offset, text(payload)])).toEqual([
      [5, "record 5"],
      [6, "record 6"],
      [7, "record 7"],
    ]);
    expect(page.records[0]).toMatchObject({ bytes: 8, cut: false, checked: true });
    const first = await get<RecordsPage>(broker, "topics/orders/partitions/0/records?limit=1");
    expect(first.nextOffset).toBe(1);
    const end = await get<RecordsPage>(broker, "topics/orders/partitions/0/records?from=20");
    expect([end.records, end.nextOffset]).toEqual([[], 20]);
    const { status, body } = await ask(broker, "topics/orders/partitions/0/records?from=21");
    expect([status, body]).toMatchObject([404, { code: "OFFSET_OUT_OF_RANGE" }]);
  });

  it("cuts payloads and pages at their bounds, and says so", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:1" });
    const wire = await connectTo(broker);
    const large = new Uint8Array(1_000_000).fill(97);
    await wire.ask(produce([ascii("small"), large, ascii("behind")]));
    const records = "topics/orders/partitions/0/records";
    // It ends before what does not fit.
    expect((await get<RecordsPage>(broker, records)).nextOffset).toBe(1);
    const [cut, ...others] = (await get<RecordsPage>(broker, `${records}?from=1&payload=100`)).records;
    expect(others).toEqual([]);
    expect(cut).toMatchObject({ offset: 1, bytes: 1_000_000, cut: true, checked: false });
    expect(text(cut.payload)).toBe("a".repeat(100));
    const none = await get<RecordsPage>(broker, `${records}?from=2&payload=0`);
    expect(none.records).toEqual([{ offset: 2, bytes: 6, payload: "", cut: true, checked: true }]);
    const narrow = await get<RecordsPage>(broker, `${records}?from=2&bytes=1`);
    expect(narrow.records).toMatchObject([{ offset: 2, bytes: 6, cut: true, checked: false }]);
  });

  it("shows what is whole before a damaged record, and says what is known of that one", async () => {
    const dataDir = tempDir("damaged");
    const broker = await runBroker({ ...ops, "data.dir": dataDir, topics: "orders:1" });
    const wire = await connectTo(broker);
    await wire.ask(produce(["zero", "one", "two", "three"].map(ascii), { ack: 2 }));
    const dir = join(dataDir, "orders-0");
    const segment = readdirSync(dir).find((name) => name.endsWith(".log")) ?? "";
    // The first byte of "two".
    writeSync(openSync(join(dir, segment), "r+"), "T", 8 + 4 + 8 + 3 + 8);
    const page = await get<RecordsPage>(broker, "topics/orders/partitions/0/records");
    expect(page.records.map(({ payload }) => text(payload))).toEqual(["zero", "one"]);
    expect(page.nextOffset).toBe(2);
    expect(page.damaged).toMatch(/offset 2 is damaged: its sum does not match/);
    const behind = await get<RecordsPage>(broker, "topics/orders/partitions/0/records?from=3");
    expect([behind.records.map(({ payload }) => text(payload)), behind.damaged]).toEqual([["three"], null]);
  });

  it("finds an offset by a time", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:1", "index.interval.bytes": 64 });
    const wire = await connectTo(broker);
    const before = Date.now();
    for (let i = 0; i < 5; i++) await wire.ask(produce([new Uint8Array(100).fill(65)]));
    await new Promise((resolve) => setTimeout(resolve, 20));
    const middle = Date.now();
    for (let i = 0; i < 5; i++) await wire.ask(produce([new Uint8Array(100).fill(66)]));
    const at = (time: string | number) => get<OffsetAtTime>(broker, `topics/orders/partitions/0/offset?time=${time}`);
    expect((await at(before - 1000)).offset).toBe(0);
    const found = await at(new Date(middle).toISOString());
    expect(found.offset).toBe(5);
    expect(found.timestampMs).toBeGreaterThanOrEqual(middle);
    expect(await at(Date.now() + 60_000)).toEqual({ offset: 10, timestampMs: null });
  });

  it("refuses what it does not understand, and says what it takes", async () => {
    const broker = await runBroker({ ...ops, topics: "orders:1" });
    const records = "topics/orders/partitions/0/records";
    const refusals: readonly (readonly [path: string, status: number, code: string, error: RegExp])[] = [
      ["broker?verbose=1", 400, "BAD_REQUEST", /^verbose: no such parameter here; takes none$/],
      [`${records}?form=1`, 400, "BAD_REQUEST", /^form: no such parameter here; takes from, limit, bytes, payload$/],
      [`${records}?from=-1`, 400, "BAD_REQUEST", /^from: got "-1"; takes a whole number from 0 to 9007199254740991$/],
      [`${records}?from=1&from=2`, 400, "BAD_REQUEST", /^from: given 2 times$/],
      [`${records}?limit=1001`, 400, "BAD_REQUEST", /^limit: got "1001"; takes a whole number from 1 to 1000$/],
      [`${records}?bytes=262145`, 400, "BAD_REQUEST", /^bytes: /],
      ["topics/orders/partitions/zero", 400, "BAD_REQUEST", /^partition: got "zero"/],
      ["topics/orders/partitions/1", 404, "NOT_FOUND", /^topic orders has no partition 1$/],
      ["topics/nowhere", 404, "NOT_FOUND", /^there is no topic "nowhere"$/],
      ["topics/%E0%A4%A", 404, "NOT_FOUND", /no such page/],
      ["topics/orders/partitions/0/offset", 400, "BAD_REQUEST", /^time: missing; takes milliseconds since 1970/],
      ["topics/orders/partitions/0/offset?time=yesterday", 400, "BAD_REQUEST", /^time: got "yesterday"; takes /],
      ["topics/orders/partitions/0/offset?time=2026-02-30T09:00:00Z", 400, "BAD_REQUEST", /^time: got "2026-02-30/],
      ["topics/orders/partitions/0/offset?time=2026-01-01", 400, "BAD_REQUEST", /^time: got /],
      ["topics/orders/tail?partition=7", 404, "NOT_FOUND", /no partition 7/],
      ["topics/orders/tail?partition=0,x", 400, "BAD_REQUEST", /^partition: got "x"/],
      ["nothing", 404, "NOT_FOUND", /no such page of the API/],
    ];
    for (const [path, status, code, error] of refusals) {
      expect([path, await ask(broker, path)]).toEqual([
        path,
        { status, body: { error: expect.stringMatching(error), code } },
      ]);
    }
  });

  it("sends headers that keep a browser from doing more than showing it, and nothing to pages of other origins", async () => {
    const { opsPort } = await runBroker(ops);
    for (const path of ["/api/broker", "/metrics", "/", "/healthz", "/nothing"]) {
      const { headers } = await fetch(`http://127.0.0.1:${opsPort}${path}`);
      const sent = Object.fromEntries(headers);
      expect([path, sent]).toMatchObject([
        path,
        {
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
          "x-frame-options": "DENY",
          "cross-origin-resource-policy": "same-origin",
        },
      ]);
      expect(sent["content-security-policy"]).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
      expect(sent["access-control-allow-origin"]).toBeUndefined();
    }
    // Not by fetch, which sets these headers itself.
    const from = (site: string, mode: string, destination: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": destination };
        const options = { host: "127.0.0.1", port: opsPort, path: "/api/broker", headers };
        request(options, (answer) => resolve(answer.resume().statusCode))
          .on("error", reject)
          .end();
      });
    expect(await from("same-origin", "cors", "empty")).toBe(200);
    expect(await from("none", "navigate", "document")).toBe(200);
    expect(await from("cross-site", "navigate", "document")).toBe(200);
    expect(await from("cross-site", "navigate", "iframe")).toBe(403);
    expect(await from("cross-site", "no-cors", "image")).toBe(403);
    expect(await from("same-site", "cors", "empty")).toBe(403);
  });
});
