// S11 to S15 from the outside: a real broker is killed, its files are damaged as a crash or a disk would, and clients see what the next one makes of them.

import { readFileSync, truncateSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { walkStored } from "../../faults/lib/history/stored.js";
import { walkSegment } from "../../faults/rungs/format-sweep/model.js";
import { Connection } from "../../src/client/connection.js";
import { Consumer } from "../../src/client/consumer.js";
import { recordRegion } from "../../src/client/record-region.js";
import { logName } from "../../src/storage/segment-name.js";
import { files, flipBit, overwrite } from "../storage/support/crash.js";
import { type BrokerProcess, spawnReady, testSettings } from "../support/broker.js";
import { millrace } from "../support/cli.js";
import { tempDir } from "../support/tmp.js";
import { LONG_MS, sleep, until } from "../support/waiting.js";
import { fetch } from "../support/wire.js";

const HEADER_BYTES = 8;
const text = (number: number): string => `record ${number}, and a little more to be torn`;
const texts = (count: number): string[] => Array.from({ length: count }, (_, number) => text(number));

class Played {
  readonly dataDir = tempDir("outside");
  broker!: BrokerProcess;
  client!: Connection;

  constructor(readonly settings: Record<string, unknown>) {}

  get dir(): string {
    return join(this.dataDir, "orders-0");
  }

  log(baseOffset = 0): string {
    return join(this.dir, logName(baseOffset));
  }

  async start(settings: Record<string, unknown> = {}): Promise<void> {
    this.broker = await spawnReady({ ...testSettings(this.dataDir), ...this.settings, ...settings });
    this.client = await Connection.connect({ broker: `127.0.0.1:${this.broker.port}` });
    onTestFinished(() => this.client.destroy());
  }

  async kill(): Promise<void> {
    this.broker.kill("SIGKILL");
    await this.broker.exited;
  }

  async produce(records: readonly string[]): Promise<number> {
    const { baseOffset } = await this.client.produce("orders", 0, recordRegion(records), { ack: "written" });
    return baseOffset;
  }

  async read(from = 0): Promise<string[]> {
    const consumer = await Consumer.open(this.client, { topic: "orders", partition: 0, from });
    const all: string[] = [];
    for (let batch = await consumer.poll(); batch.length > 0; batch = await consumer.poll()) {
      for (const record of batch) all.push(Buffer.from(record).toString());
    }
    return all;
  }

  /** Where each record of a segment lies. */
  positions(baseOffset = 0): readonly number[] {
    return walkSegment(readFileSync(this.log(baseOffset)), "crc32c").positions;
  }

  /** What the broker said of a kind. */
  said(kind: string): string[] {
    return this.broker.lines.filter((line) => line.kind === kind).map(({ msg }) => msg);
  }
}

/** Ten records and the kill, as the page cache has it. */
async function killed(settings: Record<string, unknown>): Promise<Played> {
  const played = new Played(settings);
  await played.start();
  for (const each of texts(10)) await played.produce([each]);
  await played.kill();
  return played;
}

it("S11 a broker on FILE_CHANNEL whose last record is half written gives its offset to the next one", async () => {
  const played = await killed({ "segment.mode": "FILE_CHANNEL" });
  truncateSync(played.log(), played.positions()[9] + HEADER_BYTES + 5);
  await played.start();
  expect(await played.read()).toEqual(texts(9));
  expect(played.said("recovery.torn")).toHaveLength(1);
  expect(await played.produce(["instead"])).toBe(9);
  expect(await played.read()).toEqual([...texts(9), "instead"]);
});

it("S12 a broker on MAPPED whose last record lacks its length: a shorter one takes its place, and nothing of it comes back", async () => {
  const played = await killed({ "segment.mode": "MAPPED" });
  overwrite(played.log(), played.positions()[9], new Uint8Array(4));
  await played.start();
  expect(await played.read()).toEqual(texts(9));
  expect(await played.produce(["short"])).toBe(9);
  await played.kill();
  await played.start();
  expect(await played.read()).toEqual([...texts(9), "short"]);
  expect(await played.produce(["behind it"])).toBe(10);
});

it("S13 retention to one byte leaves the active segment, and a reader in the middle of a removed one finishes its read", async () => {
  const segmentBytes = 16 * 1024 * 1024;
  const played = new Played({
    "segment.bytes": segmentBytes,
    "max.frame.bytes": 1024 * 1024,
    // Nothing is removed before there are three segments.
    "retention.bytes": 2 * segmentBytes,
    "retention.check.ms": 10,
  });
  await played.start();
  const records = Array.from({ length: 48 }, (_, number) => String.fromCharCode(97 + (number % 26)).repeat(900_000));
  for (const record of records.slice(0, 20)) await played.produce([record]);
  // It asks for the first segment and takes nothing of it: most waits in the broker, as a slice of the file.
  const socket = connect(played.broker.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.pause();
  socket.write(fetch(0, { maxBytes: segmentBytes }));
  await sleep(200);
  for (const record of records.slice(20)) await played.produce([record]);
  await until("retention removes the first segment", () => !files(played.dir, ".log").includes(logName(0)), LONG_MS);
  const answer = await answerOf(socket);
  const { payloads } = walkStored(answer, "crc32c");
  expect(payloads.length).toBeGreaterThan(15);
  for (const [number, payload] of payloads.entries()) expect(Buffer.from(payload).toString()).toBe(records[number]);

  await played.broker.stop();
  await played.start({ "retention.bytes": 1 });
  await until("one segment is left", () => files(played.dir, ".log").length === 1, LONG_MS);
  const [{ partitions }] = await played.client.metadata(["orders"]);
  expect(partitions[0].logStartOffset).toBe(Number(files(played.dir, ".log")[0].slice(0, 20)));
  expect(partitions[0].logStartOffset).toBeGreaterThan(0);
  expect(await played.read(partitions[0].logStartOffset)).toEqual(records.slice(partitions[0].logStartOffset));
});

/** The payload of one answer to a FETCH v1: length, correlation, error, high watermark, payload bytes, payload. */
async function answerOf(socket: Socket): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let had = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    had += chunk.length;
    const bytes = had >= 4 ? Buffer.concat(chunks) : undefined;
    if (bytes !== undefined && had >= 4 + bytes.readInt32BE(0)) return bytes.subarray(4 + 4 + 2 + 8 + 4);
  }
  throw new Error(`the connection ended after ${had} bytes`);
}

it("S14 a broker that is killed on one path and started on the other has every record and goes on, both ways round", async () => {
  for (const [one, other] of [
    ["FILE_CHANNEL", "MAPPED"],
    ["MAPPED", "FILE_CHANNEL"],
  ]) {
    const played = await killed({ "segment.mode": one });
    await played.start({ "segment.mode": other });
    expect(await played.read()).toEqual(texts(10));
    expect(await played.produce(["on the other path"])).toBe(10);
    await played.kill();
    await played.start({ "segment.mode": one });
    expect(await played.read()).toEqual([...texts(10), "on the other path"]);
    await played.kill();
  }
});

it("S15 a flipped bit is found by recovery, by verify and by the client that reads it, each naming the offset", async () => {
  const played = await killed({ "segment.bytes": "64KiB", "max.frame.bytes": "32KiB" });
  flipBit(played.log(), played.positions()[7] + HEADER_BYTES + 3);
  // The start would make a torn end of it, so verify calls it no damage, and names it.
  const verified = await millrace(["verify", played.dataDir]);
  expect(verified.stdout).toMatch(/offset 7\b/);
  await played.start();
  expect(played.said("recovery.torn")[0]).toMatch(/offset 7\b/);
  expect(await played.read()).toEqual(texts(7));

  // In a sealed segment, under a broker that serves it.
  const padding = "p".repeat(20_000);
  for (let records = 0; records < 5; records++) await played.produce([padding]);
  await until("the first segment is sealed", () => files(played.dir, ".index").length > 0);
  flipBit(played.log(), played.positions()[8] + HEADER_BYTES + 10_000);
  await expect(played.read()).rejects.toMatchObject({ code: "CORRUPT_RECORD", offset: 8 });
  const sealed = await millrace(["verify", played.dataDir]);
  expect(sealed.code).toBe(1);
  expect(sealed.stdout).toMatch(/offset 8\b/);
});
