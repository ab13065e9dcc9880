// The floor server does the work that it is a floor for: what goes in comes out, byte for byte, as it should lie on disk.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildTools } from "../../bench/build.mjs";
import { Tools } from "../../bench/lib/tools.js";
import { concat } from "../support/bytes.js";
import { storedRecords } from "../support/stored-records.js";
import { tempDir } from "../support/tmp.js";

const RECORD_BYTES = 20;
let tools: Tools;
let child: ChildProcess | undefined;

async function serve(...flags: string[]): Promise<{ port: number; stop: () => Promise<Record<string, number>> }> {
  const server = spawn(tools.paths.floor, ["serve", "--dir", tempDir(), "--size", String(RECORD_BYTES), ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child = server;
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const port = Number(/port=(\d+)/.exec((await lines.next()).value ?? "")?.[1]);
  const stop = async () => {
    server.kill("SIGTERM");
    const { value } = await lines.next();
    await once(server, "exit");
    child = undefined;
    return JSON.parse(value ?? "{}") as Record<string, number>;
  };
  return { port, stop };
}

/** One FETCH v1, by hand. Resolves with error code, high watermark and payload. */
async function fetchOnce(port: number, offset: bigint, maxBytes: number) {
  const topic = Buffer.from("t");
  const request = Buffer.alloc(4 + 8 + 2 + topic.length + 4 + 8 + 4);
  request.writeInt32BE(request.length - 4, 0);
  request.writeInt16BE(2, 4);
  request.writeInt16BE(1, 6);
  request.writeInt32BE(77, 8);
  request.writeInt16BE(topic.length, 12);
  topic.copy(request, 14);
  request.writeBigInt64BE(offset, 19);
  request.writeInt32BE(maxBytes, 27);
  const socket = connect(port, "127.0.0.1");
  socket.write(request);
  let answer = Buffer.alloc(0);
  for await (const chunk of socket) {
    answer = Buffer.concat([answer, chunk as Buffer]);
    if (answer.length >= 4 && answer.length >= 4 + answer.readInt32BE(0)) break;
  }
  socket.destroy();
  expect(answer.readInt32BE(4)).toBe(77);
  const error = answer.readInt16BE(8);
  if (error !== 0) return { error, highWatermark: -1n, payload: Buffer.alloc(0) };
  return { error, highWatermark: answer.readBigInt64BE(10), payload: answer.subarray(22) };
}

/** What the generator sends: request n is slot n mod depth, and its bytes follow from slot and record. */
const payloadOf = (slot: number, record: number): Uint8Array =>
  Uint8Array.from({ length: RECORD_BYTES }, (_, i) => 97 + ((slot + 7 * record + i) % 26));

describe.skipIf(process.platform !== "linux")("the floor server", () => {
  beforeAll(async () => {
    tools = new Tools(await buildTools());
  }, 180_000);

  afterEach(() => {
    child?.kill("SIGKILL");
  });

  it.each([
    ["mapped", "crc32c", "sendfile"],
    ["mapped", "plain", "heap"],
    ["pwrite", "crc32c", "heap"],
    ["pwrite", "plain", "sendfile"],
  ] as const)("stores and gives back what was sent (%s, %s, %s)", async (sink, format, fetch) => {
    const { port, stop } = await serve("--sink", sink, "--format", format, "--fetch", fetch, "--segment", "1MiB");
    const [requests, records, depth] = [40, 3, 4];
    const load = await tools.load({ port, topic: "t", size: RECORD_BYTES, requests, records, depth });
    expect(load.recordsAcknowledged).toBe(requests * records);
    const sent = Array.from({ length: requests * records }, (_, n) =>
      payloadOf(Math.floor(n / records) % depth, n % records),
    );
    const stored = concat(storedRecords(format, sent));
    const all = await fetchOnce(port, 0n, 1 << 20);
    expect(all.highWatermark).toBe(BigInt(requests * records));
    expect(Buffer.compare(all.payload, stored)).toBe(0);
    const recordBytes = stored.length / sent.length;
    const some = await fetchOnce(port, 50n, 100);
    expect(Buffer.compare(some.payload, stored.subarray(50 * recordBytes, 50 * recordBytes + 100))).toBe(0);
    expect((await fetchOnce(port, 120n, 100)).payload).toHaveLength(0);
    expect((await fetchOnce(port, 121n, 100)).error).toBe(2);
    expect(await stop()).toMatchObject({ batches: requests, records: requests * records, fetches: 4 });
  });

  it("counts what the generator counts, over rolls, acknowledged or not", async () => {
    const { port, stop } = await serve("--segment", "1MiB", "--keep", "2");
    const base = { port, topic: "t", size: RECORD_BYTES, records: 50, depth: 16, connections: 3 };
    const written = await tools.load({ ...base, requests: 2000 });
    const none = await tools.load({ ...base, requests: 500, ack: "none" });
    const { batches, records } = await stop();
    expect(batches).toBe(written.requests + none.requests);
    expect(records).toBe(50 * batches);
  });

  it("keeps partitions apart, and forces those of a group together", async () => {
    const flags = ["--partitions", "4", "--segment", "1MiB", "--forcers", "2", "--force-full"];
    const { port, stop } = await serve(...flags);
    const base = { port, topic: "t", size: RECORD_BYTES, ack: "forced", partitions: 4 };
    const load = await tools.load({ ...base, connections: 8, requests: 400 });
    // Each partition counts its own offsets: a hundred of four hundred records, about.
    expect(load.logEndMax).toBeLessThan(250);
    expect(load.logEndMax).toBeGreaterThanOrEqual(100);
    expect((await stop()).records).toBe(400);
  });

  it("forces in groups: many waiting producers, fewer barriers", async () => {
    const { port, stop } = await serve();
    const load = await tools.load({
      port,
      topic: "t",
      size: RECORD_BYTES,
      ack: "forced",
      connections: 64,
      requests: 2000,
    });
    expect(load.requests).toBe(2000);
    const { barriers } = await stop();
    expect(barriers).toBeGreaterThan(0);
    expect(barriers).toBeLessThan(1000);
  });
});
