// Sends records to a broker: the way to write that a program uses. Here are its calls and what they refuse; what happens to a
// record then is lane.ts's and courier.ts's.

import { badArgument } from "../../model/arguments.js";
import { MillraceError } from "../../model/errors.js";
import { badTopic } from "../checks.js";
import type { Backend } from "../link.js";
import { RegionBuilder, regionBuilderOf } from "../record-region.js";
import { Batch, costOf } from "./batch.js";
import type { Abortable } from "./callers.js";
import { abortableBy, badAppend, badRecord, badSend, lengthOf } from "./calls.js";
import { Dispatch } from "./dispatch.js";
import type { Lane } from "./lane.js";
import type {
  AppendOptions,
  Payload,
  ProducerOptions,
  Records,
  SendOptions,
  SentBatch,
  SentRecord,
} from "./producer-options.js";
import type { Route } from "./route.js";
import { settingsOf } from "./settings.js";
import { TopicProducer, type TopicSender } from "./topic-producer.js";

/**
 * Sends records.
 *
 * ```ts
 * const producer = client.producer({ lingerMs: 5 });
 *
 * // Resolves when the record is on the disk. Equal keys go to the same partition, in order.
 * const { partition, offset } = await producer.send("orders", "apples 3", { key: "fruit" });
 * console.log(partition, offset);
 *
 * // Many at once share requests; what is sent first to a partition stands first in it.
 * const sent = await Promise.all(["pears 5", "plums 2"].map((record) => producer.send("orders", record)));
 * console.log(sent.length);
 *
 * await producer.close();
 * ```
 *
 * **What a promise says.** It resolves when the record counts as sent by {@link ProducerOptions.ack}. It rejects with
 * - the broker's refusal: `UNKNOWN_TOPIC_OR_PARTITION` and others, with which it was not written; `STORAGE_FAILURE`, after which it may be
 *   there or not, as a barrier failed;
 * - `DELIVERY_TIMEOUT`: it could not be written for {@link ProducerOptions.deliveryTimeoutMs}, and was not; `cause` says why;
 * - `OVERLOADED`, `LOG_FULL` or `SHUTTING_DOWN`: it was refused for now, and could not be sent again because something behind it in its
 *   partition has been accepted since. It was not written;
 * - `OUTCOME_UNKNOWN`: the connection was cut, or nothing came back, after it had left: it may be written or not. It is never sent again
 *   by the producer, except where {@link ProducerOptions.exclusive} makes that safe;
 * - `RECORD_TOO_LARGE`: it does not fit the broker's `maxFrameBytes`; `QUEUE_FULL`, `CLOSED`, `BAD_ARGUMENT`: it was not taken.
 *
 * **Memory** is bounded by {@link ProducerOptions.queuedBytesMax}, also when nobody awaits: when it is reached `send` rejects with `QUEUE_FULL`. A
 * program that sends without awaiting each record awaits {@link Producer.room} before it.
 *
 * A payload and a key may be changed as soon as the call has returned.
 */
export class Producer implements TopicSender, AsyncDisposable {
  private readonly dispatch: Dispatch;
  private closing: Promise<void> | undefined;

  /** Connects when the first record comes. Throws BAD_ARGUMENT. */
  constructor(backend: Backend, options: ProducerOptions = {}) {
    if (typeof backend?.connect !== "function") throw badArgument("backend", backend, "a Backend");
    this.dispatch = new Dispatch(backend, settingsOf(options));
  }

  /**
   * A handle for one topic, which has the same calls without its name.
   *
   * ```ts
   * const orders = client.producer().topic("orders");
   * const { offset } = await orders.send("pears 5");
   * console.log(offset);
   * ```
   *
   * @throws MillraceError with `code` `BAD_ARGUMENT`
   */
  topic(name: string): TopicProducer {
    const bad = badTopic(name);
    if (bad !== undefined) throw bad;
    return new TopicProducer(name, this);
  }

  /** Sends a record. The promise settles with its outcome: see {@link Producer}. */
  send(topic: string, record: Payload, options?: SendOptions): Promise<SentRecord> {
    const { dispatch } = this;
    let key: Payload | undefined;
    let partition: number | undefined;
    let signal: AbortSignal | undefined;
    if (options !== undefined) {
      const bad = badSend(options);
      if (bad !== undefined) return Promise.reject(bad);
      ({ key, partition, signal } = options);
      if (signal?.aborted) return Promise.reject(signal.reason);
    }
    const length = lengthOf(record);
    if (length === 0) return Promise.reject(badRecord(record));
    const cost = costOf(RegionBuilder.cost(length), 1);
    const route = dispatch.admit(topic, cost);
    if (route instanceof MillraceError) return Promise.reject(route);
    if (signal === undefined && route.isKnown) return this.place(route, record, length, key, partition, undefined);
    return this.placeLater(route, record, length, options ?? {});
  }

  /**
   * Sends records as one request to one partition: their offsets are adjacent. Adjacent, not atomic: a reader may see the first
   * of them before the last, and a crash may keep some of them and not others as long as the batch is not acknowledged as forced.
   * It goes behind what was sent to the partition before, and does not linger.
   *
   * ```ts
   * const producer = client.producer();
   * const { baseOffset, nextOffset } = await producer.batch("orders", ["apples 1", "pears 2"], { key: "fruit" });
   * console.log(nextOffset - baseOffset);
   * ```
   *
   * Rejects as {@link send}; with RECORD_TOO_LARGE when the records do not fit one request, and asks an iterable for no more than that.
   */
  batch(topic: string, records: Records, options: SendOptions = {}): Promise<SentBatch> {
    const bad = badTopic(topic) ?? badSend(options);
    return bad === undefined ? this.whole(topic, records, options, undefined) : Promise.reject(bad);
  }

  /**
   * Appends records as one request, if they get exactly the offsets from `expectedOffset` on: for streams of events whose writer
   * has read what is there. Else nothing is written and it rejects with {@link OffsetMismatchError}, which says where the log ends. After OUTCOME_UNKNOWN, look at the log:
   * either it ends at `expectedOffset` still, or the records from there on are these, or somebody else's.
   *
   * ```ts
   * const events = client.producer().topic("clicks");
   * const opened = await events.append(["opened"], { partition: 0, expectedOffset: 0 });
   * const closed = await events.append(["used", "closed"], { partition: 0, expectedOffset: opened.nextOffset });
   * console.log(closed.nextOffset);
   *
   * // Somebody who has not seen them:
   * await events.append(["used"], { partition: 0, expectedOffset: 1 }).catch((error) => console.log(error.code, error.logEndOffset));
   * ```
   */
  append(topic: string, records: Records, options: AppendOptions): Promise<SentBatch> {
    const bad = badTopic(topic) ?? badAppend(options, this.dispatch.ack);
    return bad === undefined ? this.whole(topic, records, options, options.expectedOffset) : Promise.reject(bad);
  }

  /** Whether {@link room} would resolve at once. To ask costs nothing; to await, as much as to send. */
  get hasRoom(): boolean {
    return this.dispatch.hasRoom;
  }

  /**
   * Resolves when less than an eighth of {@link ProducerOptions.queuedBytesMax} waits: for programs that do not await each record.
   *
   * ```ts
   * const producer = client.producer();
   * for (const record of ["a", "b", "c"]) {
   *   if (!producer.hasRoom) await producer.room();
   *   producer.send("orders", record).catch((error) => console.log(error.code));
   * }
   * await producer.flush();
   * ```
   */
  room(): Promise<void> {
    return this.dispatch.room();
  }

  /** Sends what waits, and resolves when everything that was sent before has settled. It does not reject: the calls themselves do. */
  flush(): Promise<void> {
    return this.dispatch.flush();
  }

  /**
   * Takes no more, sends what waits, and resolves when every call has settled: at the latest after
   * {@link ProducerOptions.deliveryTimeoutMs} and the time for a request. Calls that come later reject with CLOSED.
   */
  close(): Promise<void> {
    this.closing ??= this.dispatch.close();
    return this.closing;
  }

  /** Ends at once: what has not left rejects with CLOSED, what is in flight with OUTCOME_UNKNOWN. */
  destroy(): void {
    this.dispatch.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A record whose topic is known. */
  private place(
    route: Route,
    record: Payload,
    length: number,
    key: Payload | undefined,
    partition: number | undefined,
    abortable: Abortable | undefined,
    deadline?: number,
  ): Promise<SentRecord> {
    const bytes = RegionBuilder.cost(length);
    let lane = route.lane(partition ?? route.choose(key));
    const wrong = lane instanceof MillraceError ? lane : this.dispatch.tooLarge(route.topic, bytes, false);
    if (lane instanceof MillraceError || wrong !== undefined) return this.refused(costOf(bytes, 1), wrong);
    lane.makeRoom(length);
    // Making room closes the batch, and with it this partition's turn.
    if (partition === undefined && key === undefined) lane = route.lane(route.choose(undefined)) as Lane;
    return lane.append(record, length, abortable, deadline);
  }

  /** A record that may be given up, or whose topic is not known yet. */
  private placeLater(
    route: Route,
    record: Payload,
    length: number,
    { key, partition, signal }: SendOptions,
  ): Promise<SentRecord> {
    const cost = costOf(RegionBuilder.cost(length), 1);
    const call = (abortable?: Abortable): Promise<SentRecord> => {
      if (route.isKnown) return this.place(route, record, length, key, partition, abortable);
      const [own, ownKey] = [copyOf(record), key && copyOf(key)];
      const { deadline } = this.dispatch;
      return route.wait(deadline, cost, () =>
        abortable?.aborted
          ? this.refused(cost, undefined)
          : this.place(route, own, length, ownKey, partition, abortable, deadline),
      );
    };
    return signal === undefined ? call() : abortableBy(signal, call);
  }

  private whole(
    topic: string,
    records: Records,
    { key, partition, signal }: SendOptions,
    demanded: number | undefined,
  ): Promise<SentBatch> {
    const { dispatch } = this;
    if (signal?.aborted) return Promise.reject(signal.reason);
    let region: RegionBuilder;
    try {
      region = regionBuilderOf(records, dispatch.regionBytesMax(topic, demanded !== undefined));
    } catch (error) {
      return Promise.reject(error);
    }
    const cost = costOf(region.length, 1);
    const route = dispatch.admit(topic, cost);
    if (route instanceof MillraceError) return Promise.reject(route);
    const { deadline } = dispatch;
    const place = (ownKey: Payload | undefined, abortable?: Abortable): Promise<SentBatch> => {
      const lane = route.lane(partition ?? route.choose(ownKey));
      const wrong =
        lane instanceof MillraceError ? lane : dispatch.tooLarge(topic, region.length, demanded !== undefined);
      if (lane instanceof MillraceError || wrong !== undefined || abortable?.aborted) return this.refused(cost, wrong);
      const batch = new Batch(topic, lane.partition, demanded);
      const sent = batch.whole(region.records, abortable);
      batch.close(region, deadline);
      lane.push(batch);
      if (partition === undefined && key === undefined) route.closed(lane);
      return sent;
    };
    const call = (abortable?: Abortable): Promise<SentBatch> => {
      if (route.isKnown) return place(key, abortable);
      const ownKey = key && copyOf(key);
      return route.wait(deadline, cost, () => place(ownKey, abortable));
    };
    return signal === undefined ? call() : abortableBy(signal, call);
  }

  /** Of what was admitted and is not taken. */
  private refused(cost: number, reason: unknown): Promise<never> {
    this.dispatch.left(cost, 1);
    return Promise.reject(reason);
  }
}

/** Not `slice`: a Buffer's is a view. */
const copyOf = (payload: Payload): Payload => (typeof payload === "string" ? payload : Uint8Array.from(payload));
