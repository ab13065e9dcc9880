// From a frame to a reply slot: decodes one request, checks that what it names is there, and hands a batch to its
// partition's writer or leaves a slot that is answered when it is its connection's next. Nothing is sent from here.
//
// It runs once for each request of a busy broker: no object, no closure, no string and no native call on the way of a
// PRODUCE or of a FETCH of one partition.

import type { Broker } from "../broker/broker.js";
import { type Catalog, isNameOf } from "../broker/catalog.js";
import { Count, type Counters, Timed } from "../broker/counters.js";
import type { Partition, Topic } from "../broker/topic.js";
import type { AppendListener } from "../log/append-listener.js";
import { AckPolicy } from "../model/ack-policy.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { unreachable } from "../model/invariant.js";
import { isRequestKind, RequestKind } from "../protocol/api-keys.js";
import { decodeFetch, decodeFetchV2, FetchHeader } from "../protocol/fetch.js";
import { decodeMultiFetch, MultiFetchHeader } from "../protocol/fetch-multi.js";
import { correlationIdAt, REQUEST_HEADER_BYTES, requestKindAt } from "../protocol/frame.js";
import { decodeHello } from "../protocol/hello.js";
import { decodeListOffsets, ListOffsetsHeader } from "../protocol/list-offsets.js";
import { decodeMetadata, MetadataRequest, type MetadataVersion } from "../protocol/metadata.js";
import { decodeProduce, decodeProduceV2, ProduceHeader } from "../protocol/produce.js";
import { type ReplySlots, SlotState } from "./reply-slots.js";
import type { Session } from "./session.js";

export class Requests {
  /** From here on every request that parses is answered SHUTTING_DOWN. */
  stopping = false;
  private readonly view: DataView;
  private readonly catalog: Catalog;
  private readonly counters: Counters;
  private readonly unacknowledged: AppendListener;
  private readonly produceHeader = new ProduceHeader();
  private readonly fetchHeader = new FetchHeader();
  private readonly multiFetchHeader = new MultiFetchHeader();
  private readonly listOffsetsHeader = new ListOffsetsHeader();
  private readonly metadataRequest = new MetadataRequest();

  constructor(
    private readonly arena: Uint8Array,
    private readonly slots: ReplySlots,
    private readonly broker: Broker,
    /** Hears how batches ended that somebody waits for; the token is the slot. */
    private readonly acknowledged: AppendListener,
  ) {
    this.view = new DataView(arena.buffer, arena.byteOffset, arena.byteLength);
    this.catalog = broker.catalog;
    this.counters = broker.counters;
    this.unacknowledged = broker.unacknowledged;
  }

  /** The request whose frame lies at `from`, behind the length prefix. */
  take(session: Session, from: number, length: number): void {
    if (length < REQUEST_HEADER_BYTES) {
      this.refuse(session, 0, ErrorCodes.CORRUPT_REQUEST);
      return;
    }
    const kind = requestKindAt(this.view, from);
    const correlation = correlationIdAt(this.view, from);
    const body = from + REQUEST_HEADER_BYTES;
    const end = from + length;
    let error: ErrorCode = ErrorCodes.UNSUPPORTED_VERSION;
    // Asked first because it comes most often; the look-up of all kinds costs as much as decoding it.
    if (kind === RequestKind.PRODUCE_V1) error = this.produceV1(session, correlation, body, end);
    else if (isRequestKind(kind)) error = this.carryOut(session, kind, correlation, body, end);
    if (error !== ErrorCodes.NONE) this.refuse(session, correlation, error);
  }

  /** NONE: its slot is there, or it needs none. Otherwise the error that answers it. */
  private carryOut(session: Session, kind: RequestKind, correlation: number, body: number, end: number): ErrorCode {
    switch (kind) {
      case RequestKind.PRODUCE_V1:
        return this.produceV1(session, correlation, body, end);
      case RequestKind.PRODUCE_V2:
        return this.produce(session, correlation, decodeProduceV2(this.view, body, end, this.produceHeader));
      case RequestKind.FETCH_V1:
        return this.fetch(session, correlation, decodeFetch(this.view, body, end, this.fetchHeader));
      case RequestKind.FETCH_V2:
        return this.fetch(session, correlation, decodeFetchV2(this.view, body, end, this.fetchHeader));
      case RequestKind.FETCH_V3:
        return this.multiFetch(session, correlation, body, end);
      case RequestKind.METADATA_V1:
        return this.metadata(session, correlation, body, end, 1);
      case RequestKind.METADATA_V2:
        return this.metadata(session, correlation, body, end, 2);
      case RequestKind.HELLO_V1:
        return this.hello(session, correlation, body, end);
      case RequestKind.LIST_OFFSETS_V1:
        return this.listOffsets(session, correlation, body, end);
      default:
        return unreachable(kind, "every kind of request is carried out");
    }
  }

  private produceV1(session: Session, correlation: number, body: number, end: number): ErrorCode {
    return this.produce(session, correlation, decodeProduce(this.view, body, end, this.produceHeader));
  }

  /** `decoded`: what the decoder said, which has filled the header. */
  private produce(session: Session, correlation: number, decoded: ErrorCode): ErrorCode {
    const header = this.produceHeader;
    const values = this.counters.values;
    values[Count.PRODUCE_REQUESTS]++;
    let error = decoded;
    let partition: Partition | undefined;
    if (error === ErrorCodes.NONE) {
      partition = this.partitionAt(session, header.topicFrom, header.topicBytes, header.partition);
      if (this.stopping) error = ErrorCodes.SHUTTING_DOWN;
      else if (partition === undefined) error = ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION;
      else if (partition.writer === undefined) error = ErrorCodes.STORAGE_FAILURE;
    }
    const silent = header.ack === AckPolicy.NONE;
    // Nobody waits: the request is done for its connection, and the listener counts what goes wrong.
    if (silent) session.completed++;
    else session.produces(this.slots.turnStamp);
    if (partition === undefined || partition.writer === undefined || error !== ErrorCodes.NONE) {
      if (!silent) return error;
      this.unacknowledged.appended(partition?.index ?? -1, error, -1, -1);
      return ErrorCodes.NONE;
    }
    values[Count.PRODUCE_RECORDS] += header.records;
    values[Count.PRODUCE_BYTES] += header.regionBytes;
    // The slot is there before the offer: a refusal comes back inside it.
    const timed = header.ack === AckPolicy.FORCED ? Timed.PRODUCE_FORCED : Timed.PRODUCE_WRITTEN;
    const token = silent ? partition.index : this.slots.add(session, correlation, SlotState.PENDING, timed);
    partition.writer.offer(
      this.arena,
      header.regionFrom,
      header.regionBytes,
      header.records,
      header.ack as AckPolicy,
      header.expectedOffset,
      silent ? this.unacknowledged : this.acknowledged,
      token,
    );
    return ErrorCodes.NONE;
  }

  private fetch(session: Session, correlation: number, decoded: ErrorCode): ErrorCode {
    const header = this.fetchHeader;
    this.counters.values[Count.FETCH_REQUESTS]++;
    session.reads();
    if (decoded !== ErrorCodes.NONE) return decoded;
    if (this.stopping) return ErrorCodes.SHUTTING_DOWN;
    const partition = this.partitionAt(session, header.topicFrom, header.topicBytes, header.partition);
    if (partition === undefined) return ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION;
    const slots = this.slots;
    const slot = slots.add(session, correlation, SlotState.FETCH, Timed.FETCH);
    slots.target[slot] = partition.index;
    slots.base[slot] = header.fetchOffset;
    slots.maxBytes[slot] = header.maxBytes;
    slots.minBytes[slot] = header.minBytes;
    slots.deadline[slot] = this.deadline(header.maxWaitMillis);
    return ErrorCodes.NONE;
  }

  private multiFetch(session: Session, correlation: number, body: number, end: number): ErrorCode {
    const header = this.multiFetchHeader;
    this.counters.values[Count.FETCH_REQUESTS]++;
    session.reads();
    const error = decodeMultiFetch(this.view, body, end, header);
    if (error !== ErrorCodes.NONE) return error;
    if (this.stopping) return ErrorCodes.SHUTTING_DOWN;
    const slots = this.slots;
    const admission = slots.kept.admit(session, end - body, header.count);
    if (admission !== ErrorCodes.NONE) return admission;
    const slot = slots.addMultiFetch(session, correlation, this.arena.slice(body, end), header.count);
    slots.deadline[slot] = this.deadline(header.maxWaitMillis);
    return ErrorCodes.NONE;
  }

  /** Counted from the arrival, and fixed before the first wait. 0: it does not wait. */
  private deadline(maxWaitMillis: number): number {
    if (maxWaitMillis === 0) return 0;
    return this.broker.waits.now() + Math.min(maxWaitMillis, this.broker.options.fetchMaxWaitMs);
  }

  private listOffsets(session: Session, correlation: number, body: number, end: number): ErrorCode {
    const header = this.listOffsetsHeader;
    this.counters.values[Count.LIST_OFFSETS_REQUESTS]++;
    session.reads();
    const error = decodeListOffsets(this.view, body, end, header);
    if (error !== ErrorCodes.NONE) return error;
    if (this.stopping) return ErrorCodes.SHUTTING_DOWN;
    const partition = this.partitionAt(session, header.topicFrom, header.topicBytes, header.partition);
    if (partition === undefined) return ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION;
    const slot = this.slots.add(session, correlation, SlotState.LIST_OFFSETS);
    this.slots.target[slot] = partition.index;
    this.slots.base[slot] = header.timestampMs;
    return ErrorCodes.NONE;
  }

  private metadata(
    session: Session,
    correlation: number,
    body: number,
    end: number,
    version: MetadataVersion,
  ): ErrorCode {
    this.counters.values[Count.METADATA_REQUESTS]++;
    session.asks(this.slots.turnStamp);
    const error = decodeMetadata(this.view, body, end, this.metadataRequest);
    if (error !== ErrorCodes.NONE) return error;
    if (this.stopping) return ErrorCodes.SHUTTING_DOWN;
    // Resolved now, to a set: what waits for its turn is then bounded by the catalog and not by how often one name stood
    // in the request. A name that stands twice is answered once.
    const topics = new Set<Topic>();
    for (const name of this.metadataRequest.topics) {
      const topic = this.catalog.named(name);
      if (topic === undefined) return ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION;
      topics.add(topic);
    }
    const slot = this.slots.add(session, correlation, SlotState.METADATA);
    this.slots.target[slot] = version;
    this.slots.asked.set(slot, topics.size === 0 ? this.catalog.topics : this.catalog.sorted(topics));
    return ErrorCodes.NONE;
  }

  private hello(session: Session, correlation: number, body: number, end: number): ErrorCode {
    session.asks(this.slots.turnStamp);
    const error = decodeHello(this.view, body, end);
    if (error !== ErrorCodes.NONE) return error;
    if (this.stopping) return ErrorCodes.SHUTTING_DOWN;
    this.slots.add(session, correlation, SlotState.HELLO);
    return ErrorCodes.NONE;
  }

  private refuse(session: Session, correlation: number, error: ErrorCode): void {
    this.counters.fail(error);
    this.slots.addFailed(session, correlation, error);
  }

  /** Most requests of a connection name the topic of the one before. */
  private partitionAt(session: Session, from: number, length: number, partition: number): Partition | undefined {
    let topic = session.topic;
    if (topic === undefined || !isNameOf(topic, this.arena, from, length)) {
      topic = this.catalog.find(this.arena, from, length);
      if (topic === undefined) return undefined;
      session.topic = topic;
    }
    return partition < topic.partitions.length ? topic.partitions[partition] : undefined;
  }
}
