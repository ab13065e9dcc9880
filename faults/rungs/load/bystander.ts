// The one who behaves: a producer and a consumer whose history is kept, and somebody who asks for the time that everything takes. Whatever the crowds do, they are served.

import { checkHistory, type Verdict } from "../../lib/history/check.js";
import { History } from "../../lib/history/history.js";
import { type Load, startLoad } from "../../lib/history/load.js";
import { readLogs } from "../../lib/history/read-logs.js";
import { Address, type LoadTarget, sleep } from "../../lib/history/worker.js";
import { loadPackage } from "../../lib/product.js";
import type { Random } from "../../lib/random.js";
import type { Product } from "../../lib/rung.js";
import { CROWD_TOPIC } from "./frames.js";

export const TOPIC = "orders";
export const PROBE_TOPIC = "probe";
/** Producer, consumer, and who asks for the time. */
export const BYSTANDERS = 3;

const ASKS_EVERY_MS = 50;
const ASKS_MS = 60_000;

type Connection = Awaited<ReturnType<Awaited<ReturnType<typeof loadPackage>>["Connection"]["connect"]>>;

export class Bystander {
  /** How long appends and reads took, in milliseconds. */
  readonly latencies: number[] = [];
  failure: unknown;
  #over = false;
  readonly #asking: Promise<void>;

  private constructor(
    readonly target: LoadTarget,
    readonly port: number,
    readonly load: Load,
    readonly connection: Connection,
  ) {
    this.#asking = this.#ask().catch((error: unknown) => {
      this.failure = error;
    });
  }

  static async begin(product: Product, port: number, random: Random): Promise<Bystander> {
    const history = new History({ partitions: 1, visibility: "written", retention: false });
    const target: LoadTarget = { product, topic: TOPIC, recordFormat: "crc32c", history };
    const plan = {
      producers: [
        {
          partition: 0,
          acks: ["written", "forced"] as const,
          batchRecords: 5,
          recordBytes: 400,
          batchBytes: 100_000,
          window: 4,
          pauseMs: 20,
        },
      ],
      consumers: [{ partition: 0, manner: "follow" as const, maxBytes: 1 << 16, maxWaitMs: 200 }],
    };
    const load = startLoad(target, new Address(port), random, plan);
    const { Connection } = await loadPackage(product);
    const connection = await Connection.connect({ broker: `127.0.0.1:${port}`, requestTimeoutMs: ASKS_MS });
    return new Bystander(target, port, load, connection);
  }

  /** Its latencies since it was asked last, the longest and the middle one. */
  taken(): { readonly longest: number; readonly middle: number; readonly asked: number } {
    const all = this.latencies.splice(0).sort((a, b) => a - b);
    return { longest: all.at(-1) ?? 0, middle: all[all.length >> 1] ?? 0, asked: all.length };
  }

  /** Its history against the log. */
  async judge(): Promise<Verdict> {
    this.#over = true;
    await this.#asking;
    this.connection.destroy();
    if (this.failure !== undefined) throw this.failure;
    await this.load.stop();
    return checkHistory(this.target.history, await readLogs(this.target, this.port));
  }

  async #ask(): Promise<void> {
    const { recordRegion } = await loadPackage(this.target.product);
    while (!this.#over) {
      const began = performance.now();
      const region = recordRegion([new Uint8Array(50).fill(1)]);
      const { baseOffset } = await this.connection.produce(PROBE_TOPIC, 0, region, { ack: "written" });
      await this.connection.fetch(PROBE_TOPIC, 0, baseOffset, 1000, {});
      this.latencies.push(performance.now() - began);
      await sleep(ASKS_EVERY_MS);
    }
  }
}

export const topics = `${TOPIC}:1,${CROWD_TOPIC}:1,${PROBE_TOPIC}:1`;
