// One connection to a broker, by messages. It knows nothing of batches being gathered, of positions or of trying again:
// producers and consumers stand on it.

import { performance } from "node:perf_hooks";
import { AckPolicy } from "../model/ack-policy.js";
import { systemTimers } from "../model/clock.js";
import { MillraceError } from "../model/errors.js";
import { CLIENT_ANSWER_BYTES_MAX } from "../model/limits.js";
import { ApiKey, hasVersion, OLDEST_VERSIONS, RequestKind, type VersionRange } from "../protocol/api-keys.js";
import { FETCH_RESPONSE_HEAD_BYTES } from "../protocol/fetch.js";
import { encodeMultiFetchRequest, multiFetchAnswerBytesMax } from "../protocol/fetch-multi.js";
import { LENGTH_BYTES } from "../protocol/frame.js";
import { encodeHelloRequest, type HelloResult } from "../protocol/hello.js";
import {
  encodeListOffsetsRequest,
  LIST_OFFSETS_RESPONSE_BYTES,
  type ListOffsetsResult,
} from "../protocol/list-offsets.js";
import { encodeMetadataRequest, type TopicMetadata } from "../protocol/metadata.js";
import {
  PRODUCE_RESPONSE_BYTES,
  type ProduceResult,
  produceRequestBytes,
  produceV2RequestBytes,
} from "../protocol/produce.js";
import { DEFAULT_BROKER, parseBrokerAddress } from "./address.js";
import { Channel } from "./channel.js";
import { type CheckedFetch, type CheckedFetchMany, CheckedLink, type CheckedProduce } from "./checked-link.js";
import { badConnection, badPartition, badRegion } from "./checks.js";
import type { ConnectionOptions, ListedPlace } from "./connection-options.js";
import { unknownPartition } from "./errors.js";
import { isAbout, partitionsText, writeFetch } from "./fetch-request.js";
import { writeProduce } from "./produce-request.js";
import type { RecordRegion } from "./record-region.js";
import type { FetchAnswer, MultiFetchAnswer, RequestTime } from "./request-queue.js";

const CONNECT_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** What is assumed of a broker that does not know HELLO. */
const OLDEST_MAX_FRAME_BYTES = 8 * 1024 * 1024;
const OLDEST_MAX_FETCH_WAIT_MS = 60_000;
const PLACES = { earliest: -2, latest: -1 } as const;

const systemTime: RequestTime = { ...systemTimers, monotonicNow: () => performance.now() };

/**
 * A connection to a broker. Requests are pipelined: any number may be open, each settles with its own answer. A cut
 * connection rejects what is open with CONNECTION_LOST, and whether the broker has carried that out is unknown. So it is
 * after REQUEST_TIMEOUT; the connection stays usable then. A broker that stops refuses with SHUTTING_DOWN: the connection takes no
 * request any more then and closes, and whatever is still open on it ends with SHUTTING_DOWN, too, and was not carried out.
 */
export class Connection extends CheckedLink {
  private versions: readonly VersionRange[] = OLDEST_VERSIONS;
  private helloResult: HelloResult | undefined;

  /** Connects and asks the broker once what it speaks. Rejects with CONNECTION_FAILED, or as the broker refuses. */
  static async connect(options: ConnectionOptions = {}): Promise<Connection> {
    const bad = badConnection(options);
    if (bad !== undefined) throw bad;
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
  ) {
    super();
  }

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
    return hasVersion(this.versions, apiKey, version);
  }

  /** Sends a batch that nobody answers (`AckPolicy.NONE`): not when it was written, and not when it was refused. */
  post(topic: string, partition: number, region: RecordRegion): void {
    const bad = badPartition(topic, partition) ?? badRegion(region) ?? this.badFrame(topic, region, undefined);
    if (bad !== undefined) throw bad;
    const target = { topic, partition, ack: AckPolicy.NONE, expectedOffset: undefined };
    this.channel.post((correlationId) => writeProduce(this.channel.outbox, correlationId, target, region));
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

  protected carryProduce(request: CheckedProduce): Promise<ProduceResult | undefined> {
    const { topic, partition, region, ack, expectedOffset, timeoutMs } = request;
    const bad =
      this.badFrame(topic, region, expectedOffset) ??
      // Sent without it, the batch would be written wherever the log ends.
      (expectedOffset === undefined
        ? undefined
        : this.badVersion(ApiKey.PRODUCE, 2, "PRODUCE with an expected offset"));
    if (bad !== undefined) return Promise.reject(bad);
    const write = (correlationId: number): void => writeProduce(this.channel.outbox, correlationId, request, region);
    if (ack === AckPolicy.NONE) return this.sendOnly(write);
    return this.channel.request(
      expectedOffset === undefined ? RequestKind.PRODUCE_V1 : RequestKind.PRODUCE_V2,
      () => `PRODUCE to ${topic}-${partition}${expectedOffset === undefined ? "" : ` at ${expectedOffset}`}`,
      PRODUCE_RESPONSE_BYTES - LENGTH_BYTES,
      timeoutMs ?? this.requestTimeoutMs,
      write,
    );
  }

  protected carryFetch(request: CheckedFetch): Promise<FetchAnswer> {
    const { topic, partition, offset, maxBytes, maxWaitMs, timeoutMs, signal } = request;
    const waits = maxWaitMs > 0 && this.supports(ApiKey.FETCH, 2);
    return this.channel.request(
      waits ? RequestKind.FETCH_V2 : RequestKind.FETCH_V1,
      () => `FETCH from ${topic}-${partition} at ${offset}`,
      FETCH_RESPONSE_HEAD_BYTES - LENGTH_BYTES + maxBytes,
      timeoutMs ?? this.requestTimeoutMs,
      (correlationId) => writeFetch(this.channel.outbox, correlationId, request, waits),
      waits ? this.waitMs(maxWaitMs) : 0,
      signal,
    );
  }

  protected async carryFetchMany(request: CheckedFetchMany): Promise<MultiFetchAnswer[]> {
    const bad = this.badVersion(ApiKey.FETCH, 3, "FETCH of several partitions");
    if (bad !== undefined) throw bad;
    const { partitions, maxWaitMs, timeoutMs, signal } = request;
    const asked = { ...request, maxWaitMillis: maxWaitMs };
    const answers = await this.channel.request(
      RequestKind.FETCH_V3,
      () => `FETCH from ${partitionsText(partitions)}`,
      multiFetchAnswerBytesMax(asked),
      timeoutMs ?? this.requestTimeoutMs,
      (correlationId) => this.channel.outbox.push(encodeMultiFetchRequest(correlationId, asked)),
      this.waitMs(maxWaitMs),
      signal,
    );
    if (isAbout(answers, partitions)) return answers;
    const text = `the answer to a FETCH from ${partitionsText(partitions)} is about other partitions`;
    throw this.channel.distrust(new MillraceError("BAD_RESPONSE", text));
  }

  protected async carryListOffsets(
    topic: string,
    partition: number,
    at: number | ListedPlace,
    timeoutMs: number | undefined,
  ): Promise<ListOffsetsResult> {
    if (typeof at !== "number" && !this.supports(ApiKey.LIST_OFFSETS, 1)) {
      const [metadata] = await this.carryMetadata([topic], timeoutMs);
      const found = metadata?.partitions.find((each) => each.partition === partition);
      if (found === undefined) throw unknownPartition(topic, partition);
      return { offset: at === "earliest" ? found.logStartOffset : found.highWatermark, timestampMs: -1 };
    }
    const bad = this.badVersion(ApiKey.LIST_OFFSETS, 1, "LIST_OFFSETS");
    if (bad !== undefined) throw bad;
    const timestampMs = typeof at === "number" ? at : PLACES[at];
    return this.channel.request(
      RequestKind.LIST_OFFSETS_V1,
      () => `LIST_OFFSETS of ${topic}-${partition}`,
      LIST_OFFSETS_RESPONSE_BYTES - LENGTH_BYTES,
      timeoutMs ?? this.requestTimeoutMs,
      (id) => this.channel.outbox.push(encodeListOffsetsRequest(id, topic, partition, timestampMs)),
    );
  }

  protected carryMetadata(topics: readonly string[], timeoutMs: number | undefined): Promise<TopicMetadata[]> {
    const version = this.supports(ApiKey.METADATA, 2) ? 2 : 1;
    return this.channel.request(
      version === 2 ? RequestKind.METADATA_V2 : RequestKind.METADATA_V1,
      () => `METADATA of ${topics.length === 0 ? "all topics" : topics.join(", ")}`,
      CLIENT_ANSWER_BYTES_MAX,
      timeoutMs ?? this.requestTimeoutMs,
      (correlationId) => this.channel.outbox.push(encodeMetadataRequest(version, correlationId, topics)),
    );
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

  /** How long the broker may really wait. */
  private waitMs(asked: number): number {
    return Math.min(asked, this.helloResult?.maxFetchWaitMillis ?? OLDEST_MAX_FETCH_WAIT_MS);
  }

  private badVersion(apiKey: ApiKey, version: number, what: string): MillraceError | undefined {
    if (this.supports(apiKey, version)) return undefined;
    const text = `the broker at ${this.address} does not know ${what}`;
    return new MillraceError("UNSUPPORTED_VERSION", text);
  }

  private badFrame(
    topic: string,
    { bytes }: RecordRegion,
    expectedOffset: number | undefined,
  ): MillraceError | undefined {
    const bytesOf = expectedOffset === undefined ? produceRequestBytes : produceV2RequestBytes;
    const frameBytes = bytesOf(topic, bytes.length) - LENGTH_BYTES;
    if (frameBytes <= this.maxFrameBytes) return undefined;
    const text = `a batch of ${frameBytes} bytes does not fit the ${this.maxFrameBytes} bytes of a request to ${this.address}`;
    return new MillraceError("BAD_ARGUMENT", text);
  }

  private sendOnly(write: (correlationId: number) => void): Promise<undefined> {
    try {
      this.channel.post(write);
      return Promise.resolve(undefined);
    } catch (error) {
      return Promise.reject(error);
    }
  }
}
