// From reply slots to bytes: what a session can answer now, in the order of its requests, up to the first one that is not
// settled. A fetch is planned when it is the next and not when it came, so that nothing is held for one that waits behind
// others. It must not know where the outcome of a batch comes from.

import type { Broker } from "../broker/broker.js";
import { describeTopics } from "../broker/metadata.js";
import type { ErrorCode } from "../model/error-codes.js";
import { invariant, unreachable } from "../model/invariant.js";
import { METADATA_FLUSH_MS, MULTI_FETCH_OWED_SHARE, PLANS_PER_FLUSH, PLANS_PER_SESSION } from "../model/limits.js";
import type { NativeFile } from "../native/binding.js";
import { EMPTY_RESPONSE_BYTES, LENGTH_BYTES, writeErrorResponse } from "../protocol/frame.js";
import { encodeHelloResponse, type HelloResult } from "../protocol/hello.js";
import { encodeMetadataResponse, type MetadataVersion } from "../protocol/metadata.js";
import { PRODUCE_RESPONSE_BYTES, writeProduceResponse } from "../protocol/produce.js";
import { FETCH_ANSWER_BYTES, FetchAnswers, NOT_YET } from "./fetch-answers.js";
import { LatencyRuns } from "./latency-runs.js";
import { MultiFetchAnswers } from "./multi-fetch-answers.js";
import { OffsetAnswers } from "./offset-answers.js";
import type { ReplySender } from "./reply-sender.js";
import { type ReplySlots, SlotState } from "./reply-slots.js";
import { NO_SLOT, type Session } from "./session.js";

export const AnswerOutcome = {
  /** Everything that is settled is on its way. What is not, reports when it is. */
  DONE: 0,
  /** The flush has planned enough; this session goes on in the next one. */
  LATER: 1,
  /** Its peer, or peers together, leave too many bytes untaken already; nothing tells when they do not any more. */
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
  /** Answers that peers do not take fill what they may of all queued bytes. */
  readonly crowded: () => boolean;
  /** A slice of a file could not be read a moment ago. */
  readonly isUnreadable: (file: NativeFile | undefined) => boolean;
  /** A read of the disk for a request has ended. */
  readonly loaded: (slot: number, error: ErrorCode) => void;
  /** A LIST_OFFSETS was looked up on the disk. */
  readonly listed: (slot: number, offset: number, timestampMs: number) => void;
}

export class Answers {
  private readonly hello: Uint8Array;
  private readonly fetches: FetchAnswers;
  private readonly multiFetches: MultiFetchAnswers;
  private readonly offsets: OffsetAnswers;
  private readonly latencies: LatencyRuns;
  private plans = 0;
  /** When this flush wrote its first METADATA. */
  private describingSince: number | undefined = undefined;

  constructor(
    private readonly slots: ReplySlots,
    private readonly sender: ReplySender,
    broker: Broker,
    private readonly options: AnswersOptions,
  ) {
    this.hello = encodeHelloResponse(0, options.hello);
    this.latencies = new LatencyRuns(broker.counters.latencies);
    this.fetches = new FetchAnswers(slots, sender, broker, options.loaded);
    this.multiFetches = new MultiFetchAnswers(slots, sender, broker, options);
    this.offsets = new OffsetAnswers(slots, sender, broker, { listed: options.listed, failed: options.loaded });
  }

  /** A flush begins; `now` in milliseconds by the clock of {@link ReplySlots.turnStamp}. */
  begin(now: number): void {
    this.latencies.begin(now);
    this.plans = 0;
    this.describingSince = undefined;
  }

  /** It is over. */
  end(): void {
    this.latencies.end();
  }

  /** Writes what the session can answer now. */
  answer(session: Session): AnswerOutcome {
    const { slots, sender, latencies } = this;
    const { connection } = session;
    let outcome: AnswerOutcome = AnswerOutcome.DONE;
    let done = session.completed;
    let slot = session.first;
    const plansMax = Math.min(this.plans + PLANS_PER_SESSION, PLANS_PER_FLUSH);
    const plansBefore = this.plans;
    const crowded = this.options.crowded();
    let served = false;
    while (slot !== NO_SLOT) {
      const state = slots.state[slot] as SlotState;
      if (state === SlotState.PENDING || state === SlotState.LOADING || state === SlotState.WAITING) break;
      // One that is hardly larger than its slot is not worth the look.
      const isLarger = state !== SlotState.PRODUCED && state !== SlotState.FAILED;
      if (isLarger && this.owesTooMuch(connection, state, crowded)) {
        outcome = AnswerOutcome.PUT_OFF;
        break;
      }
      if (isLarger && crowded && served) {
        // Whether its peer takes it is seen in the next flush.
        outcome = AnswerOutcome.SERVED;
        break;
      }
      served ||= isLarger;
      // No answer that is written in one piece is larger; reserving for the largest keeps one check for all of them.
      if (sender.reserve(connection, done, FETCH_ANSWER_BYTES)) done = 0;
      if (state === SlotState.PRODUCED) {
        writeProduceResponse(sender.view, sender.at, slots.correlation[slot], slots.base[slot], slots.end[slot]);
        sender.at += PRODUCE_RESPONSE_BYTES;
        done++;
      } else if (state === SlotState.FAILED) {
        this.fail(slot, slots.error[slot] as ErrorCode);
        done++;
      } else if (state === SlotState.FETCH || state === SlotState.MULTI_FETCH) {
        if (this.plans >= plansMax) {
          // Whoever has had some goes behind those who had none, or one that always has more would keep them waiting for ever.
          outcome = this.plans > plansBefore ? AnswerOutcome.SERVED : AnswerOutcome.LATER;
          break;
        }
        const left = state === SlotState.FETCH ? this.fetch(session, slot, done) : this.multiFetch(session, slot, done);
        if (left === NOT_YET) break;
        done = left;
      } else if (state === SlotState.LIST_OFFSETS || state === SlotState.LISTED) {
        if (!this.offsets.answer(slot)) break;
        done++;
      } else if (state === SlotState.METADATA) {
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
      latencies.answered(slots.stamp[slot]);
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

  /**
   * Reading stops at the bounds on queued bytes, but a thousand requests of each connection were read before, and their answers
   * may take ten and a thousand times as much.
   */
  private owesTooMuch(connection: number, state: SlotState, crowded: boolean): boolean {
    const { owed, owedMax } = this.options;
    if (crowded && owed(connection) > 0) return true;
    if (state === SlotState.METADATA) return owed(connection) > owedMax;
    return state === SlotState.MULTI_FETCH && owed(connection) > owedMax * MULTI_FETCH_OWED_SHARE;
  }

  /** An answer that grows with the catalog takes milliseconds: a flush writes a few of them, and one for each connection. */
  private mayDescribe(): boolean {
    const now = performance.now();
    this.describingSince ??= now;
    return now - this.describingSince < METADATA_FLUSH_MS;
  }

  private fetch(session: Session, slot: number, done: number): number {
    this.plans++;
    return this.fetches.answer(session, slot, done);
  }

  private multiFetch(session: Session, slot: number, done: number): number {
    const left = this.multiFetches.answer(session, slot, done);
    this.plans += this.multiFetches.count;
    return left;
  }

  private fail(slot: number, error: ErrorCode): void {
    const { sender } = this;
    writeErrorResponse(sender.view, sender.at, this.slots.correlation[slot], error);
    sender.at += EMPTY_RESPONSE_BYTES;
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
