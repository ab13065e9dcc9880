// Carries requests to logs in this process as a connection carries them to a broker: the same checks, answers, waits and
// errors, without frames. Nothing can be lost on the way, so requests have no deadline: a log answers each of them.

import { onAbort } from "../client/abort.js";
import { type CheckedFetch, type CheckedFetchMany, CheckedLink, type CheckedProduce } from "../client/checked-link.js";
import type { ListedPlace } from "../client/connection-options.js";
import { brokerError } from "../client/errors.js";
import { partitionsText } from "../client/fetch-request.js";
import type { RecordRegion } from "../client/record-region.js";
import type { FetchAnswer, MultiFetchAnswer } from "../client/request-queue.js";
import { AckPolicy } from "../model/ack-policy.js";
import { ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import { EMBEDDED_BATCH_BYTES_MAX } from "../model/limits.js";
import { type ApiKey, hasVersion, SUPPORTED_VERSIONS } from "../protocol/api-keys.js";
import { CONSUMER, UNKNOWN } from "../protocol/fetch-multi.js";
import type { ListOffsetsResult } from "../protocol/list-offsets.js";
import type { TopicMetadata } from "../protocol/metadata.js";
import type { ProduceResult } from "../protocol/produce.js";
import { readLogs } from "./log-fetch.js";
import type { LogTopics } from "./log-topics.js";
import { refusal, unknownPlace } from "./refusal.js";

const NO_TIME = -1;

export class LogLink extends CheckedLink {
  readonly maxFrameBytes = EMBEDDED_BATCH_BYTES_MAX;
  readonly queuedBytes = 0;
  readonly closed: Promise<MillraceError | undefined>;
  private gone!: (error: MillraceError | undefined) => void;
  private closing = false;
  /** What ends each request that is open. */
  private readonly open = new Set<(error: MillraceError) => void>();
  private onIdle: (() => void)[] = [];

  constructor(
    readonly address: string,
    private readonly topics: LogTopics,
  ) {
    super();
    this.closed = new Promise((resolve) => {
      this.gone = resolve;
    });
  }

  get openRequests(): number {
    return this.open.size;
  }

  supports(apiKey: ApiKey, version: number): boolean {
    return hasVersion(SUPPORTED_VERSIONS, apiKey, version);
  }

  /** Nothing is ever on its way. */
  flushed(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.closing = true;
    if (this.open.size > 0) await new Promise<void>((resolve) => this.onIdle.push(resolve));
    this.gone(undefined);
  }

  destroy(): void {
    this.closing = true;
    for (const end of [...this.open]) end(this.closedError());
    this.gone(undefined);
  }

  protected carryProduce(request: CheckedProduce): Promise<ProduceResult | undefined> {
    const { topic, partition, region, ack, expectedOffset } = request;
    const bad = badSize(region);
    if (bad !== undefined) return Promise.reject(bad);
    const what = `PRODUCE to ${topic}-${partition}`;
    const append = this.carry(what, () => {
      const place = this.placeOf(topic, partition, what);
      // Copied, as a connection does: the caller may change it as soon as this returns. Not slice(), which is a view in a Buffer.
      const bytes = new Uint8Array(region.bytes);
      const policy = ack === AckPolicy.NONE ? AckPolicy.WRITTEN : ack;
      return this.topics.group
        .append(place, bytes, region.records, policy, expectedOffset ?? -1)
        .then((baseOffset) => ({ baseOffset, logEndOffset: this.topics.group.state(place).logEndOffset }));
    });
    if (ack !== AckPolicy.NONE) return append;
    // As over a connection: nobody says whether it was written.
    append.catch(() => undefined);
    return this.closing ? append.then(() => undefined) : Promise.resolve(undefined);
  }

  protected async carryFetch(request: CheckedFetch): Promise<FetchAnswer> {
    const { topic, partition, offset, maxBytes } = request;
    const what = `FETCH from ${topic}-${partition} at ${offset}`;
    const position = { topic, partition, epoch: UNKNOWN, fetchOffset: offset, maxBytes };
    const alone = { ...request, partitions: [position], minRecords: 1, replicaId: CONSUMER };
    const [answer] = await this.read(alone, what);
    if (answer.error !== ErrorCodes.NONE) throw brokerError(answer.error, what);
    return { highWatermark: answer.highWatermark, payload: answer.payload };
  }

  protected carryFetchMany(request: CheckedFetchMany): Promise<MultiFetchAnswer[]> {
    return this.read(request, `FETCH from ${partitionsText(request.partitions)}`);
  }

  protected carryMetadata(topics: readonly string[]): Promise<TopicMetadata[]> {
    const what = `METADATA of ${topics.length === 0 ? "all topics" : topics.join(", ")}`;
    return this.carry(what, async () => {
      this.topics.throwIfClosed(topics);
      const described = this.topics.describe(topics);
      if (described === undefined) throw unknownPlace(what);
      return described;
    });
  }

  protected carryListOffsets(topic: string, partition: number, at: number | ListedPlace): Promise<ListOffsetsResult> {
    const what = `LIST_OFFSETS of ${topic}-${partition}`;
    return this.carry(what, async () => {
      const { group } = this.topics;
      const place = this.placeOf(topic, partition, what);
      if (at === "earliest") return { offset: group.state(place).logStartOffset, timestampMs: NO_TIME };
      const found = at === "latest" ? undefined : await group.offsetAtTime(place, at);
      const { highWatermark } = group.state(place);
      // What may not be read yet is not there yet: then all that is there is older.
      if (found === undefined || found.offset >= highWatermark) return { offset: highWatermark, timestampMs: NO_TIME };
      return found;
    });
  }

  private read(request: CheckedFetchMany, what: string): Promise<MultiFetchAnswer[]> {
    const { signal } = request;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return this.carry(what, (ended) => readLogs(this.topics, request, what, ended), signal);
  }

  /** Throws CLOSED, and UNKNOWN_TOPIC_OR_PARTITION. */
  private placeOf(topic: string, partition: number, what: string): number {
    const place = this.topics.place(topic, partition);
    if (place === undefined) throw unknownPlace(what);
    this.topics.group.throwIfClosed(place);
    return place;
  }

  /** Runs a request until it, its signal or this link ends; begun in this step. */
  private carry<T>(what: string, work: (ended: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.closing) return Promise.reject(this.closedError());
    const ended = new AbortController();
    return new Promise<T>((resolve, reject) => {
      let unheard: (() => void) | undefined;
      const leave = (): void => {
        unheard?.();
        this.open.delete(end);
        if (this.open.size === 0) for (const idle of this.onIdle.splice(0)) idle();
      };
      const end = (error: unknown): void => {
        reject(error);
        leave();
        ended.abort(error);
      };
      this.open.add(end);
      unheard = signal && onAbort(signal, () => end(signal.reason));
      let working: Promise<T>;
      try {
        working = work(ended.signal);
      } catch (error) {
        working = Promise.reject(error);
      }
      working.then(
        (answer) => {
          resolve(answer);
          leave();
        },
        (error: unknown) => {
          reject(refusal(error, what));
          leave();
        },
      );
    });
  }

  private closedError(): MillraceError {
    return new MillraceError("CLOSED", `the link to ${this.address} was closed by this program`);
  }
}

function badSize({ bytes }: RecordRegion): MillraceError | undefined {
  if (bytes.length <= EMBEDDED_BATCH_BYTES_MAX) return undefined;
  const text = `a batch of ${bytes.length} bytes: a log in the process takes ${EMBEDDED_BATCH_BYTES_MAX} at most`;
  return new MillraceError("BAD_ARGUMENT", text);
}
