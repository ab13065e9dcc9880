// Sends records to a broker: the way to write that a program uses.

import { badArgument } from "../../model/arguments.js";
import { MillraceError } from "../../model/errors.js";
import { offset, type PartitionId, partitionId } from "../../model/ids.js";
import { badTopic } from "../checks.js";
import type { Backend, Link } from "../link.js";
import { partitionOfKey, RoundRobin } from "../partitioner.js";
import { recordRegion } from "../record-region.js";
import type {
  AppendOptions,
  Payload,
  ProducerOptions,
  SendOptions,
  SentBatch,
  SentRecord,
} from "./producer-options.js";
import { TopicProducer, type TopicSender } from "./topic-producer.js";

/** Records without a key in turn, and how many partitions there are. */
interface Route {
  readonly partitions: number;
  readonly turn: RoundRobin;
}

/**
 * Sends records.
 *
 * ```ts
 * await using producer = new Producer(backend);
 * const { partition, offset } = await producer.send("orders", "apples 3", { key: "fruit" });
 * ```
 */
export class Producer implements TopicSender, AsyncDisposable {
  private link: Promise<Link> | undefined;
  private readonly routes = new Map<string, Promise<Route>>();
  private readonly open = new Set<Promise<unknown>>();
  private closing: Promise<void> | undefined;

  constructor(
    private readonly backend: Backend,
    private readonly options: ProducerOptions = {},
  ) {}

  /** A handle for one topic, which has the same calls without its name. */
  topic(name: string): TopicProducer {
    const bad = badTopic(name);
    if (bad !== undefined) throw bad;
    return new TopicProducer(name, this);
  }

  /** Sends a record; resolves to where it is when it counts as sent (see {@link ProducerOptions.ack}). */
  async send(topic: string, record: Payload, options: SendOptions = {}): Promise<SentRecord> {
    const { partition, baseOffset } = await this.batch(topic, [record], options);
    return { topic, partition, offset: baseOffset };
  }

  /** Sends records in one request: adjacent offsets. Adjacent, not atomic. */
  batch(topic: string, records: Iterable<Payload>, options: SendOptions = {}): Promise<SentBatch> {
    return this.tracked(this.produce(topic, records, options));
  }

  /** Appends records where the log must end at `expectedOffset`; rejects with OFFSET_MISMATCH and writes nothing when it ends elsewhere. */
  append(topic: string, records: Iterable<Payload>, options: AppendOptions): Promise<SentBatch> {
    return this.tracked(this.produce(topic, records, options, options.expectedOffset));
  }

  /** Sends what waits, and resolves when all that was sent before has settled. */
  async flush(): Promise<void> {
    await Promise.allSettled(this.open);
  }

  /** Takes no more, sends what waits, resolves when every send has settled. */
  close(): Promise<void> {
    this.closing ??= this.flush().then(async () => (await this.link?.catch(() => undefined))?.close());
    return this.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private tracked<T>(work: Promise<T>): Promise<T> {
    this.open.add(work);
    const done = (): void => void this.open.delete(work);
    work.then(done, done);
    return work;
  }

  private async produce(
    topic: string,
    records: Iterable<Payload>,
    { key, partition, signal }: SendOptions,
    expectedOffset?: number,
  ): Promise<SentBatch> {
    signal?.throwIfAborted();
    if (this.closing !== undefined) throw new MillraceError("CLOSED", "the producer was closed");
    const region = recordRegion(records);
    const link = await this.connected();
    const to = partition === undefined ? await this.partitionOf(link, topic, key) : partitionId(partition);
    if (this.options.ack === "none") {
      await link.produce(topic, to, region, { ack: "none", expectedOffset });
      return { topic, partition: to, baseOffset: offset(-1), nextOffset: offset(-1) };
    }
    const { baseOffset } = await link.produce(topic, to, region, { ack: this.options.ack, expectedOffset });
    return { topic, partition: to, baseOffset, nextOffset: offset(baseOffset + region.records) };
  }

  private connected(): Promise<Link> {
    this.link ??= this.backend.connect();
    return this.link;
  }

  private async partitionOf(link: Link, topic: string, key: Payload | undefined): Promise<PartitionId> {
    let route = this.routes.get(topic);
    if (route === undefined) {
      route = link.metadata([topic]).then(([found]) => {
        if (found === undefined) throw badArgument("topic", topic, "a topic of the broker");
        return { partitions: found.partitions.length, turn: new RoundRobin(found.partitions.length) };
      });
      this.routes.set(topic, route);
    }
    const { partitions, turn } = await route;
    if (key !== undefined) return partitionOfKey(key, partitions);
    const { current } = turn;
    turn.advance();
    return current;
  }
}
