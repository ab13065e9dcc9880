// Subscriptions of a client on real brokers in processes of their own, over a bad network, while brokers stop and die,
// retention removes what is old and the reading program itself is killed. What must hold: every record once, in order inside its
// partition, or an error that says why not; what was handled is handled again only after a kill, and only the last of it.
//
// MILLRACE_SEED=N makes the network cut, split and delay as it did.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { describe, expect, it, onTestFinished } from "vitest";
import { fileCheckpoints } from "../../src/client/checkpoint/file.js";
import type { CheckpointPosition } from "../../src/client/checkpoint/store.js";
import type { Client } from "../../src/client/client.js";
import { type ConnectOptions, connect } from "../../src/client/connect.js";
import { Connection } from "../../src/client/connection.js";
import type { RecordBatch } from "../../src/client/record-batch.js";
import { recordRegion } from "../../src/client/record-region.js";
import type { MillraceError } from "../../src/model/errors.js";
import { packageRoot } from "../../src/native/load.js";
import { type BrokerProcess, spawnReady, testSettings } from "../support/broker.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { SOON_MS } from "../support/waiting.js";

const seed = printedSeed("subscribing");
const settings = (dir: string, topics: string) => ({ ...testSettings(dir), topics });
const written = { ack: "written" } as const;

async function clientAt(broker: string, options: ConnectOptions = {}): Promise<Client> {
  const client = await connect({ broker, connectTimeoutMs: 2000, requestTimeoutMs: 5000, ...options });
  onTestFinished(() => client.close());
  return client;
}

async function direct({ port }: BrokerProcess): Promise<Connection> {
  const connection = await Connection.connect({ broker: `127.0.0.1:${port}` });
  onTestFinished(() => connection.destroy());
  return connection;
}

const storedOffset = (stored: readonly CheckpointPosition[], partition: string): number =>
  stored.find((each) => each.partition === Number(partition))?.offset ?? 0;

const numbered = (name: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}:${from + i}`);

/** What was handled, by topic and partition; each batch must follow on the one before. */
class Handled {
  readonly of = new Map<string, string[]>();

  take(batch: RecordBatch): void {
    const name = `${batch.topic}-${batch.partition}`;
    const records = this.of.get(name) ?? [];
    this.of.set(name, records);
    expect(`${name} ${batch.baseOffset}`).toBe(`${name} ${records.length}`);
    for (const record of batch) records.push(Buffer.from(record).toString());
  }

  get count(): number {
    return [...this.of.values()].reduce((sum, { length }) => sum + length, 0);
  }
}

describe("a subscription with checkpoints", () => {
  it("P01 P04 F17 handles every record once over a network that cuts, delays and splits, and handlers that fail", async () => {
    const random = randomFrom(seed);
    const broker = await spawnReady(settings(tempDir("subscribing"), "orders:3,clicks:2"));
    const proxy = await CuttingProxy.start(broker.port, random);
    const client = await clientAt(proxy.address);
    const store = fileCheckpoints(join(tempDir("checkpoint"), "all.checkpoint"));
    const handled = new Handled();
    let failures = 0;
    let isOver = false;
    /** Begins again from what was stored whenever its handler fails. */
    const consume = async (): Promise<void> => {
      while (!isOver) {
        const reading = client.follow(["orders", "clicks"], { maxBytes: 400, maxWaitMs: 500 }).checkpointing(store);
        try {
          await reading.run(async (batch) => {
            if (random() < 0.05) throw new Error("the handler fails");
            if (random() < 0.1) await sleep(random() * 20);
            handled.take(batch);
            return !isOver;
          });
        } catch (error) {
          expect((error as Error).message).toBe("the handler fails");
          failures++;
        }
      }
    };
    const consuming = consume();
    consuming.catch(() => undefined);
    proxy.network = { pieceBytesMax: 300, delayMsMax: 3, lifeMs: 80 };
    proxy.cut();
    const producer = await direct(broker);
    const sent = new Map([...[0, 1, 2].map((p) => [`orders-${p}`, 0] as const), ["clicks-0", 0], ["clicks-1", 0]]);
    const names = [...sent.keys()];
    const until = performance.now() + 5000;
    while (performance.now() < until) {
      const name = names[Math.floor(random() * names.length)] as string;
      const [topic, partition] = name.split("-") as [string, string];
      const records = numbered(name, sent.get(name) ?? 0, 1 + Math.floor(random() * 20));
      await producer.produce(topic, Number(partition), recordRegion(records), written);
      sent.set(name, (sent.get(name) ?? 0) + records.length);
      await sleep(random() * 15);
    }
    proxy.network = {};
    const total = [...sent.values()].reduce((sum, each) => sum + each);
    await Promise.race([consuming, expect.poll(() => handled.count, { timeout: 10_000 }).toBe(total)]);
    isOver = true;
    await producer.produce("orders", 0, recordRegion(["last"]), written);
    await consuming;
    for (const [name, count] of sent) {
      const records = handled.of.get(name)?.filter((text) => text !== "last") ?? [];
      expect(records).toEqual(numbered(name, 0, count));
    }
    expect(proxy.cuts).toBeGreaterThan(10);
    expect(failures).toBeGreaterThan(2);
    const ends = (await store.load()).map(({ topic, partition, offset }) => [`${topic}-${partition}`, offset]);
    expect(new Map(ends as [string, number][])).toEqual(
      new Map([...handled.of].map(([name, { length }]) => [name, length])),
    );
  }, 40_000);

  it("F16 P04 goes on when the broker dies and comes back under it: what was acknowledged is there, once", async () => {
    const dir = tempDir("subscribing");
    let broker = await spawnReady(settings(dir, "orders:2"));
    const proxy = await CuttingProxy.start(broker.port, randomFrom(seed + 1));
    proxy.network = { pieceBytesMax: 2000 };
    const client = await clientAt(proxy.address);
    const events: string[] = [];
    const handled = new Handled();
    const store = fileCheckpoints(join(dir, "orders.checkpoint"));
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const reading = client
      .follow("orders", {
        signal: stop.signal,
        onLost: ({ code }) => events.push(code),
        onRecovered: () => events.push("recovered"),
      })
      .checkpointing(store);
    const consuming = (async () => {
      for await (const batch of reading) handled.take(batch);
    })();
    consuming.catch(() => undefined);
    let sent = 0;
    for (let death = 0; death < 3; death++) {
      const producer = await direct(broker);
      if (death > 0) await expect.poll(() => events.at(-1), { timeout: 10_000 }).toBe("recovered");
      for (let batch = 0; batch < 20; batch++) {
        await producer.produce("orders", 1, recordRegion(numbered("1", sent, 7)));
        sent += 7;
      }
      broker.kill(death === 1 ? "SIGTERM" : "SIGKILL");
      await broker.exited;
      broker = await spawnReady(settings(dir, "orders:2"));
      proxy.target = broker.port;
    }
    await expect.poll(() => handled.count, { timeout: 15_000 }).toBe(sent);
    expect(handled.of.get("orders-1")).toEqual(numbered("1", 0, sent));
    await expect.poll(() => events.at(-1), { timeout: 10_000 }).toBe("recovered");
    expect(events.filter((event) => event === "recovered").length).toBeGreaterThanOrEqual(3);
    stop.abort(new Error("enough"));
    await expect(consuming).rejects.toThrow("enough");
  }, 60_000);

  it("P04 a program that is killed reads again what it handled last, and misses nothing", async () => {
    const broker = await spawnReady(settings(tempDir("subscribing"), "orders:2"));
    const dir = tempDir("killed");
    const program = join(dir, "reader.mjs");
    const everyMs = 30;
    await build({
      stdin: {
        contents: `
          import { writeSync } from "node:fs";
          import { connect, fileCheckpoints } from "millrace/client";
          const client = await connect({ broker: "127.0.0.1:${broker.port}" });
          const store = fileCheckpoints("orders.checkpoint");
          const reading = client.follow("orders", { maxBytes: 200 }).checkpointing(store, { saveEveryMs: ${everyMs} });
          for await (const { partition, offset, payload } of reading.records()) {
            writeSync(1, partition + " " + offset + " " + Buffer.from(payload) + " " + Date.now() + "\\n");
          }`,
        resolveDir: dir,
        loader: "ts",
      },
      alias: { "millrace/client": join(packageRoot(), "src/client.ts") },
      outfile: program,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
    });
    const producer = await direct(broker);
    let sent = 0;
    let isOver = false;
    const producing = (async () => {
      for (; !isOver; sent++) {
        await producer.produce("orders", sent % 2, recordRegion([`${sent}`]), written);
        if (sent % 5 === 0) await sleep(1);
      }
    })();
    const random = randomFrom(seed + 2);
    const seen = [new Map<number, string>(), new Map<number, string>()];
    let again = 0;
    let stored: readonly CheckpointPosition[] = [];
    for (let life = 0; life < 6; life++) {
      const child = spawn(process.execPath, [program], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
      let said = "";
      child.stdout.on("data", (chunk: Buffer) => {
        said += chunk.toString();
      });
      await once(child.stdout, "data");
      await sleep(100 + random() * 200);
      if (life === 5) {
        isOver = true;
        await producing;
        const last = () =>
          Math.max(
            ...said
              .split("\n")
              .slice(0, -1)
              .map((line) => Number(line.split(" ")[2])),
          );
        await expect.poll(last, { timeout: 10_000 }).toBe(sent - 1);
      }
      child.kill("SIGKILL");
      await once(child, "close");
      const begun = new Set<string>();
      for (const line of said.split("\n").slice(0, -1)) {
        const [partition, offset, text] = line.split(" ") as [string, string, string];
        const records = seen[Number(partition)] as Map<number, string>;
        // From where the one before had saved, which is no later than where it ended, and in order.
        if (!begun.has(partition)) expect(Number(offset)).toBe(storedOffset(stored, partition));
        begun.add(partition);
        if (records.has(Number(offset))) again++;
        else expect(Number(offset)).toBe(records.size);
        expect(records.get(Number(offset)) ?? text).toBe(text);
        records.set(Number(offset), text);
      }
      stored = await fileCheckpoints(join(dir, "orders.checkpoint")).load();
      for (const { partition, offset } of stored) {
        expect(offset).toBeLessThanOrEqual(seen[partition]?.size ?? 0);
        if (life > 0) expect(offset).toBeGreaterThan(0);
      }
    }
    expect((seen[0]?.size ?? 0) + (seen[1]?.size ?? 0)).toBe(sent);
    for (const partition of [0, 1]) {
      expect([...(seen[partition] as Map<number, string>).values()]).toEqual(
        Array.from({ length: (sent + 1 - partition) >> 1 }, (_, i) => `${2 * i + partition}`),
      );
    }
    expect(again).toBeLessThan(sent);
  }, 40_000);
});

describe("a subscription on a log that retention shortens", () => {
  const short = {
    "segment.bytes": "64KiB",
    "max.frame.bytes": "32KiB",
    "retention.bytes": "256KiB",
    "retention.check.ms": "10ms",
  };

  async function shortened() {
    const broker = await spawnReady({ ...settings(tempDir("subscribing"), "orders:2"), ...short });
    const producer = await direct(broker);
    let sent = 0;
    const produce = async (requests: number) => {
      for (let i = 0; i < requests; i++, sent += 10) {
        const records = numbered("", sent, 10).map((text) => text.padEnd(500, "."));
        await Promise.all(
          [0, 1].map((partition) => producer.produce("orders", partition, recordRegion(records), written)),
        );
      }
    };
    return { client: await clientAt(`127.0.0.1:${broker.port}`), produce, sent: () => sent };
  }

  it("P02 P03 replays from the start of the live log to the end of then, while producers and retention go on", async () => {
    const { client, produce } = await shortened();
    await produce(200);
    const starts = async () => (await client.topics(["orders"]))[0]?.partitions.map((each) => each.logStartOffset);
    await expect.poll(async () => Math.min(...((await starts()) ?? [])), { timeout: SOON_MS }).toBeGreaterThan(0);
    let isOver = false;
    const producing = (async () => {
      while (!isOver) await produce(5);
    })();
    for (let replay = 0; replay < 15; replay++) {
      const [ends] = await client.topics(["orders"]);
      const next = new Map<number, number>();
      // One that is overtaken in the middle has lost something, and says so; in the beginning none is.
      const onOutOfRange = () => "earliest" as const;
      for await (const batch of client.replay("orders", { onOutOfRange })) {
        const begin = next.get(batch.partition) ?? batch.baseOffset;
        expect(batch.baseOffset).toBeGreaterThanOrEqual(begin);
        expect(batch.baseOffset).toBeGreaterThan(0);
        expect(Buffer.from(batch.at(0)).toString()).toMatch(new RegExp(`^:${batch.baseOffset}\\.`));
        next.set(batch.partition, batch.nextOffset);
      }
      const [later] = await client.topics(["orders"]);
      for (const [partition, end] of next) {
        expect(end).toBeGreaterThanOrEqual(ends?.partitions[partition]?.highWatermark ?? Number.NaN);
        expect(end).toBeLessThanOrEqual(later?.partitions[partition]?.highWatermark ?? Number.NaN);
      }
    }
    isOver = true;
    await producing;
  }, 60_000);

  it("P08 P02 a reader that is too slow is told what it has missed, and may go on at the start", async () => {
    const { client, produce, sent } = await shortened();
    const slow = (onOutOfRange: "error" | "earliest") =>
      client
        .follow("orders", { partitions: [0], maxBytes: 8192, answerBytes: 8192, onOutOfRange })
        [Symbol.asyncIterator]();
    await produce(20);
    for (const choice of ["error", "earliest"] as const) {
      const batches = slow(choice);
      const { value: first } = await batches.next();
      const before = sent();
      await produce(150);
      const start = async () => (await client.listOffsets("orders", 0, "earliest")).offset;
      await expect.poll(start, { timeout: 10_000 }).toBeGreaterThan(before);
      // The answer ahead was read before.
      const { value: ahead } = await batches.next();
      expect((ahead as RecordBatch).baseOffset).toBe((first as RecordBatch).nextOffset);
      if (choice === "error") {
        await expect(batches.next()).rejects.toMatchObject({
          code: "OFFSET_OUT_OF_RANGE",
          offset: (ahead as RecordBatch).nextOffset,
        });
        continue;
      }
      const { value: later } = await batches.next();
      expect((later as RecordBatch).baseOffset).toBeGreaterThan((ahead as RecordBatch).nextOffset);
      let next = (later as RecordBatch).nextOffset as number;
      while (next < sent()) next = ((await batches.next()).value as RecordBatch).nextOffset;
      await batches.return?.();
    }
  }, 30_000);
});

describe("a subscription on what is stored", () => {
  it("S15 P10 finds a bit that was flipped on the disk, gives what is before it and names the offset", async () => {
    const dir = tempDir("subscribing");
    const broker = await spawnReady({ ...settings(dir, "orders:1"), "segment.mode": "FILE_CHANNEL" });
    await (await direct(broker)).produce("orders", 0, recordRegion(["first", "second", "third"]));
    const partition = join(dir, "orders-0");
    const segment = join(partition, readdirSync(partition).find((name) => name.endsWith(".log")) as string);
    const bytes = readFileSync(segment);
    bytes[bytes.indexOf("second") + 2] ^= 0x10;
    writeFileSync(segment, bytes);
    const client = await clientAt(`127.0.0.1:${broker.port}`);
    const seen: string[] = [];
    const reading = async () => {
      for await (const { payload } of client.replay("orders").records()) seen.push(Buffer.from(payload).toString());
    };
    await expect(reading()).rejects.toMatchObject({ code: "CORRUPT_RECORD", topic: "orders", partition: 0, offset: 1 });
    expect(seen).toEqual(["first"]);
  });

  it("S18 says which record does not fit, on both ways of reading", async () => {
    const broker = await spawnReady(settings(tempDir("subscribing"), "orders:1"));
    const large = "x".repeat(10_000);
    await (await direct(broker)).produce("orders", 0, recordRegion(["small", large, "after"]));
    const client = await clientAt(`127.0.0.1:${broker.port}`);
    const read = async (maxBytesLimit?: number) => {
      const lengths: number[] = [];
      for await (const { payload } of client.replay("orders", { maxBytes: 1000, maxBytesLimit }).records()) {
        lengths.push(payload.length);
      }
      return lengths;
    };
    const does_not_fit = { code: "RECORD_EXCEEDS_MAX_BYTES", offset: 1, recordBytes: 10_008, maxBytes: 1000 };
    await expect(read(1000)).rejects.toMatchObject(does_not_fit);
    for (const limit of [20_000, undefined]) expect(await read(limit)).toEqual([5, 10_000, 5]);
    const consumer = await client.consumer({ topic: "orders", partition: 0, maxBytes: 1000, maxBytesLimit: 1000 });
    expect((await consumer.poll()).length).toBe(1);
    await expect(consumer.poll()).rejects.toMatchObject(does_not_fit);
  });

  it("F20 notices by its checkpoint that a recovery has cut what it had handled, and goes on where it was told", async () => {
    const dir = tempDir("subscribing");
    const options = { ...settings(dir, "orders:1"), "segment.mode": "FILE_CHANNEL" };
    let broker = await spawnReady(options);
    const store = fileCheckpoints(join(tempDir("checkpoint"), "orders"));
    const fixed = (from: number, count: number) => numbered("", from, count).map((text) => text.padEnd(20, "."));
    const producer = await direct(broker);
    await producer.produce("orders", 0, recordRegion(fixed(0, 80)));
    await producer.produce("orders", 0, recordRegion(fixed(80, 20)), written);
    const first = await clientAt(`127.0.0.1:${broker.port}`);
    await first
      .replay("orders")
      .checkpointing(store)
      .run(() => undefined);
    expect((await store.load())[0]).toMatchObject({ offset: 100, epoch: 0 });
    broker.kill("SIGKILL");
    await broker.exited;
    // What a loss of power takes: some of the records that nobody had forced, the last of them in part.
    const partition = join(dir, "orders-0");
    const segment = readdirSync(partition).find((name) => name.endsWith(".log")) as string;
    truncateSync(join(partition, segment), 90 * (8 + 20) + 11);
    broker = await spawnReady(options);
    const others = Array.from({ length: 30 }, (_, i) => `other ${i}`);
    await (await direct(broker)).produce("orders", 0, recordRegion(others));
    const client = await clientAt(`127.0.0.1:${broker.port}`);
    const again = client
      .replay("orders")
      .checkpointing(store)
      .run(() => undefined);
    const error = (await again.catch((caught: unknown) => caught)) as MillraceError;
    expect(error).toMatchObject({ code: "LOG_TRUNCATED", offset: 100, epochStart: 90 });
    const read: string[] = [];
    const told = client.replay("orders", { onTruncated: ({ epochStart }) => epochStart }).checkpointing(store);
    await told.run((batch) => void read.push(...batch.records.map((record) => Buffer.from(record).toString())));
    expect(read).toEqual(others);
    expect((await store.load())[0]).toMatchObject({ offset: 120, epoch: 1 });
  });
});
