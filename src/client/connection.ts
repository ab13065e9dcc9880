// One connection to a broker, by messages. It knows nothing of batches being gathered, of positions or of trying again:
// producers and consumers stand on it.

import { performance } from "node:perf_hooks";
import { AckPolicy } from "../model/ack-policy.js";
import { systemTimers } from "../model/clock.js";
import { MillraceError } from "../model/errors.js";
import { CLIENT_ANSWER_BYTES_MAX, OFFSET_MAX } from "../model/limits.js";
import { isTopicName, TOPIC_NAME_RULE } from "../model/topic-name.js";
import { ApiKey, OLDEST_VERSIONS, RequestKind, type VersionRange } from "../protocol/api-keys.js";
import { FETCH_RESPONSE_HEAD_BYTES, fetchRequestBytes, writeFetchRequest } from "../protocol/fetch.js";
import { LENGTH_BYTES } from "../protocol/frame.js";
import { encodeHelloRequest, type HelloResult } from "../protocol/hello.js";
import { encodeMetadataRequest, type TopicMetadata } from "../protocol/metadata.js";
import {
  PRODUCE_RESPONSE_BYTES,
  type ProduceResult,
  produceRequestBytes,
  writeProduceRequest,
} from "../protocol/produce.js";
import { DEFAULT_BROKER, parseBrokerAddress } from "./address.js";
import { Channel } from "./channel.js";
import type { RecordRegion } from "./record-region.js";
import type { FetchAnswer, RequestTime } from "./request-queue.js";

export interface ConnectionOptions {
  /** `host:port`, `[IPv6]:port`, or the path of a Unix socket. Default `127.0.0.1:4710`. */
  readonly broker?: string;
  /** How long it may take until the connection can be used, in milliseconds. Default 10 000. */
  readonly connectTimeoutMs?: number;
  /** How long a request may wait for its answer, in milliseconds, unless it says otherwise. Default 30 000. */
  readonly requestTimeoutMs?: number;
  /** Time for the deadlines, for tests. */
  readonly time?: RequestTime;
}

export interface RequestOptions {
  /** How long this request may wait for its answer, in milliseconds. */
  readonly timeoutMs?: number;
}

export interface ProduceOptions extends RequestOptions {
  /** When the answer comes. Default `AckPolicy.FORCED`: when the batch is on the disk. */
  readonly ack?: Exclude<AckPolicy, typeof AckPolicy.NONE>;
}

const CONNECT_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** What is assumed of a broker that does not know HELLO. */
const OLDEST_MAX_FRAME_BYTES = 8 * 1024 * 1024;
const INT32_MAX = 0x7fff_ffff;

const systemTime: RequestTime = { ...systemTimers, monotonicNow: () => performance.now() };

/**
 * A connection to a broker. Requests are pipelined: any number may be open, each settles with its own answer. A cut
 * connection rejects what is open with CONNECTION_LOST, and whether the broker has carried that out is unknown. So it is
 * after REQUEST_TIMEOUT; the connection stays usable then.
 */
export class Connection {
  private versions: readonly VersionRange[] = OLDEST_VERSIONS;
  private helloResult: HelloResult | undefined;

  /** Connects and asks the broker once what it speaks. Rejects with CONNECTION_FAILED, or as the broker refuses. */
  static async connect(options: ConnectionOptions = {}): Promise<Connection> {
    const time = options.time ?? systemTime;
    const channel = new Channel(parseBrokerAddress(options.broker ?? DEFAULT_BROKER), time);
    const timeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    const deadline = time.monotonicNow() + timeoutMs;
    try {
      await channel.open(timeoutMs);
      const connection = new Connection(channel, options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS);
      await connection.greet(Math.max(0, deadline - time.monotonicNow()));
      return connection;
    } catch (error) {
      channel.destroy();
      throw error;
    }
  }

  private constructor(
    private readonly channel: Channel,
    private readonly requestTimeoutMs: number,
  ) {}

  /** `host:port` or the path. */
  get address(): string {
    return this.channel.address;
  }

  /** Resolves when the connection is gone: with the error, or with undefined when this side closed it. */
  get closed(): Promise<MillraceError | undefined> {
    return this.channel.closed;
  }

  /** What the broker said of itself. Undefined for one that does not know HELLO. */
  get hello(): HelloResult | undefined {
    return this.helloResult;
  }

  /** The longest request that the broker takes, in bytes behind the length prefix. */
  get maxFrameBytes(): number {
    return this.helloResult?.maxFrameBytes ?? OLDEST_MAX_FRAME_BYTES;
  }

  /** Requests that have no answer yet. */
  get openRequests(): number {
    return this.channel.openRequests;
  }

  /** Bytes of requests that the kernel has not taken yet. */
  get queuedBytes(): number {
    return this.channel.outbox.queuedBytes;
  }

  supports(apiKey: ApiKey, version: number): boolean {
    return this.versions.some(
      (range) => range.apiKey === apiKey && range.minVersion <= version && version <= range.maxVersion,
    );
  }

  /**
   * Appends a batch. Its records get adjacent offsets. Adjacent, not atomic: a reader may see the first of them before the
   * last, and a crash may keep some of them and not others as long as the batch is not acknowledged as FORCED.
   *
   * `region` may be changed as soon as this returns. Rejects as the broker refuses, with REQUEST_TIMEOUT or CONNECTION_LOST.
   */
  produce(
    topic: string,
    partition: number,
    region: RecordRegion,
    options: ProduceOptions = {},
  ): Promise<ProduceResult> {
    const bad = this.badProduce(topic, partition, region);
    if (bad !== undefined) return Promise.reject(bad);
    return this.channel.request(
      RequestKind.PRODUCE_V1,
      () => `PRODUCE to ${topic}-${partition}`,
      PRODUCE_RESPONSE_BYTES - LENGTH_BYTES,
      options.timeoutMs ?? this.requestTimeoutMs,
      (correlationId) => this.writeProduce(correlationId, topic, partition, options.ack ?? AckPolicy.FORCED, region),
    );
  }

  /** Sends a batch that nobody answers (`AckPolicy.NONE`): not when it was written, and not when it was refused. */
  post(topic: string, partition: number, region: RecordRegion): void {
    const bad = this.badProduce(topic, partition, region) ?? this.channel.refusal();
    if (bad !== undefined) throw bad;
    this.writeProduce(this.channel.nextCorrelationId(), topic, partition, AckPolicy.NONE, region);
    this.channel.outbox.filled();
  }

  /**
   * Reads stored bytes from `offset` on, at most `maxBytes`; none when there is nothing yet. Rejects as the broker refuses
   * (OFFSET_OUT_OF_RANGE, …), with REQUEST_TIMEOUT or CONNECTION_LOST.
   */
  fetch(
    topic: string,
    partition: number,
    offset: number,
    maxBytes: number,
    options: RequestOptions = {},
  ): Promise<FetchAnswer> {
    const bad =
      badPartition(topic, partition) ??
      outOfRange("offset", offset, 0, OFFSET_MAX) ??
      outOfRange("maxBytes", maxBytes, 1, INT32_MAX);
    if (bad !== undefined) return Promise.reject(bad);
    return this.channel.request(
      RequestKind.FETCH_V1,
      () => `FETCH from ${topic}-${partition} at ${offset}`,
      FETCH_RESPONSE_HEAD_BYTES - LENGTH_BYTES + maxBytes,
      options.timeoutMs ?? this.requestTimeoutMs,
      (correlationId) => {
        const { outbox } = this.channel;
        const at = outbox.reserve(fetchRequestBytes(topic));
        writeFetchRequest(outbox.view, at, correlationId, topic, partition, offset, maxBytes);
      },
    );
  }

  /** Topics and their partitions, sorted; all of them when none is named. Rejects with UNKNOWN_TOPIC_OR_PARTITION. */
  metadata(topics: readonly string[] = [], options: RequestOptions = {}): Promise<TopicMetadata[]> {
    const bad = topics.map((topic) => badPartition(topic, 0)).find((error) => error !== undefined);
    if (bad !== undefined) return Promise.reject(bad);
    const version = this.supports(ApiKey.METADATA, 2) ? 2 : 1;
    return this.channel.request(
      version === 2 ? RequestKind.METADATA_V2 : RequestKind.METADATA_V1,
      () => `METADATA of ${topics.length === 0 ? "all topics" : topics.join(", ")}`,
      CLIENT_ANSWER_BYTES_MAX,
      options.timeoutMs ?? this.requestTimeoutMs,
      (correlationId) => this.channel.outbox.push(encodeMetadataRequest(version, correlationId, topics)),
    );
  }

  /** Resolves when the kernel has taken what was sent, or the connection is gone: back-pressure for {@link post}. */
  flushed(): Promise<void> {
    return this.channel.flushed();
  }

  /** Takes no more requests, waits for the answers of those that are open (each has a deadline), and closes. */
  close(): Promise<void> {
    return this.channel.close();
  }

  /** Closes at once. What is open is rejected with CLOSED. */
  destroy(): void {
    this.channel.destroy();
  }

  private async greet(timeoutMs: number): Promise<void> {
    try {
      this.helloResult = await this.channel.request(
        RequestKind.HELLO_V1,
        () => `HELLO to ${this.address}`,
        CLIENT_ANSWER_BYTES_MAX,
        timeoutMs,
        (correlationId) => this.channel.outbox.push(encodeHelloRequest(correlationId)),
      );
      this.versions = this.helloResult.versions;
    } catch (error) {
      // A broker from before HELLO: `versions` says already what it speaks.
      if (!(error instanceof MillraceError) || error.code !== "UNSUPPORTED_VERSION") throw error;
    }
  }

  private badProduce(topic: string, partition: number, region: RecordRegion): MillraceError | undefined {
    const bad = badPartition(topic, partition) ?? outOfRange("records", region.records, 1, INT32_MAX);
    if (bad !== undefined) return bad;
    const frameBytes = produceRequestBytes(topic, region.bytes.length) - LENGTH_BYTES;
    if (frameBytes <= this.maxFrameBytes) return undefined;
    const text = `a batch of ${frameBytes} bytes does not fit the ${this.maxFrameBytes} bytes of a request to ${this.address}`;
    return new MillraceError("BAD_ARGUMENT", text);
  }

  private writeProduce(
    correlationId: number,
    topic: string,
    partition: number,
    ack: AckPolicy,
    region: RecordRegion,
  ): void {
    const { outbox } = this.channel;
    const { bytes, records } = region;
    const at = outbox.reserve(produceRequestBytes(topic, bytes.length));
    const to = writeProduceRequest(outbox.view, at, correlationId, topic, partition, ack, records, bytes.length);
    outbox.bytes.set(bytes, to);
  }
}

function badPartition(topic: string, partition: number): MillraceError | undefined {
  if (!isTopicName(topic)) {
    return new MillraceError("BAD_ARGUMENT", `"${topic}" is no topic name: expected ${TOPIC_NAME_RULE}`);
  }
  return outOfRange("partition", partition, 0, INT32_MAX);
}

function outOfRange(name: string, value: number, min: number, max: number): MillraceError | undefined {
  if (Number.isInteger(value) && value >= min && value <= max) return undefined;
  return new MillraceError("BAD_ARGUMENT", `${name} is ${value}: expected a whole number from ${min} to ${max}`);
}
