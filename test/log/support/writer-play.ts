// Plays a partition's writer on a fake storage, step by step, and keeps what each batch was offered as and told. Checks at
// every answer what must be true at that moment; what must be true at the end is for the test.

import { expect } from "vitest";
import type { AppendListener } from "../../../src/log/append-listener.js";
import { PartitionWriter } from "../../../src/log/partition-writer.js";
import { Scheduler } from "../../../src/log/scheduler.js";
import { AckPolicy } from "../../../src/model/ack-policy.js";
import { type ErrorCode, ErrorCodes } from "../../../src/model/error-codes.js";
import { FakeLog, FakeTurn, settle } from "./fake-log.js";
import { FakeTimers } from "./fake-timers.js";
import { region } from "./regions.js";

export interface OfferStep {
  readonly do: "offer";
  readonly records: number;
  readonly size: number;
  readonly ack: AckPolicy;
  /** Which base offset the producer insists on: none, where the log ends now, or one that cannot be. */
  readonly expect: "any" | "end" | "wrong";
  readonly corrupt: boolean;
}
export type Step =
  | OfferStep
  | { readonly do: "run" | "barrier" | "barrierFails" | "room" | "noRoom" | "roomFails" | "span" | "spanFails" }
  | { readonly do: "upkeep" | "upkeepFails" | "needsUpkeep" | "full" | "time" | "force" | "writesFail" | "close" };

export interface Batch {
  readonly payloads: readonly string[];
  readonly step: OfferStep;
  readonly expected: number;
  /** When it was offered and answered, on one scale; `turn` counts runs. */
  readonly offeredAt: number;
  readonly turn: number;
  answeredAt: number;
  error: ErrorCode | undefined;
  base: number;
}

export class WriterPlay implements AppendListener {
  readonly log: FakeLog;
  readonly timers = new FakeTimers();
  readonly scheduler: Scheduler;
  readonly writer: PartitionWriter<FakeLog>;
  readonly batches: Batch[] = [];
  readonly queuedMax = 600;
  /** The log end that readers were last told of. */
  published = 0;
  forces = 0;
  forcesSettled = 0;
  closing: Promise<void> | undefined;
  #lent: Uint8Array[] = [];
  #clock = 0;
  #moment = 0;
  #turn = 0;

  constructor(visibility: "written" | "durable", slowUpkeep: boolean) {
    this.log = new FakeLog(400, { slowUpkeep });
    // The clock moves by being read, so that some runs end by their time limit.
    this.scheduler = new Scheduler(
      { turnBytes: 150, queuedBytesMax: this.queuedMax },
      new FakeTurn(4),
      () => this.#clock++,
    );
    this.scheduler.onWork = () => undefined;
    const policy = { visibility, mailboxBytes: 1500, flushEveryRecords: 7, flushEveryMs: 1000 };
    this.writer = new PartitionWriter(this.log, this.scheduler, policy, this.timers);
    this.writer.onPublished = (writer) => {
      expect(writer.highWatermark).toBeLessThanOrEqual(writer.logEndOffset);
      if (visibility === "durable") expect(writer.highWatermark).toBeLessThanOrEqual(this.log.durableOffset);
      this.published = this.log.payloads.length;
    };
  }

  async play(step: Step): Promise<void> {
    const { log } = this;
    switch (step.do) {
      case "offer":
        this.offer(step);
        break;
      case "run":
        this.run();
        break;
      case "barrier":
        log.barrier?.succeed();
        break;
      case "barrierFails":
        log.fail("barrier");
        break;
      case "room":
        log.makingRoom?.succeed();
        break;
      case "noRoom":
        log.refuseRoom();
        break;
      case "roomFails":
        log.fail("makingRoom");
        break;
      case "span":
        log.spanning?.succeed();
        break;
      case "spanFails":
        log.fail("spanning");
        break;
      case "upkeep":
        log.upkeeping?.succeed();
        break;
      case "upkeepFails":
        log.fail("upkeeping");
        break;
      case "needsUpkeep":
        log.needsUpkeep = true;
        break;
      case "full":
        log.fill(10);
        break;
      case "time":
        this.timers.advance(300);
        break;
      case "force":
        this.force();
        break;
      case "writesFail":
        log.writesFail = true;
        break;
      case "close":
        this.close();
        break;
      default:
        step satisfies never;
    }
    await settle();
    expect(this.scheduler.queuedBytes).toBeLessThanOrEqual(this.queuedMax);
  }

  offer(step: OfferStep): void {
    const n = this.batches.length;
    const payloads = Array.from({ length: step.records }, (_, i) => `${n}.${i}`.padEnd(step.size, "x"));
    const bytes = region(payloads);
    if (step.corrupt) bytes[0] = 0x80;
    this.#lent.push(bytes);
    const expected = { any: -1, end: this.log.logEndOffset as number, wrong: 1_000_000 }[step.expect];
    const batch = {
      payloads,
      step,
      expected,
      offeredAt: this.#moment++,
      turn: this.#turn,
      answeredAt: -1,
      error: undefined,
      base: -1,
    };
    this.batches.push(batch);
    this.writer.offer(bytes, 0, bytes.length, step.records, step.ack, expected, this, n);
  }

  /** A turn ends: what was lent to the writer in it is overwritten. */
  run(): void {
    this.scheduler.run();
    for (const bytes of this.#lent) bytes.fill(0xff);
    this.#lent = [];
    this.#turn++;
  }

  appended(token: number, error: ErrorCode, base: number, logEnd: number): void {
    const batch = this.batches[token] as Batch;
    expect(batch.error, `batch ${token} was answered before`).toBeUndefined();
    batch.error = error;
    batch.base = base;
    batch.answeredAt = this.#moment++;
    if (error === ErrorCodes.OFFSET_MISMATCH) expect(this.log.logEndOffset).not.toBe(batch.expected);
    if (error !== ErrorCodes.NONE) return;
    const end = base + batch.payloads.length;
    expect(this.log.logEndOffset).toBe(logEnd);
    expect(logEnd).toBeGreaterThanOrEqual(end);
    expect(this.log.payloads.slice(base, end)).toEqual(batch.payloads);
    if (batch.expected >= 0) expect(base).toBe(batch.expected);
    if (batch.step.ack === AckPolicy.FORCED) expect(this.log.durableOffset).toBeGreaterThanOrEqual(end);
  }

  force(): void {
    const end = this.log.logEndOffset;
    this.forces++;
    this.writer.force().then(
      (durable) => {
        this.forcesSettled++;
        expect(durable).toBeGreaterThanOrEqual(end);
      },
      () => this.forcesSettled++,
    );
  }

  close(): void {
    this.closing = this.writer.close();
  }

  /** Lets everything slow end well, until nothing is left to do. */
  async finish(): Promise<void> {
    for (let i = 0; i < 1000; i++) {
      this.log.barrier?.succeed();
      this.log.makingRoom?.succeed();
      this.log.spanning?.succeed();
      this.log.upkeeping?.succeed();
      this.run();
      await settle();
      const { barrier, makingRoom, spanning, upkeeping } = this.log;
      const busy = barrier ?? makingRoom ?? spanning ?? upkeeping;
      if (busy === undefined && this.writer.waitingBytes === 0 && this.writer.waitingForBarrier === 0) return;
    }
    throw new Error("it does not come to rest");
  }
}
