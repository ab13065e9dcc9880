// A consumer that writes down everything it is shown: by FETCH v3 with its epoch, by FETCH v2 without, waiting or not, from the start of the log
// to its end and then again from somewhere.

import type { Connection } from "../../../src/client/connection.js";
import { ErrorCodes, errorRow } from "../../../src/model/error-codes.js";
import type { Random } from "../random.js";
import type { Asked } from "./history.js";
import { walkStored } from "./stored.js";
import { type Address, type LoadTarget, sleep, Worker } from "./worker.js";

export interface ConsumerPlan {
  readonly partition: number;
  /** `follow`: to the end, and waits there. `roam`: begins anew somewhere, again and again. */
  readonly manner: "follow" | "roam";
  readonly maxBytes: number;
  readonly maxWaitMs: number;
}

const MAX_BYTES = 16 * 1024 * 1024;
/** Some clients are old. */
const OLD_FETCH_CHANCE = 0.3;
const JUMP_CHANCE = 0.05;

export class LoadConsumer extends Worker {
  #position = 0;
  #epoch = -1;
  #highWatermark = 0;
  #maxBytes: number;

  constructor(
    target: LoadTarget,
    address: Address,
    random: Random,
    readonly plan: ConsumerPlan,
  ) {
    super(target, address, random);
    this.#maxBytes = plan.maxBytes;
  }

  protected override async serve(connection: Connection): Promise<void> {
    while (!this.stopping) {
      if (this.plan.manner === "roam" && this.random.chance(JUMP_CHANCE)) this.#jump();
      if (this.random.chance(OLD_FETCH_CHANCE)) await this.#fetchOld(connection);
      else await this.#fetch(connection);
      if (this.plan.maxWaitMs === 0) await sleep(1);
    }
  }

  #jump(): void {
    const start = this.target.history.startSeen(this.plan.partition);
    if (this.#highWatermark > start) this.#position = this.random.int(start, this.#highWatermark + 1);
    this.#epoch = -1;
  }

  async #fetch(connection: Connection): Promise<void> {
    const { partition, maxWaitMs } = this.plan;
    const { topic, history } = this.target;
    const asked = history.asked(partition, this.#position);
    const at = { topic, partition, epoch: this.#epoch, fetchOffset: this.#position, maxBytes: this.#maxBytes };
    const [answer] = await connection.fetchMany([at], this.#maxBytes, { maxWaitMs });
    const { error, epochStart, logStartOffset, highWatermark, logEndOffset, epoch, payload } = answer;
    if (error === ErrorCodes.LOG_TRUNCATED) {
      history.truncated(asked, epochStart);
      this.#position = Math.min(this.#position, epochStart);
      this.#epoch = epoch;
      return;
    }
    if (error === ErrorCodes.OFFSET_OUT_OF_RANGE) {
      this.#outOfRange(asked, logStartOffset, logEndOffset);
      return;
    }
    if (error !== ErrorCodes.NONE)
      throw Object.assign(new Error(`FETCH: error ${error}`), { code: errorRow(error)?.name });
    this.#took(asked, payload, { highWatermark, logStartOffset, logEndOffset, epoch });
    this.#epoch = epoch;
  }

  async #fetchOld(connection: Connection): Promise<void> {
    const { partition, maxWaitMs } = this.plan;
    const { topic, history } = this.target;
    const asked = history.asked(partition, this.#position);
    try {
      const answer = await connection.fetch(topic, partition, this.#position, this.#maxBytes, { maxWaitMs });
      this.#took(asked, answer.payload, { highWatermark: answer.highWatermark });
      // Nobody said under which epoch these were read.
      this.#epoch = -1;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "OFFSET_OUT_OF_RANGE") throw error;
      const [found] = await connection.metadata([topic]);
      const { logStartOffset, logEndOffset } = found.partitions[partition];
      this.#outOfRange(asked, logStartOffset, logEndOffset);
    }
  }

  #took(
    asked: Asked,
    payload: Uint8Array,
    said: { highWatermark: number; logStartOffset?: number; logEndOffset?: number; epoch?: number },
  ): void {
    const { history, recordFormat } = this.target;
    const { payloads, wrong } = walkStored(payload, recordFormat);
    const where = `partition ${asked.partition}, FETCH from ${asked.from}`;
    if (wrong !== undefined) history.violations.add("answer", `${where}: ${wrong}`);
    // The rest of a record belongs to the next answer; one that is larger than an answer needs a larger one.
    if (payloads.length === 0 && payload.length > 0) this.#maxBytes = Math.min(this.#maxBytes * 2, MAX_BYTES);
    this.#position = history.shown(asked, { payloads, ...said });
    this.#highWatermark = said.highWatermark;
  }

  /** Retention has overtaken it, or a cut took what it stood behind and nobody told it. */
  #outOfRange(asked: Asked, logStartOffset: number, logEndOffset: number): void {
    const { history } = this.target;
    const text = `partition ${asked.partition}: ${asked.from} is out of range, and the log is ${logStartOffset} … ${logEndOffset}`;
    if (asked.from < logStartOffset) {
      if (!history.options.retention) history.violations.add("log-start", text);
      this.#position = logStartOffset;
    } else if (asked.from > logEndOffset) {
      history.behindTheEnd(asked, logEndOffset);
      this.#position = logEndOffset;
    } else {
      // It came into range since: METADATA was asked later.
      this.#position = asked.from;
    }
    this.#epoch = -1;
  }
}
