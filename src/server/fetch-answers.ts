// Answers a FETCH of one partition that is its connection's next: with what may be read, with an error, or not yet, because
// the disk must be read or because it waits for records. Nothing is held for one that is not answered.

import type { Broker } from "../broker/broker.js";
import { Count } from "../broker/counters.js";
import { NEEDS_LOAD, planFetch } from "../broker/fetch.js";
import type { Partition } from "../broker/topic.js";
import { Isolation } from "../log/waiting/isolation.js";
import { WaitingFetch, WaitPart } from "../log/waiting/waiting-fetch.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { invariant } from "../model/invariant.js";
import { FETCH_LOADS_MAX } from "../model/limits.js";
import { FETCH_RESPONSE_HEAD_BYTES, writeFetchResponseHead } from "../protocol/fetch.js";
import { UNKNOWN } from "../protocol/fetch-multi.js";
import { EMPTY_RESPONSE_BYTES, writeErrorResponse } from "../protocol/frame.js";
import { ReadPlan } from "../storage/read-plan.js";
import type { ReplySender, Within } from "./reply-sender.js";
import type { ReplySlots } from "./reply-slots.js";
import type { Session } from "./session.js";

/** Instead of a number of requests: the slot waits for the disk or for records. */
export const NOT_YET = -1;

/** What an answer takes in the arena, also one of another kind. */
export const FETCH_ANSWER_BYTES = FETCH_RESPONSE_HEAD_BYTES + EMPTY_RESPONSE_BYTES;

/** A head and its slice, and the refusal that is sent when the slice cannot be read. */
const REFUSABLE: Within = { head: FETCH_RESPONSE_HEAD_BYTES, instead: EMPTY_RESPONSE_BYTES, continues: false };

export class FetchAnswers {
  private readonly plan = new ReadPlan();

  constructor(
    private readonly slots: ReplySlots,
    private readonly sender: ReplySender,
    private readonly broker: Broker,
    /** A read of the disk has ended. */
    private readonly loaded: (slot: number, error: ErrorCode) => void,
  ) {}

  /**
   * Writes the answer; the sender has room for its head. `done` of the session's requests are done and in no row yet; answers
   * how many they are now, since a slice ends a row and that says all of them. Or {@link NOT_YET}.
   */
  answer(session: Session, slot: number, done: number): number {
    const { slots, sender, plan, broker } = this;
    const partition = broker.catalog.partitions[slots.target[slot]];
    const maxBytes = Math.min(slots.maxBytes[slot], broker.options.fetchMaxBytes);
    const result = planFetch(partition, slots.base[slot], maxBytes, Isolation.HIGH_WATERMARK, plan);
    const mayLoad = slots.loads[slot] < FETCH_LOADS_MAX;
    if (result === NEEDS_LOAD && mayLoad) {
      this.load(slot, partition);
      return NOT_YET;
    }
    if (result === NEEDS_LOAD) {
      // Others push out of the caches what it has brought in. It has had its share of the disk; whoever asked sees by the
      // high watermark that there is more, and asks again.
      plan.bytes = 0;
    } else if (result !== ErrorCodes.NONE) {
      broker.counters.fail(result);
      writeErrorResponse(sender.view, sender.at, slots.correlation[slot], result);
      sender.at += EMPTY_RESPONSE_BYTES;
      return done + 1;
    }
    if (mayLoad && slots.deadline[slot] > 0 && plan.bytes < Math.min(Math.max(1, slots.minBytes[slot]), maxBytes)) {
      if (this.waits(session, slot, partition, maxBytes)) return NOT_YET;
    }
    const highWatermark = partition.writer?.highWatermark ?? 0;
    writeFetchResponseHead(sender.view, sender.at, slots.correlation[slot], highWatermark, plan.bytes);
    sender.at += FETCH_RESPONSE_HEAD_BYTES;
    if (plan.bytes === 0) return done + 1;
    broker.counters.values[Count.FETCH_BYTES] += plan.bytes;
    invariant(plan.file !== undefined, "a plan with bytes names their file");
    writeErrorResponse(sender.view, sender.at, slots.correlation[slot], ErrorCodes.STORAGE_FAILURE);
    sender.at += EMPTY_RESPONSE_BYTES;
    sender.endRowWithSlice(session.connection, done + 1, plan.file, plan.position, plan.bytes, REFUSABLE);
    return 0;
  }

  /** Parks the fetch, unless it may not wait. In the same step in which it was planned: no record can come in between. */
  private waits(session: Session, slot: number, partition: Partition, maxBytes: number): boolean {
    const { slots } = this;
    const { purgatory, partitions, now } = this.broker.waits;
    const deadline = slots.deadline[slot];
    // It may have stood behind another request for longer than it wants to wait.
    if (session.inputEnded || deadline <= now()) return false;
    const fetch = new WaitingFetch(slot, slots.minBytes[slot], 0, maxBytes, deadline);
    const part = new WaitPart(fetch, partition.index, Isolation.HIGH_WATERMARK, UNKNOWN, slots.base[slot], maxBytes);
    fetch.parts = [part];
    if (!partitions.locate(part)) {
      if (slots.loads[slot] >= FETCH_LOADS_MAX) return false;
      this.load(slot, partition);
      return true;
    }
    if (!purgatory.park(fetch)) return false;
    slots.park(slot);
    session.waiting = fetch;
    return true;
  }

  /** Until what its plan lacked was read. Afterwards it is planned again. */
  private load(slot: number, { log }: Partition): void {
    const { slots, broker, loaded } = this;
    invariant(log !== undefined, "a fetch is planned on a partition that is open");
    slots.load(slot);
    broker.counters.values[Count.FETCH_LOADS]++;
    log.load(slots.base[slot]).then(
      () => loaded(slot, ErrorCodes.NONE),
      (cause: unknown) => {
        broker.readFailed(log, cause);
        loaded(slot, ErrorCodes.STORAGE_FAILURE);
      },
    );
  }
}
