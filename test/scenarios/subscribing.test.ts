// Subscriptions with checkpoints on real brokers in processes of their own, over a bad network, while brokers stop and die and
// the reading program itself is killed. What must hold: every record once, in order inside its partition, or an error that says
// why not; what was handled is handled again only after a kill, and only the last of it.
//
// MILLRACE_SEED=N makes the network cut, split and delay as it did.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { describe, expect, it, onTestFinished } from "vitest";
import { fileCheckpoints } from "../../src/client/checkpoint/file.js";
import type { CheckpointPosition } from "../../src/client/checkpoint/store.js";
import type { RecordBatch } from "../../src/client/record-batch.js";
import { recordRegion } from "../../src/client/record-region.js";
import { packageRoot } from "../../src/native/load.js";
import { spawnReady } from "../support/broker.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { clientAt, direct, numbered, settings, written } from "./subscribers.js";

const seed = printedSeed("subscribing");

const storedOffset = (stored: readonly CheckpointPosition[], partition: string): number =>
  stored.find((each) => each.partition === Number(partition))?.offset ?? 0;

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
