// Answers a FETCH of several partitions that is its connection's next: all of them planned first, because the answer begins
// with its length, then written in the order of the request, heads from the arena and payloads as file slices. Nothing is
// held for one that waits but the bytes in which it came.

import type { Broker } from "../broker/broker.js";
import { isNameOf } from "../broker/catalog.js";
import { Count } from "../broker/counters.js";
import { NEEDS_LOAD, planFetchInEpoch } from "../broker/fetch.js";
import type { Partition, Topic } from "../broker/topic.js";
import { type Isolation, isolationOf } from "../log/waiting/isolation.js";
import { WaitingFetch, WaitPart } from "../log/waiting/waiting-fetch.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { invariant } from "../model/invariant.js";
import {
  CROWDED_SLICES_MAX,
  FETCH_LOADS_AT_ONCE,
  FETCH_LOADS_MAX,
  FETCH_PARTITIONS_MAX,
  INSTEAD_PARTS_MAX,
} from "../model/limits.js";
import type { NativeFile } from "../native/binding.js";
import {
  decodeMultiFetch,
  MULTI_FETCH_RESPONSE_HEAD_BYTES,
  MultiFetchHeader,
  MultiFetchPart,
  multiFetchPartHeadBytes,
  UNKNOWN,
  writeMultiFetchPartHead,
  writeMultiFetchResponseHead,
} from "../protocol/fetch-multi.js";
import { EMPTY_RESPONSE_BYTES, writeErrorResponse } from "../protocol/frame.js";
import { ReadPlan } from "../storage/read-plan.js";
import { NOT_YET } from "./fetch-answers.js";
import type { KeptFetch } from "./kept-fetches.js";
import { CONTINUED, type ReplySender, type Within } from "./reply-sender.js";
import type { ReplySlots } from "./reply-slots.js";
import type { Session } from "./session.js";

/** Nothing of the answer stands in a row yet. */
const BEGINS: Within = { head: 0, instead: 0, continues: false };
const HEADS_MORE_BYTES = 2 * MULTI_FETCH_RESPONSE_HEAD_BYTES;

export interface MultiFetchAnswersOptions {
  /** Reads of the disk for a request have ended. */
  readonly loaded: (slot: number, error: ErrorCode) => void;
  /** Answers that peers do not take fill what they may of all queued bytes. */
  readonly crowded: () => boolean;
  /** A slice of it could not be read a moment ago. */
  readonly isUnreadable: (file: NativeFile | undefined) => boolean;
}

export class MultiFetchAnswers {
  private readonly header = new MultiFetchHeader();
  private readonly plan = new ReadPlan();
  private readonly part = new MultiFetchPart();
  /** What was planned, by place in the request. Good until the answer is written, in the same step. */
  private readonly partitions: (Partition | undefined)[] = [];
  private readonly errors = new Uint8Array(FETCH_PARTITIONS_MAX);
  private readonly files: (NativeFile | undefined)[] = [];
  private readonly positions = new Int32Array(FETCH_PARTITIONS_MAX);
  private readonly bytes = new Int32Array(FETCH_PARTITIONS_MAX);
  private payloadBytes = 0;
  /** How many have bytes, and which is the first of them. */
  private slices = 0;
  private firstSlice = 0;
  private failed = 0;
  /** Places in the request of what must be read from the disk before it can be planned. */
  private readonly cold: number[] = [];

  constructor(
    private readonly slots: ReplySlots,
    private readonly sender: ReplySender,
    private readonly broker: Broker,
    private readonly options: MultiFetchAnswersOptions,
  ) {}

  /** As {@link FetchAnswers.answer}. */
  answer(session: Session, slot: number, done: number): number {
    const { slots, header } = this;
    const kept = slots.kept.get(slot);
    invariant(kept !== undefined, "a fetch of several partitions is kept until it is answered");
    const { request } = kept;
    const view = new DataView(request.buffer, request.byteOffset, request.length);
    const error = decodeMultiFetch(view, 0, request.length, header);
    invariant(error === ErrorCodes.NONE, "what is kept did parse when it came");
    this.resolve(request);
    const isolation = isolationOf(header.replicaId);
    this.planAll(isolation, kept);
    // What must be read from the disk first has something to bring. Once others bring something, it may be the next time's:
    // waiting for all of them, partitions could push each other out of the caches for ever.
    if (this.cold.length > 0 && this.mayLoad(slot)) {
      this.load(slot, kept, this.cold);
      return NOT_YET;
    }
    if (slots.deadline[slot] > 0 && this.waits(session, slot, kept, isolation)) return NOT_YET;
    const left = this.write(session.connection, slot, request, done);
    this.letGo();
    return left;
  }

  /** How many partitions the last answer was about: what it cost. */
  get count(): number {
    return this.header.count;
  }

  private resolve(request: Uint8Array): void {
    const { header, partitions } = this;
    const { catalog } = this.broker;
    let topic: Topic | undefined;
    for (let i = 0; i < header.count; i++) {
      const from = header.topicFrom[i];
      const length = header.topicBytes[i];
      // Mostly that of the partition before.
      if (topic === undefined || !isNameOf(topic, request, from, length)) topic = catalog.find(request, from, length);
      const id = header.partition[i];
      partitions[i] = topic !== undefined && id < topic.partitions.length ? topic.partitions[id] : undefined;
    }
  }

  private planAll(isolation: Isolation, kept: KeptFetch): void {
    const { header, partitions, plan, cold } = this;
    const { fetchMaxBytes } = this.broker.options;
    let rest = Math.min(header.maxBytes, fetchMaxBytes);
    let slicesLeft = this.options.crowded() ? CROWDED_SLICES_MAX : header.count;
    this.payloadBytes = 0;
    this.slices = 0;
    this.failed = 0;
    cold.length = 0;
    for (let i = 0; i < header.count; i++) {
      this.bytes[i] = 0;
      this.errors[i] = ErrorCodes.NONE;
      const partition = partitions[i];
      if (partition === undefined) {
        this.fail(i, ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION);
        continue;
      }
      const maxBytes = Math.min(header.partitionMaxBytes[i], fetchMaxBytes);
      const result = planFetchInEpoch(partition, header.epoch[i], header.fetchOffset[i], maxBytes, isolation, plan);
      if (result === NEEDS_LOAD) {
        if (kept.unreadable?.has(partition.index)) this.fail(i, ErrorCodes.STORAGE_FAILURE);
        else cold.push(i);
      } else if (result !== ErrorCodes.NONE) {
        this.fail(i, result);
      } else if (plan.bytes > 0 && slicesLeft > 0 && (plan.bytes <= rest || this.payloadBytes === 0)) {
        // The first that has any is not cut to what the whole may have: a record that never fits shows at its own bound.
        if (this.options.isUnreadable(plan.file)) {
          this.fail(i, ErrorCodes.STORAGE_FAILURE);
          continue;
        }
        if (this.slices++ === 0) this.firstSlice = i;
        this.bytes[i] = plan.bytes;
        this.files[i] = plan.file;
        this.positions[i] = plan.position;
        this.payloadBytes += plan.bytes;
        rest -= plan.bytes;
        slicesLeft--;
      }
    }
  }

  private fail(place: number, error: ErrorCode): void {
    this.errors[place] = error;
    this.failed++;
  }

  private mayLoad(slot: number): boolean {
    const loads = this.slots.loads[slot];
    return loads === 0 || (this.payloadBytes === 0 && loads < FETCH_LOADS_MAX);
  }

  /** Parks the fetch, unless it may not wait. In the same step in which it was planned: no record can come in between. */
  private waits(session: Session, slot: number, kept: KeptFetch, isolation: Isolation): boolean {
    const { header, slots } = this;
    const { purgatory, partitions, now } = this.broker.waits;
    const enough = this.payloadBytes >= Math.max(1, header.minBytes) && header.minRecords <= 1;
    const deadline = slots.deadline[slot];
    if (this.failed > 0 || this.cold.length > 0 || enough) return false;
    if (session.inputEnded || deadline <= now()) return false;
    const maxBytes = Math.min(header.maxBytes, this.broker.options.fetchMaxBytes);
    const fetch = new WaitingFetch(slot, header.minBytes, header.minRecords, maxBytes, deadline);
    const unlocated: number[] = [];
    fetch.parts = Array.from({ length: header.count }, (_, i) => {
      const { index } = this.partitions[i] as Partition;
      const partMaxBytes = Math.min(header.partitionMaxBytes[i], this.broker.options.fetchMaxBytes);
      const part = new WaitPart(fetch, index, isolation, header.epoch[i], header.fetchOffset[i], partMaxBytes);
      if (!partitions.locate(part)) unlocated.push(i);
      return part;
    });
    if (unlocated.length > 0) {
      if (slots.loads[slot] >= FETCH_LOADS_MAX) return false;
      this.load(slot, kept, unlocated);
      return true;
    }
    if (!purgatory.park(fetch)) return false;
    slots.park(slot);
    session.waiting = fetch;
    return true;
  }

  /** Reads the disk for some of these places. Afterwards the whole fetch is planned again. */
  private load(slot: number, kept: KeptFetch, places: readonly number[]): void {
    const { broker, header, slots } = this;
    slots.load(slot);
    const loads = places.slice(0, FETCH_LOADS_AT_ONCE).map(async (place) => {
      const { log, index } = this.partitions[place] as Partition;
      invariant(log !== undefined, "a fetch is planned on a partition that is open");
      broker.counters.values[Count.FETCH_LOADS]++;
      try {
        await log.load(header.fetchOffset[place]);
      } catch (cause) {
        broker.readFailed(log, cause);
        kept.unreadable ??= new Set();
        kept.unreadable.add(index);
      }
    });
    void Promise.all(loads).then(() => this.options.loaded(slot, ErrorCodes.NONE));
  }

  private write(connection: number, slot: number, request: Uint8Array, done: number): number {
    const { header, sender, part, slots, broker } = this;
    const correlation = slots.correlation[slot];
    let unreported = done;
    const partsBytes = this.headsBytes() + this.payloadBytes;
    // All that must lie together, if the arena can have it: the heads up to the first slice, and what is sent instead.
    const together = this.slices === 0 ? MULTI_FETCH_RESPONSE_HEAD_BYTES : 2 * this.headsBytes() + HEADS_MORE_BYTES;
    if (sender.reserve(connection, unreported, Math.min(together, sender.arena.length))) unreported = 0;
    const from = sender.at;
    let within: Within = BEGINS;
    writeMultiFetchResponseHead(sender.view, sender.at, correlation, header.count, partsBytes);
    sender.at += MULTI_FETCH_RESPONSE_HEAD_BYTES;
    for (let i = 0; i < header.count; i++) {
      const topic = this.topicAt(i, request);
      if (sender.reserve(connection, unreported, multiFetchPartHeadBytes(topic.length), within)) {
        unreported = 0;
        within = CONTINUED;
      }
      this.describe(i);
      sender.at = writeMultiFetchPartHead(sender.view, sender.at, topic, part);
      if (part.error !== ErrorCodes.NONE) broker.counters.fail(part.error);
      const file = this.files[i];
      if (part.payloadBytes === 0) continue;
      invariant(file !== undefined, "a plan with bytes names their file");
      if (within === BEGINS) within = this.writeInstead(from, correlation, request);
      sender.endRowWithSlice(connection, unreported, file, this.positions[i], this.bytes[i], within);
      within = CONTINUED;
      unreported = 0;
    }
    broker.counters.values[Count.FETCH_BYTES] += this.payloadBytes;
    if (within === BEGINS) return unreported + 1;
    // What follows is of another answer.
    sender.endRow(connection, unreported + 1, CONTINUED);
    return 0;
  }

  /**
   * Behind the head of the answer's first slice: what its peer gets when that slice cannot be read. The partition is refused
   * when no other has bytes; else nobody gets any, since which of them failed is not known here, and the next answer refuses it.
   */
  private writeInstead(from: number, correlation: number, request: Uint8Array): Within {
    const { header, sender, part } = this;
    const head = sender.at - from;
    const headsBytes = this.headsBytes();
    const bytes = MULTI_FETCH_RESPONSE_HEAD_BYTES + headsBytes;
    if (header.count > INSTEAD_PARTS_MAX || sender.at + bytes > sender.arena.length) {
      if (sender.at + EMPTY_RESPONSE_BYTES > sender.arena.length) return BEGINS;
      sender.at = writeErrorResponse(sender.view, sender.at, correlation, ErrorCodes.STORAGE_FAILURE);
      return { head, instead: EMPTY_RESPONSE_BYTES, continues: false };
    }
    writeMultiFetchResponseHead(sender.view, sender.at, correlation, header.count, headsBytes);
    sender.at += MULTI_FETCH_RESPONSE_HEAD_BYTES;
    for (let i = 0; i < header.count; i++) {
      this.describe(i);
      part.payloadBytes = 0;
      if (this.slices === 1 && i === this.firstSlice) part.error = ErrorCodes.STORAGE_FAILURE;
      sender.at = writeMultiFetchPartHead(sender.view, sender.at, this.topicAt(i, request), part);
    }
    return { head, instead: bytes, continues: false };
  }

  private topicAt(place: number, request: Uint8Array): Uint8Array {
    const from = this.header.topicFrom[place];
    return request.subarray(from, from + this.header.topicBytes[place]);
  }

  private headsBytes(): number {
    const { header } = this;
    let bytes = 0;
    for (let i = 0; i < header.count; i++) bytes += multiFetchPartHeadBytes(header.topicBytes[i]);
    return bytes;
  }

  /** Fills `part`. */
  private describe(place: number): void {
    const { header, part } = this;
    const error = this.errors[place] as ErrorCode;
    part.partition = header.partition[place];
    part.error = error;
    part.payloadBytes = this.bytes[place];
    const writer = this.partitions[place]?.writer;
    if (writer === undefined) {
      part.epoch = part.epochStart = part.logStartOffset = part.highWatermark = part.logEndOffset = UNKNOWN;
      return;
    }
    const { log } = writer;
    part.epoch = log.epoch;
    part.epochStart = log.truncatedAt(header.epoch[place], header.fetchOffset[place]) ?? log.epochStart;
    part.logStartOffset = log.logStartOffset;
    part.highWatermark = writer.highWatermark;
    part.logEndOffset = log.logEndOffset;
  }

  /** What was planned is no longer good, and would keep files open. */
  private letGo(): void {
    this.files.length = 0;
  }
}
