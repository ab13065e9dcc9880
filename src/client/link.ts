// What producers, consumers and subscriptions need of whatever carries their requests, and where they get it from. A connection
// to a broker is one such link; a log in the same process is another. It must know neither.

import type { MillraceError } from "../model/errors.js";
import type { ApiKey } from "../protocol/api-keys.js";
import type { ListOffsetsResult } from "../protocol/list-offsets.js";
import type { TopicMetadata } from "../protocol/metadata.js";
import type { ProduceResult } from "../protocol/produce.js";
import type {
  FetchManyOptions,
  FetchPosition,
  ListedPlace,
  ProduceOptions,
  RequestOptions,
  UnacknowledgedOptions,
  WaitOptions,
} from "./connection-options.js";
import type { RecordRegion } from "./record-region.js";
import type { FetchAnswer, MultiFetchAnswer } from "./request-queue.js";

/** Carries requests and brings their answers. Whoever opened it is alone on it: a fetch that waits holds back the answers behind it. */
export interface Link {
  /** What it leads to, for messages. */
  readonly address: string;
  /** Resolves when the link is gone: with the error, or with undefined when this side closed it. */
  readonly closed: Promise<MillraceError | undefined>;
  /** The longest request that is taken, in bytes behind the length prefix. */
  readonly maxFrameBytes: number;
  /** Requests that have no answer yet. */
  readonly openRequests: number;
  /** Bytes of requests that were not taken yet. */
  readonly queuedBytes: number;

  supports(apiKey: ApiKey, version: number): boolean;
  /** Appends a batch; `region` may be changed as soon as this returns. */
  produce(topic: string, partition: number, region: RecordRegion, options?: ProduceOptions): Promise<ProduceResult>;
  produce(topic: string, partition: number, region: RecordRegion, options: UnacknowledgedOptions): Promise<undefined>;
  /** Stored bytes of one partition. */
  fetch(
    topic: string,
    partition: number,
    offset: number,
    maxBytes: number,
    options?: WaitOptions,
  ): Promise<FetchAnswer>;
  /** Stored bytes of several partitions, in the order asked for. */
  fetchMany(
    partitions: readonly FetchPosition[],
    maxBytes: number,
    options?: FetchManyOptions,
  ): Promise<MultiFetchAnswer[]>;
  metadata(topics?: readonly string[], options?: RequestOptions): Promise<TopicMetadata[]>;
  listOffsets(
    topic: string,
    partition: number,
    at: number | ListedPlace,
    options?: RequestOptions,
  ): Promise<ListOffsetsResult>;
  /** Resolves when what was sent was taken, or the link is gone. */
  flushed(): Promise<void>;
  /** Takes no more requests, waits for the answers of those that are open, and closes. */
  close(): Promise<void>;
  /** Closes at once. What is open is rejected with CLOSED. */
  destroy(): void;
}

/** Where links come from: a broker, or logs in this process. */
export interface Backend {
  /** What the links lead to, for messages. */
  readonly address: string;
  /** A new link, for one owner alone. Rejects with CONNECTION_FAILED, or as the broker refuses. */
  connect(): Promise<Link>;
  /** What a client calls last when it is closed: for whatever belongs to the backend itself. */
  close?(): Promise<void>;
}
