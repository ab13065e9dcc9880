// A client: what a program has of a broker, or of logs in its own process. Everything that it gives has a link of its own; it
// has one more itself for what there is, made when it is first needed and again when it is lost.

import { badArgument, badOptions, badSignal } from "../model/arguments.js";
import type { MillraceError } from "../model/errors.js";
import type { Offset, PartitionId } from "../model/ids.js";
import { CLIENT_RETRY_MS } from "../model/limits.js";
import type { ListOffsetsResult } from "../protocol/list-offsets.js";
import type { TopicMetadata } from "../protocol/metadata.js";
import { unlessAborted } from "./abort.js";
import { badPartition, badPlace, badRequest, badTime, badTopic, badTopics } from "./checks.js";
import { ClientProducer } from "./client-producer.js";
import type { ListedPlace, RequestOptions } from "./connection-options.js";
import { Consumer, type ConsumerOptions } from "./consumer.js";
import { within } from "./deadline.js";
import type { Backend, Link } from "./link.js";
import type { Producer } from "./producer/producer.js";
import type { ProducerOptions } from "./producer/producer-options.js";
import { badAskedPlace, type StartPosition, startOf } from "./start-position.js";
import { SteadyLink } from "./steady-link.js";
import { badSubscription, type FollowOptions, type ReplayOptions } from "./subscription/options.js";
import { clientClosed, type SubscriptionHost } from "./subscription/reading.js";
import { Subscription } from "./subscription/subscription.js";
import type { EnvelopeTopicOptions, TypedTopicOptions } from "./typed/topic-options.js";
import { type EnvelopeTopic, TypedTopic } from "./typed/typed-topic.js";

/** What a client may be told. */
export interface ClientOptions {
  /**
   * How long what the client asks, and the polls of its consumers, are tried again when the broker is away, in milliseconds. Default
   * 30 000. A subscription that has begun waits for the broker without an end.
   */
  readonly retryMs?: number | undefined;
}

/** What a question to the broker may be told. */
export interface AskOptions extends RequestOptions {
  /** Rejects with the signal's reason as soon as it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** An offset of one partition. */
export interface PartitionOffset {
  readonly topic: string;
  readonly partition: PartitionId;
  readonly offset: Offset;
}

const KNOWN = new Set(["retryMs"]);
const SIGNAL = new Set(["signal"]);
const ASK = new Set(["timeoutMs", "signal"]);

/** Producers, consumers and subscriptions of one broker, or of logs in the process. */
export class Client implements AsyncDisposable {
  private readonly retryMs: number;
  private readonly control: SteadyLink;
  /** What ends with the client. */
  private readonly open = new Set<(reason: MillraceError) => void | Promise<void>>();
  private closing: Promise<void> | undefined;

  /** A client that has asked for nothing yet: whether anybody answers shows when it first does. `connect` tries it. */
  constructor(
    private readonly backend: Backend,
    options: ClientOptions = {},
  ) {
    const bad = badOptions(options, KNOWN, "a client") ?? badTime("retryMs", options.retryMs) ?? badBackend(backend);
    if (bad !== undefined) throw bad;
    this.retryMs = options.retryMs ?? CLIENT_RETRY_MS;
    this.control = this.steadyLink(this.retryMs);
  }

  /** A client whose backend answers; else rejects with why it does not. */
  static async open(backend: Backend, options: ClientOptions = {}): Promise<Client> {
    const client = new Client(backend, options);
    try {
      await client.control.open();
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** What it leads to, for messages. */
  get address(): string {
    return this.backend.address;
  }

  /** A producer with a connection of its own. Closing the client closes it, too: what was sent before settles first. */
  producer(options: ProducerOptions = {}): Producer {
    this.throwIfClosed();
    let forget = (): void => undefined;
    const producer = new ClientProducer(this.backend, options, () => forget());
    forget = this.onClose(() => producer.close());
    return producer;
  }

  /**
   * The batches of one topic or several, on and on: at the end it waits for more.
   *
   * ```ts
   * for await (const batch of client.follow("orders", { from: "latest", signal })) {
   *   for (const record of batch.records) console.log(Buffer.from(record).toString());
   * }
   * ```
   */
  follow(topics: string | readonly string[], options: FollowOptions = {}): Subscription {
    return this.subscription("follow", topics, options);
  }

  /**
   * The batches of one topic or several up to where each partition ended for readers when the iteration began, and no record
   * more, also while producers go on.
   *
   * ```ts
   * let bytes = 0;
   * for await (const { records } of client.replay(["orders", "clicks"], { from: { clicks: new Date("2026-01-01") } })) {
   *   for (const record of records) bytes += record.length;
   * }
   * console.log(bytes);
   * ```
   */
  replay(topics: string | readonly string[], options: ReplayOptions = {}): Subscription {
    return this.subscription("replay", topics, options);
  }

  /**
   * A reader of one partition with a position of its own, on a connection of its own. A cut connection is made again, and the
   * poll repeated from the same offset, for `retryMs`. Rejects as {@link Consumer.open}.
   *
   * ```ts
   * const consumer = await client.consumer({ topic: "orders", partition: 0, from: 1, maxWaitMs: 5000 });
   * const batch = await consumer.poll();
   * console.log(batch.baseOffset, batch.length, consumer.lag);
   * consumer.seek(0);
   * await consumer.close();
   * ```
   */
  async consumer(options: ConsumerOptions, call: Pick<AskOptions, "signal"> = {}): Promise<Consumer> {
    this.throwIfClosed();
    const bad = badOptions(call, SIGNAL, "client.consumer") ?? badSignal(call.signal);
    if (bad !== undefined) throw bad;
    const { signal } = call;
    const links = this.steadyLink(this.retryMs);
    const forget = this.onClose((reason) => links.destroy(reason));
    try {
      return await unlessAborted(Consumer.over(links, options, forget), signal);
    } catch (error) {
      forget();
      links.destroy();
      throw error;
    }
  }

  /**
   * A topic whose records have values of one type.
   *
   * ```ts
   * import { json } from "millrace/client";
   *
   * const orders = client.topic("orders", { codec: json<{ readonly apples: number }>() });
   * await orders.send({ apples: 3 }, { key: "fruit" });
   * for await (const { value, offset } of orders.replay().records()) console.log(offset, value.apples);
   * ```
   *
   * With an `envelope()` around the codec its calls also take headers and a time. Throws BAD_ARGUMENT.
   */
  topic<T>(name: string, options: TypedTopicOptions<T>): TypedTopic<T>;
  topic<T>(name: string, options: EnvelopeTopicOptions<T>): EnvelopeTopic<T>;
  topic<T>(name: string, options: TypedTopicOptions<T> | EnvelopeTopicOptions<T>): TypedTopic<T>;
  topic<T>(name: string, options: TypedTopicOptions<T> | EnvelopeTopicOptions<T>): TypedTopic<T> {
    return new TypedTopic(name, options, this);
  }

  /** Topics and their partitions, sorted; all when none is named. Rejects with UNKNOWN_TOPIC_OR_PARTITION. */
  async topics(names: readonly string[] = [], options: AskOptions = {}): Promise<TopicMetadata[]> {
    return this.ask(badTopics(names), (link, request) => link.metadata(names, request), options);
  }

  /** Where to start reading one partition for records of a time on (milliseconds since 1970), or where it starts and ends. */
  async listOffsets(
    topic: string,
    partition: number,
    at: number | ListedPlace,
    options: AskOptions = {},
  ): Promise<ListOffsetsResult> {
    const bad = badPartition(topic, partition) ?? badPlace(at);
    return this.ask(bad, (link, request) => link.listOffsets(topic, partition, at, request), options);
  }

  /**
   * Where to start reading each partition of a topic for `at`: never too late, maybe a little early. Partitions that the broker refused to
   * open are left out. Rejects as the broker refuses.
   *
   * ```ts
   * const hourAgo = await client.offsetsAt("orders", new Date(Date.now() - 3_600_000));
   * for (const { partition, offset } of hourAgo) console.log(partition, offset);
   * ```
   */
  async offsetsAt(
    topic: string,
    at: Exclude<StartPosition, number>,
    options: AskOptions = {},
  ): Promise<PartitionOffset[]> {
    const bad = badTopic(topic) ?? badAskedPlace("at", at);
    return this.ask(
      bad,
      async (link, request) => {
        const [metadata] = await link.metadata([topic], request);
        const open = (metadata?.partitions ?? []).filter(({ highWatermark }) => highWatermark >= 0);
        return Promise.all(
          open.map(async (each) => {
            const { offset } = await startOf(at, topic, each, link);
            return { topic, partition: each.partition, offset };
          }),
        );
      },
      options,
    );
  }

  /**
   * Ends everything that came from this client: subscriptions, polls and questions that wait throw CLOSED, producers send what they have. Then the backend, when
   * it has something of its own to close. Resolves when all of it is closed.
   */
  close(): Promise<void> {
    this.closing ??= this.closeOnce();
    return this.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** `badArgument`: what is wrong with what is asked. It is refused here, where no broker need be there for it. */
  private async ask<T>(
    badArgument: MillraceError | undefined,
    question: (link: Link, options: RequestOptions) => Promise<T>,
    options: AskOptions,
  ): Promise<T> {
    const bad = badArgument ?? badOptions(options, ASK, "a question");
    if (bad !== undefined) throw bad;
    const { signal, ...request } = options;
    const badOption = badRequest("request", request) ?? badSignal(signal);
    if (badOption !== undefined) throw badOption;
    const what = `a question to ${this.address}`;
    return within(request.timeoutMs, signal, what, (bounds) =>
      this.control.use((link) => question(link, request), bounds),
    );
  }

  private async closeOnce(): Promise<void> {
    const open = [...this.open];
    this.open.clear();
    const reason = clientClosed(this.address);
    this.control.destroy(reason);
    const ended = await Promise.allSettled(open.map((end) => end(reason)));
    await this.backend.close?.();
    for (const each of ended) if (each.status === "rejected") throw each.reason;
  }

  private subscription(
    kind: "follow" | "replay",
    topics: string | readonly string[],
    options: FollowOptions,
  ): Subscription {
    if (typeof topics !== "string" && !Array.isArray(topics)) {
      throw badArgument("topics", topics, "a topic, or an array of them");
    }
    const named = typeof topics === "string" ? [topics] : [...new Set(topics)];
    const bad = badSubscription(kind, named, options);
    if (bad !== undefined) throw bad;
    const { backend, retryMs } = this;
    const host: SubscriptionHost = { backend, retryMs, onClose: (stop) => this.onClose(stop) };
    return new Subscription(host, { kind, topics: named, options });
  }

  /** `end` is called when the client is closed; what this returns forgets it. Throws CLOSED when it is closed already. */
  private onClose(end: (reason: MillraceError) => void | Promise<void>): () => void {
    this.throwIfClosed();
    this.open.add(end);
    return () => void this.open.delete(end);
  }

  private throwIfClosed(): void {
    if (this.closing !== undefined) throw clientClosed(this.address);
  }

  private steadyLink(retryMs: number): SteadyLink {
    const { backend } = this;
    return new SteadyLink({ connect: () => backend.connect(), address: backend.address, retryMs });
  }
}

function badBackend(backend: unknown): MillraceError | undefined {
  const isBackend = typeof (backend as Partial<Backend> | null | undefined)?.connect === "function";
  return isBackend ? undefined : badArgument("backend", backend, "a Backend");
}
