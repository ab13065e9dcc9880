// From reply slots to bytes: what a session can answer now, in the order of its requests, up to the first one that is not
// settled. A fetch is planned here and not when it came, so that nothing is held for one that waits behind others. It must
// not know where the outcome of a batch comes from.

import type { Broker } from "../broker/broker.js";
import { Count } from "../broker/counters.js";
import { NEEDS_LOAD, planFetch } from "../broker/fetch.js";
import { describeTopics } from "../broker/metadata.js";
import { Isolation } from "../log/waiting/isolation.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { invariant, unreachable } from "../model/invariant.js";
import { METADATA_FLUSH_MS, PLANS_PER_FLUSH } from "../model/limits.js";
import { FETCH_RESPONSE_HEAD_BYTES, writeFetchResponseHead } from "../protocol/fetch.js";
import { EMPTY_RESPONSE_BYTES, LENGTH_BYTES, writeErrorResponse } from "../protocol/frame.js";
import { encodeHelloResponse, type HelloResult } from "../protocol/hello.js";
import { encodeMetadataResponse, type MetadataVersion } from "../protocol/metadata.js";
import { PRODUCE_RESPONSE_BYTES, writeProduceResponse } from "../protocol/produce.js";
import { ReadPlan } from "../storage/read-plan.js";
import type { ReplySender } from "./reply-sender.js";
import { type ReplySlots, SlotState } from "./reply-slots.js";
import { NO_SLOT, type Session } from "./session.js";

export const AnswerOutcome = {
  /** Everything that is settled is on its way. What is not, reports when it is. */
  DONE: 0,
  /** The flush has planned enough; this session goes on in the next one. */
  LATER: 1,
  /** The connection owes its peer too many bytes already; nothing tells when it does not any more. */
  PUT_OFF: 2,
  /** It had its share and has more; in the next flush those come first who had none. */
  SERVED: 3,
} as const;
export type AnswerOutcome = (typeof AnswerOutcome)[keyof typeof AnswerOutcome];

export interface AnswersOptions {
  readonly hello: HelloResult;
  /** Bytes that wait to be sent on a connection, and how many of them are too many for an answer of any size. */
  readonly owed: (connection: number) => number;
  readonly owedMax: number;
  /** A read of the disk for a fetch has ended. */
  readonly loaded: (slot: number, error: ErrorCode) => void;
}

export class Answers {
  private readonly plan = new ReadPlan();
  private readonly hello: Uint8Array;
  private plans = 0;
  /** When this flush wrote its first METADATA. */
  private describingSince: number | undefined = undefined;

  constructor(
    private readonly slots: ReplySlots,
    private readonly sender: ReplySender,
    private readonly broker: Broker,
    private readonly options: AnswersOptions,
  ) {
    this.hello = encodeHelloResponse(0, options.hello);
  }

  /** A flush begins. */
  begin(): void {
    this.plans = 0;
    this.describingSince = undefined;
  }

  /** Writes what the session can answer now. */
  answer(session: Session): AnswerOutcome {
    const { slots, sender } = this;
    const { connection } = session;
    let outcome: AnswerOutcome = AnswerOutcome.DONE;
    let done = session.completed;
    let slot = session.first;
    while (slot !== NO_SLOT) {
      const state = slots.state[slot] as SlotState;
      if (state === SlotState.PENDING || state === SlotState.LOADING) break;
      // No answer that is written in one piece is larger; reserving for the largest keeps one check for all of them.
      if (sender.reserve(connection, done, PRODUCE_RESPONSE_BYTES)) done = 0;
      if (state === SlotState.PRODUCED) {
        writeProduceResponse(sender.view, sender.at, slots.correlation[slot], slots.base[slot], slots.end[slot]);
        sender.at += PRODUCE_RESPONSE_BYTES;
        done++;
      } else if (state === SlotState.FAILED) {
        this.fail(slot, slots.error[slot] as ErrorCode);
        done++;
      } else if (state === SlotState.FETCH) {
        if (this.plans === PLANS_PER_FLUSH) {
          outcome = AnswerOutcome.LATER;
          break;
        }
        this.plans++;
        done = this.fetch(connection, slot, done + 1);
        if (slots.state[slot] === SlotState.LOADING) {
          done--;
          break;
        }
      } else if (state === SlotState.METADATA) {
        if (this.options.owed(connection) > this.options.owedMax) {
          outcome = AnswerOutcome.PUT_OFF;
          break;
        }
        if (!this.mayDescribe()) {
          outcome = AnswerOutcome.LATER;
          break;
        }
        this.metadata(connection, slot);
        done++;
        outcome = AnswerOutcome.SERVED;
      } else if (state === SlotState.HELLO) {
        this.sayHello(connection, slot);
        done++;
      } else {
        invariant(state !== SlotState.FREE, "a session's list names slots that are in use");
        unreachable(state, "every state of a slot has its answer");
      }
      const next = slots.next[slot];
      slots.release(slot);
      slot = next;
      if (outcome === AnswerOutcome.SERVED) break;
    }
    session.first = slot;
    if (slot === NO_SLOT) session.last = NO_SLOT;
    session.completed = 0;
    sender.endRow(connection, done);
    return slot === NO_SLOT ? AnswerOutcome.DONE : outcome;
  }

  /** An answer that grows with the catalog takes milliseconds: a flush writes a few of them, and one for each connection. */
  private mayDescribe(): boolean {
    const now = performance.now();
    this.describingSince ??= now;
    return now - this.describingSince < METADATA_FLUSH_MS;
  }

  private fail(slot: number, error: ErrorCode): void {
    const { sender } = this;
    writeErrorResponse(sender.view, sender.at, this.slots.correlation[slot], error);
    sender.at += EMPTY_RESPONSE_BYTES;
  }

  /** Answers how many completed requests no row says yet: a slice ends a row, and that one says all. */
  private fetch(connection: number, slot: number, completed: number): number {
    const { slots, sender, plan, broker } = this;
    const partition = broker.catalog.partitions[slots.target[slot]];
    const maxBytes = Math.min(slots.maxBytes[slot], broker.options.fetchMaxBytes);
    const result = planFetch(partition, slots.base[slot], maxBytes, Isolation.HIGH_WATERMARK, plan);
    if (result === NEEDS_LOAD) {
      this.load(slot);
      return completed;
    }
    if (result !== ErrorCodes.NONE) {
      broker.counters.fail(result);
      this.fail(slot, result);
      return completed;
    }
    const highWatermark = partition.writer?.highWatermark ?? 0;
    writeFetchResponseHead(sender.view, sender.at, slots.correlation[slot], highWatermark, plan.bytes);
    sender.at += FETCH_RESPONSE_HEAD_BYTES;
    if (plan.bytes === 0) return completed;
    broker.counters.values[Count.FETCH_BYTES] += plan.bytes;
    invariant(plan.file !== undefined, "a plan with bytes names their file");
    sender.endRowWithSlice(connection, completed, plan.file, plan.position, plan.bytes);
    return 0;
  }

  /** Parks the fetch until what its plan lacked was read. Nothing is held for it: afterwards it is planned again. */
  private load(slot: number): void {
    const { slots, broker, options } = this;
    const { log } = broker.catalog.partitions[slots.target[slot]];
    invariant(log !== undefined, "a fetch is planned on a partition that is open");
    slots.load(slot);
    broker.counters.values[Count.FETCH_LOADS]++;
    log.load(slots.base[slot]).then(
      () => options.loaded(slot, ErrorCodes.NONE),
      (cause: unknown) => {
        broker.readFailed(log, cause);
        options.loaded(slot, ErrorCodes.STORAGE_FAILURE);
      },
    );
  }

  private metadata(connection: number, slot: number): void {
    const { slots, sender } = this;
    const topics = slots.asked.get(slot);
    invariant(topics !== undefined, "a METADATA slot has its topics");
    slots.asked.delete(slot);
    const version = slots.target[slot] as MetadataVersion;
    sender.write(connection, encodeMetadataResponse(version, slots.correlation[slot], describeTopics(topics)));
  }

  private sayHello(connection: number, slot: number): void {
    new DataView(this.hello.buffer, this.hello.byteOffset).setInt32(LENGTH_BYTES, this.slots.correlation[slot]);
    this.sender.write(connection, this.hello);
  }
}
