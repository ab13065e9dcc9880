// A producer that writes down every batch it sends and every answer it gets. It sends each record once, over one connection at a time, and
// waits for all its answers before it connects again.

import type { Connection } from "../../../src/client/connection.js";
import { loadPackage } from "../product.js";
import type { Random } from "../random.js";
import { PAYLOAD_BYTES_MIN } from "./payload.js";
import { type Ack, type ProducerLog, payloadsOf } from "./producer-log.js";
import { type Address, type LoadTarget, sleep, Worker } from "./worker.js";

export interface ProducerPlan {
  readonly partition: number;
  /** Chosen from for each batch. */
  readonly acks: readonly Ack[];
  /** Up to so many records in a batch, often few. */
  readonly batchRecords: number;
  /** Up to so many bytes in a record, often few. */
  readonly recordBytes: number;
  /** A batch is no larger, in bytes of its records: some brokers take only small requests. */
  readonly batchBytes: number;
  /** Batches under way at once. */
  readonly window: number;
  /** Between two batches, up to so long, in milliseconds. 0: as fast as it is answered. */
  readonly pauseMs: number;
}

type RegionOf = (payloads: Uint8Array[]) => { records: number; bytes: Uint8Array };

/** What a request carries beside each record. */
const SIZE_BYTES = 4;
/** Of the batches that are acknowledged, one in so many is followed by one that must be refused. */
const MISPLACED_CHANCE = 0.02;
/** A refusal that may pass: not to be repeated as fast as it comes. */
const REFUSED_PAUSE_MS = 5;

export class LoadProducer extends Worker {
  log: ProducerLog;
  #open = 0;
  #cut = false;
  #lost: unknown;
  #wake: () => void = () => undefined;

  constructor(
    target: LoadTarget,
    address: Address,
    random: Random,
    readonly plan: ProducerPlan,
  ) {
    super(target, address, random);
    this.log = target.history.producer(plan.partition);
  }

  /**
   * Cuts its connection as a network does. What was under way may be carried out after what it sends over the next connection: it goes on as
   * another producer.
   */
  cut(): void {
    this.#cut = true;
    this.connection?.destroy();
  }

  protected override async serve(connection: Connection): Promise<void> {
    if (this.#cut) this.log = this.target.history.producer(this.plan.partition);
    this.#cut = false;
    const { recordRegion } = await loadPackage(this.target.product);
    this.#lost = undefined;
    try {
      while (!this.stopping && this.#lost === undefined) {
        if (this.#open >= this.plan.window) {
          await this.#moved();
          continue;
        }
        this.#sendOne(connection, recordRegion);
        if (this.plan.pauseMs > 0) await sleep(this.random.next() * this.plan.pauseMs);
        else if (this.#open === 0) await sleep(0);
      }
    } finally {
      while (this.#open > 0) await this.#moved();
    }
    if (this.#lost !== undefined) throw this.#lost;
  }

  #moved(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #sendOne(connection: Connection, recordRegion: RegionOf): void {
    const { random, plan, log } = this;
    const { history, topic } = this.target;
    const sizes = this.#sizes();
    const ack = random.pick(plan.acks);
    const batch = history.send(log, sizes, ack);
    const region = recordRegion(payloadsOf(batch));
    if (ack === "none") {
      try {
        connection.post(topic, plan.partition, region);
      } catch (error) {
        this.#lost = error;
      }
      return;
    }
    this.#open++;
    connection
      .produce(topic, plan.partition, region, { ack })
      .then(
        ({ baseOffset, logEndOffset }) => {
          history.acknowledged(log, batch, baseOffset, logEndOffset);
          if (random.chance(MISPLACED_CHANCE)) return this.#sendMisplaced(connection, recordRegion, baseOffset);
        },
        (error: unknown) => this.#failed(batch, error),
      )
      .catch((error: unknown) => {
        this.#lost ??= error;
      })
      .finally(() => {
        this.#open--;
        this.#wake();
      });
  }

  /** A batch that wants to lie where another does: the broker has to refuse it. */
  async #sendMisplaced(connection: Connection, recordRegion: RegionOf, expectedOffset: number): Promise<void> {
    const { log } = this;
    const { history, topic } = this.target;
    const batch = history.send(log, [PAYLOAD_BYTES_MIN], "written");
    const region = recordRegion(payloadsOf(batch));
    try {
      const { baseOffset } = await connection.produce(topic, this.plan.partition, region, {
        ack: "written",
        expectedOffset,
      });
      history.misplaced(batch, expectedOffset, baseOffset);
    } catch (error) {
      if ((error as { code?: unknown }).code === "OFFSET_MISMATCH") history.refused(batch);
      else await this.#failed(batch, error);
    }
  }

  #sizes(): number[] {
    const { random } = this;
    const { batchRecords, recordBytes, batchBytes } = this.plan;
    const sizes: number[] = [];
    let left = batchBytes;
    for (let records = random.skewed(1, batchRecords + 1); records > 0; records--) {
      const size = random.skewed(PAYLOAD_BYTES_MIN, Math.min(recordBytes, left) + 1);
      sizes.push(size);
      left -= size + SIZE_BYTES;
      if (left < PAYLOAD_BYTES_MIN) break;
    }
    return sizes;
  }

  async #failed(batch: Parameters<LoadTarget["history"]["failed"]>[0], error: unknown): Promise<void> {
    this.target.history.failed(batch, error);
    const code = (error as { code?: unknown } | undefined)?.code;
    if (code === "LOG_FULL" || code === "OVERLOADED") {
      await sleep(REFUSED_PAUSE_MS);
      return;
    }
    if (code === "STORAGE_FAILURE") await sleep(REFUSED_PAUSE_MS);
    this.#lost ??= error;
  }
}
