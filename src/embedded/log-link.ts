// Carries requests to logs in this process as a connection carries them to a broker: the same checks, answers, waits and
// errors, without frames. Nothing can be lost on the way, so requests have no deadline: a log answers each of them.

import { onAbort } from "../client/abort.js";
import {
  badFetch,
  badFetchMany,
  badPartition,
  badPlace,
  badRegion,
  badRequest,
  badTopics,
  checkedAck,
  outOfRange,
} from "../client/checks.js";
import type {
  FetchManyOptions,
  FetchPosition,
  ListedPlace,
  ProduceOptions,
  RequestOptions,
  UnacknowledgedOptions,
  WaitOptions,
} from "../client/connection-options.js";
import { brokerError } from "../client/errors.js";
import type { Link } from "../client/link.js";
import type { RecordRegion } from "../client/record-region.js";
import type { FetchAnswer, MultiFetchAnswer } from "../client/request-queue.js";
import { type Isolation, isolationOf } from "../log/waiting/isolation.js";
import { AckPolicy } from "../model/ack-policy.js";
import { ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import { offset as offsetOf, partitionId } from "../model/ids.js";
import { EMBEDDED_BATCH_BYTES_MAX, OFFSET_MAX } from "../model/limits.js";
import { type ApiKey, hasVersion, SUPPORTED_VERSIONS } from "../protocol/api-keys.js";
import { CONSUMER, UNKNOWN } from "../protocol/fetch-multi.js";
import type { ListOffsetsResult } from "../protocol/list-offsets.js";
import type { TopicMetadata } from "../protocol/metadata.js";
import type { ProduceResult } from "../protocol/produce.js";
import type { LogTopics } from "./log-topics.js";
import { refusal, refusalCode, unknownPlace } from "./refusal.js";

const NOTHING: Uint8Array = new Uint8Array(0);
const NO_TIME = -1;

export class LogLink implements Link {
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

  produce(topic: string, partition: number, region: RecordRegion, options?: ProduceOptions): Promise<ProduceResult>;
  produce(topic: string, partition: number, region: RecordRegion, options: UnacknowledgedOptions): Promise<undefined>;
  produce(
    topic: string,
    partition: number,
    region: RecordRegion,
    options: ProduceOptions | UnacknowledgedOptions = {},
  ): Promise<ProduceResult | undefined> {
    const badOptions = badRequest("produce", options);
    if (badOptions !== undefined) return Promise.reject(badOptions);
    const { ack: asked = AckPolicy.FORCED, expectedOffset } = options;
    const ack = checkedAck(asked);
    const bad = badPartition(topic, partition) ?? badRegion(region) ?? badSize(region) ?? badExpected(expectedOffset);
    if (typeof ack !== "number" || bad !== undefined) return Promise.reject(bad ?? ack);
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

  async fetch(
    topic: string,
    partition: number,
    offset: number,
    maxBytes: number,
    options: WaitOptions = {},
  ): Promise<FetchAnswer> {
    const bad = badFetch(topic, partition, offset, maxBytes, options);
    if (bad !== undefined) throw bad;
    const { maxWaitMs = 0, minBytes = 1, signal } = options;
    const what = `FETCH from ${topic}-${partition} at ${offset}`;
    const position = { topic, partition, epoch: UNKNOWN, fetchOffset: offset, maxBytes };
    const [answer] = await this.read([position], maxBytes, { maxWaitMs, minBytes, signal }, what);
    if (answer.error !== ErrorCodes.NONE) throw brokerError(answer.error, what);
    return { highWatermark: answer.highWatermark, payload: answer.payload };
  }

  async fetchMany(
    partitions: readonly FetchPosition[],
    maxBytes: number,
    options: FetchManyOptions = {},
  ): Promise<MultiFetchAnswer[]> {
    const bad = badFetchMany(partitions, maxBytes, options);
    if (bad !== undefined) throw bad;
    return this.read(partitions, maxBytes, options, "FETCH of several partitions");
  }

  metadata(topics: readonly string[] = [], options: RequestOptions = {}): Promise<TopicMetadata[]> {
    const bad = badTopics(topics) ?? badRequest("request", options);
    if (bad !== undefined) return Promise.reject(bad);
    const what = `METADATA of ${topics.length === 0 ? "all topics" : topics.join(", ")}`;
    return this.carry(what, async () => {
      this.topics.throwIfClosed(topics);
      const described = this.topics.describe(topics);
      if (described === undefined) throw unknownPlace(what);
      return described;
    });
  }

  async listOffsets(
    topic: string,
    partition: number,
    at: number | ListedPlace,
    options: RequestOptions = {},
  ): Promise<ListOffsetsResult> {
    const bad =
      badPartition(topic, partition) ??
      badPlace(at) ??
      badRequest("request", options) ??
      (typeof at === "number" ? outOfRange("time", at, 0, OFFSET_MAX) : undefined);
    if (bad !== undefined) throw bad;
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

  /** Waits, and reads what there is then. The options are sound. */
  private read(
    positions: readonly FetchPosition[],
    maxBytes: number,
    options: FetchManyOptions,
    what: string,
  ): Promise<MultiFetchAnswer[]> {
    const { maxWaitMs = 0, minBytes = 1, minRecords = 1, replicaId = CONSUMER, signal } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return this.carry(
      what,
      async (ended) => {
        if (new Set(positions.map(({ topic, partition }) => `${topic}-${partition}`)).size < positions.length) {
          throw brokerError(ErrorCodes.CORRUPT_REQUEST, what);
        }
        const isolation = isolationOf(replicaId);
        const places = positions.map(({ topic, partition }) => this.topics.place(topic, partition));
        const from = positions.map(({ epoch, fetchOffset, maxBytes: bytes }, i) => {
          return { place: places[i] ?? -1, offset: fetchOffset, maxBytes: bytes, epoch, isolation };
        });
        for (const { place } of from) if (place >= 0) this.topics.group.throwIfClosed(place);
        // One that is not there is answered at once, and with it all.
        if (maxWaitMs > 0 && !places.includes(undefined)) {
          await this.topics.group.wait(from, { maxBytes, maxWaitMs, minBytes, minRecords, signal: ended });
        }
        const answers = await this.answers(positions, places, maxBytes, isolation);
        // Whoever asks again and again at the end must not keep appends from being written, which come with the event loop.
        if (answers.every(({ payload }) => payload.length === 0)) await new Promise((resolve) => setImmediate(resolve));
        return answers;
      },
      signal,
    );
  }

  private answers(
    positions: readonly FetchPosition[],
    places: readonly (number | undefined)[],
    maxBytes: number,
    isolation: Isolation,
  ): Promise<MultiFetchAnswer[]> {
    let taken = 0;
    // Cut only to what its partition may have: one that does not fit the rest comes back empty, unless it is the first.
    const takes = (bytes: number): boolean => {
      const fits = taken === 0 || bytes <= maxBytes - taken;
      if (fits) taken += bytes;
      return fits;
    };
    const { group } = this.topics;
    return Promise.all(
      positions.map(async (position, i): Promise<MultiFetchAnswer> => {
        const { topic, partition, epoch, fetchOffset, maxBytes: bytes } = position;
        const named = { topic, partition: partitionId(partition) };
        const place = places[i];
        if (place === undefined) return { ...named, ...NOT_THERE, error: ErrorCodes.UNKNOWN_TOPIC_OR_PARTITION };
        group.throwIfClosed(place);
        const cutAt = group.truncatedAt(place, epoch, fetchOffset);
        let error: number = cutAt === undefined ? ErrorCodes.NONE : ErrorCodes.LOG_TRUNCATED;
        let payload: Uint8Array = NOTHING;
        try {
          if (cutAt === undefined) payload = await group.read(place, fetchOffset, bytes, isolation, takes);
        } catch (cause) {
          group.throwIfClosed(place);
          error = refusalCode(cause);
        }
        const { durableOffset: _, ...state } = group.state(place);
        return { ...named, ...state, epochStart: cutAt ?? state.epochStart, error, payload };
      }),
    );
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

const NOT_THERE = {
  epoch: UNKNOWN,
  epochStart: offsetOf(UNKNOWN),
  logStartOffset: offsetOf(UNKNOWN),
  highWatermark: offsetOf(UNKNOWN),
  logEndOffset: offsetOf(UNKNOWN),
  payload: NOTHING,
} as const;

function badExpected(expectedOffset: number | undefined): MillraceError | undefined {
  return expectedOffset === undefined ? undefined : outOfRange("expectedOffset", expectedOffset, 0, OFFSET_MAX);
}

function badSize({ bytes }: RecordRegion): MillraceError | undefined {
  if (bytes.length <= EMBEDDED_BATCH_BYTES_MAX) return undefined;
  const text = `a batch of ${bytes.length} bytes: a log in the process takes ${EMBEDDED_BATCH_BYTES_MAX} at most`;
  return new MillraceError("BAD_ARGUMENT", text);
}
