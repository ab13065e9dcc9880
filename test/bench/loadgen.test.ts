// The load generator is held against a server that counts what really came.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildTools } from "../../bench/build.mjs";
import { argumentsOf, type Flags, type LoadResult } from "../../bench/lib/tools.js";
import { storedRecords } from "../support/stored-records.js";
import { FakeServer } from "./fake-server.js";

const run = promisify(execFile);
let binary: string;
let fake: FakeServer | undefined;

const load = async (server: FakeServer, flags: Flags): Promise<LoadResult> => {
  const { stdout } = await run(binary, argumentsOf({ port: server.port, drain: 5, ...flags }));
  return JSON.parse(stdout) as LoadResult;
};
const refusal = (server: FakeServer, flags: Flags): Promise<string> =>
  load(server, flags).then(
    () => "it went through",
    (error: { code: number; stderr: string }) => `${error.code}: ${error.stderr}`,
  );

describe.skipIf(process.platform !== "linux")("the load generator", () => {
  beforeAll(async () => {
    ({ loadgen: binary } = await buildTools());
  }, 180_000);

  afterEach(async () => {
    await fake?.stop();
    fake = undefined;
  });

  it("reports exactly the requests, records and bytes that the server received and sent", async () => {
    fake = await FakeServer.start();
    const result = await load(fake, { connections: 7, depth: 5, partitions: 3, records: 4, size: 33, requests: 1234 });
    expect(result.requests).toBe(1234);
    expect(fake.requests).toBe(1234);
    expect(fake.records).toBe(4 * 1234);
    expect(result.recordsAcknowledged).toBe(fake.records);
    expect(result.logEndMax).toBe(fake.records);
    expect(result.baseOffsetMin).toBe(0);
    expect(result.bytesOut).toBe(fake.bytesIn);
    expect(result.bytesIn).toBe(fake.bytesOut);
    expect(result.latency.count).toBe(1234);
    expect(result.timeline.answers.reduce((sum, n) => sum + n, 0)).toBe(1234);
    expect([...fake.partitions.keys()].sort()).toEqual([0, 1, 2]);
  });

  it("counts warm-up apart and nowhere else", async () => {
    fake = await FakeServer.start();
    const result = await load(fake, { connections: 2, warmup: 0.2, seconds: 0.3 });
    expect(result.warmup).toBeGreaterThan(0);
    expect(result.requests + result.warmup).toBe(fake.requests);
    expect(result.latency.count).toBe(result.requests);
  });

  it("counts unacknowledged requests when the server has taken them, by one last request on each connection that is answered", async () => {
    fake = await FakeServer.start();
    const result = await load(fake, { connections: 3, depth: 8, ack: "none", records: 2, requests: 500 });
    expect(fake.requests).toBe(500 + 3);
    expect(fake.records).toBe(2 * 503);
    expect(result.requests).toBe(503);
    expect(result.unanswered).toBe(0);
  });

  it("reads answers that come one byte at a time", async () => {
    fake = await FakeServer.start({ pieces: 1, errorFor: (n) => (n % 5 === 4 ? 8 : 0) });
    const result = await load(fake, { connections: 2, depth: 3, requests: 50 });
    expect(result.requests).toBe(50);
    expect(result.bytesIn).toBe(fake.bytesOut);
  });

  it("counts errors by code, and no record of a refused request as acknowledged", async () => {
    fake = await FakeServer.start({ errorFor: (n) => (n % 10 === 0 ? 8 : n % 10 === 1 ? 7 : 0) });
    const result = await load(fake, { connections: 1, depth: 4, records: 3, requests: 200 });
    expect(result.errors).toEqual({ 7: 20, 8: 20 });
    expect(result.errorCount).toBe(40);
    expect(result.recordsAcknowledged).toBe(3 * 160);
  });

  it.each([{ discard: false }, { discard: true }])(
    "counts the payload that was sent to it (%o)",
    async ({ discard }) => {
      const record = storedRecords("crc32c", [new Uint8Array(100).fill(7)]);
      // Cut in the middle of a record at maxBytes, as a broker does.
      const payload = (_offset: number, maxBytes: number) =>
        Uint8Array.from({ length: maxBytes }, (_, i) => record[i % record.length]);
      fake = await FakeServer.start({ payload, pieces: 700 });
      const flags = { api: "fetch", size: 100, "max-bytes": 5000, connections: 2, depth: 3, requests: 90, discard };
      const result = await load(fake, flags);
      expect(result.payloadBytes).toBe(90 * 5000);
      expect(result.payloadBytes).toBe(fake.payloadBytesOut);
      expect(result.bytesIn).toBe(fake.bytesOut);
      expect(result.emptyAnswers).toBe(0);
    },
  );

  it.each([1, 7, 700, 1 << 16])("verifies the sums of whole records, in pieces of %i bytes", async (pieces) => {
    const payloads = Array.from({ length: 30 }, (_, i) => new Uint8Array(100).fill(i));
    const stored = storedRecords("crc32c", payloads);
    // The last record is cut: nothing is said of it.
    const payload = (damaged: number) => () => {
      const bytes = stored.slice(0, stored.length - 50);
      if (damaged > 0) bytes[damaged] ^= 1;
      return bytes;
    };
    const flags = { api: "fetch", size: 100, "max-bytes": 5000, depth: 3, requests: 5, verify: true };
    for (const harmless of [0, stored.length - 60]) {
      fake = await FakeServer.start({ payload: payload(harmless), pieces });
      expect((await load(fake, flags)).payloadBytes).toBe(5 * (stored.length - 50));
      await fake.stop();
    }
    fake = await FakeServer.start({ payload: payload(108 * 17 + 50), pieces });
    expect(await refusal(fake, flags)).toMatch(/^2: a record whose sum does not match/);
  });

  it("walks a range in steps of the whole records that an answer holds, from its start again at the end", async () => {
    fake = await FakeServer.start({ payload: () => storedRecords("plain", [new Uint8Array(96)]) });
    const flags = { api: "fetch", format: "plain", size: 96, "max-bytes": 1000, from: 50, range: 35, requests: 8 };
    const result = await load(fake, flags);
    expect(fake.offsets).toEqual([50, 60, 70, 80, 55, 65, 75, 50]);
    expect(result.requests).toBe(8);
  });

  it("counts fetches that brought nothing", async () => {
    fake = await FakeServer.start({ payload: () => new Uint8Array() });
    const result = await load(fake, { api: "fetch", requests: 10 });
    expect(result.emptyAnswers).toBe(10);
    expect(result.payloadBytes).toBe(0);
  });

  it("ends without figures when an answer is out of order, a connection is lost or a payload is something else", async () => {
    fake = await FakeServer.start({ correlation: (id, request) => (request === 20 ? id + 1 : id) });
    expect(await refusal(fake, { depth: 4, requests: 100 })).toMatch(/^2: an answer out of order/);
    await fake.stop();
    fake = await FakeServer.start({ hangUpAt: 30 });
    expect(await refusal(fake, { depth: 4, requests: 100 })).toMatch(/^2: connection 0/);
    await fake.stop();
    fake = await FakeServer.start({ payload: () => storedRecords("crc32c", [new Uint8Array(64)]) });
    expect(await refusal(fake, { api: "fetch", size: 128, requests: 1 })).toMatch(/^2: a payload that does not begin/);
  });

  it("refuses flags that it does not know, and those that contradict each other", async () => {
    fake = await FakeServer.start();
    expect(await refusal(fake, { request: 1 })).toMatch(/^2: give either/);
    expect(await refusal(fake, { requests: 1, dept: 4 })).toMatch(/^2: unknown flag: --dept/);
    expect(await refusal(fake, { requests: "many" })).toMatch(/^2: --requests: not a number/);
    expect(fake.requests).toBe(0);
  });
});
