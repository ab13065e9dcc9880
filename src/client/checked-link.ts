// The requests of a link as a program asks them: what cannot be is refused here, by name and at once, whatever carries the rest. It
// sends nothing.

import { AckPolicy } from "../model/ack-policy.js";
import type { MillraceError } from "../model/errors.js";
import type { ApiKey } from "../protocol/api-keys.js";
import { CONSUMER } from "../protocol/fetch-multi.js";
import type { ListOffsetsResult } from "../protocol/list-offsets.js";
import type { TopicMetadata } from "../protocol/metadata.js";
import type { ProduceResult } from "../protocol/produce.js";
import {
  badExpectedOffset,
  badFetch,
  badFetchMany,
  badPartition,
  badPlace,
  badRegion,
  badRequest,
  badTopics,
  checkedAck,
} from "./checks.js";
import type {
  FetchManyOptions,
  FetchPosition,
  ListedPlace,
  ProduceOptions,
  RequestOptions,
  UnacknowledgedOptions,
  WaitOptions,
} from "./connection-options.js";
import type { Link } from "./link.js";
import type { RecordRegion } from "./record-region.js";
import type { FetchAnswer, MultiFetchAnswer } from "./request-queue.js";

/** A batch and where it goes. */
export interface CheckedProduce {
  readonly topic: string;
  readonly partition: number;
  readonly region: RecordRegion;
  readonly ack: AckPolicy;
  /** Undefined: any. */
  readonly expectedOffset: number | undefined;
  readonly timeoutMs: number | undefined;
}

/** How long a fetch may wait for what. */
export interface CheckedWait {
  readonly maxBytes: number;
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface CheckedFetch extends CheckedWait {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface CheckedFetchMany extends CheckedWait {
  readonly partitions: readonly FetchPosition[];
  readonly minRecords: number;
  readonly replicaId: number;
}

export abstract class CheckedLink implements Link {
  abstract readonly address: string;
  abstract readonly closed: Promise<MillraceError | undefined>;
  abstract readonly maxFrameBytes: number;
  abstract readonly openRequests: number;
  abstract readonly queuedBytes: number;
  abstract supports(apiKey: ApiKey, version: number): boolean;
  abstract flushed(): Promise<void>;
  abstract close(): Promise<void>;
  abstract destroy(): void;

  /** Takes the records out of the region before it returns. With the ack `NONE` it resolves with nothing. */
  protected abstract carryProduce(request: CheckedProduce): Promise<ProduceResult | undefined>;
  protected abstract carryFetch(request: CheckedFetch): Promise<FetchAnswer>;
  protected abstract carryFetchMany(request: CheckedFetchMany): Promise<MultiFetchAnswer[]>;
  protected abstract carryMetadata(topics: readonly string[], timeoutMs: number | undefined): Promise<TopicMetadata[]>;
  protected abstract carryListOffsets(
    topic: string,
    partition: number,
    at: number | ListedPlace,
    timeoutMs: number | undefined,
  ): Promise<ListOffsetsResult>;

  /**
   * Appends a batch. Its records get adjacent offsets. Adjacent, not atomic: a reader may see the first of them before the
   * last, and a crash may keep some of them and not others as long as the batch is not acknowledged as FORCED.
   *
   * `region` may be changed as soon as this returns. Rejects as the broker refuses, with REQUEST_TIMEOUT or CONNECTION_LOST;
   * with UNSUPPORTED_VERSION when `expectedOffset` is given and the broker is too old to heed it. With the ack `none` it resolves
   * at once, with nothing: there will be no answer.
   */
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
    const { ack: asked = AckPolicy.FORCED, expectedOffset, timeoutMs } = options;
    const ack = checkedAck(asked);
    const bad = badPartition(topic, partition) ?? badRegion(region) ?? badExpectedOffset(expectedOffset);
    if (typeof ack !== "number" || bad !== undefined) return Promise.reject(bad ?? ack);
    return this.carryProduce({ topic, partition, region, ack, expectedOffset, timeoutMs });
  }

  /**
   * Reads stored bytes from `offset` on, at most `maxBytes`; none when there is nothing yet, or nothing came in `maxWaitMs`.
   * A broker that cannot wait answers at once. Rejects as the broker refuses (OFFSET_OUT_OF_RANGE, …), with REQUEST_TIMEOUT
   * or CONNECTION_LOST.
   */
  fetch(
    topic: string,
    partition: number,
    offset: number,
    maxBytes: number,
    options: WaitOptions = {},
  ): Promise<FetchAnswer> {
    const bad = badFetch(topic, partition, offset, maxBytes, options);
    if (bad !== undefined) return Promise.reject(bad);
    const { maxWaitMs = 0, minBytes = 1, timeoutMs, signal } = options;
    return this.carryFetch({ topic, partition, offset, maxBytes, maxWaitMs, minBytes, timeoutMs, signal });
  }

  /**
   * Reads from several partitions at once (1 to 1000, each once); one that was asked for comes back in its place, with its
   * own error or its bytes. `maxBytes` bounds the bytes of all; what does not fit the rest of it comes back empty, so rotate the order.
   *
   * Rejects with UNSUPPORTED_VERSION when the broker does not know FETCH v3 (`supports(2, 3)` says so beforehand), with
   * REQUEST_TIMEOUT or CONNECTION_LOST.
   */
  fetchMany(
    partitions: readonly FetchPosition[],
    maxBytes: number,
    options: FetchManyOptions = {},
  ): Promise<MultiFetchAnswer[]> {
    const bad = badFetchMany(partitions, maxBytes, options);
    if (bad !== undefined) return Promise.reject(bad);
    const { maxWaitMs = 0, minBytes = 1, minRecords = 1, replicaId = CONSUMER, timeoutMs, signal } = options;
    const wait = { maxBytes, maxWaitMs, minBytes, timeoutMs, signal };
    return this.carryFetchMany({ partitions, minRecords, replicaId, ...wait });
  }

  /**
   * Where to start reading for records of a time (milliseconds since 1970) on: never too late, maybe a little early. Where
   * all records are older: the high watermark, and −1 as the time. Rejects with UNSUPPORTED_VERSION when a time is asked of a
   * broker that does not know LIST_OFFSETS; the start and the end it says all the same.
   */
  listOffsets(
    topic: string,
    partition: number,
    at: number | ListedPlace,
    options: RequestOptions = {},
  ): Promise<ListOffsetsResult> {
    const bad = badPartition(topic, partition) ?? badPlace(at) ?? badRequest("request", options);
    if (bad !== undefined) return Promise.reject(bad);
    return this.carryListOffsets(topic, partition, at, options.timeoutMs);
  }

  /** Topics and their partitions, sorted; all of them when none is named. Rejects with UNKNOWN_TOPIC_OR_PARTITION. */
  metadata(topics: readonly string[] = [], options: RequestOptions = {}): Promise<TopicMetadata[]> {
    const bad = badTopics(topics) ?? badRequest("request", options);
    if (bad !== undefined) return Promise.reject(bad);
    return this.carryMetadata(topics, options.timeoutMs);
  }
}
