// What a connection and its requests may be told.

import type { AckName, AckPolicy } from "../model/ack-policy.js";
import type { MultiFetchPosition } from "../protocol/fetch-multi.js";
import type { RequestTime } from "./request-queue.js";

export interface ConnectionOptions {
  /** `host:port`, `[IPv6]:port`, or the path of a Unix socket. Default `127.0.0.1:4710`. */
  readonly broker?: string | undefined;
  /** How long it may take until the connection can be used, in milliseconds. Default 10 000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a request may wait for its answer, in milliseconds, unless it says otherwise. Default 30 000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Time for the deadlines, for tests. */
  readonly time?: RequestTime | undefined;
}

export interface RequestOptions {
  /**
   * How long the call may take, in milliseconds; what the broker may wait (`maxWaitMs`) comes on top. It bounds the whole call: where a
   * client connects again and asks again, that is in it, too. Then it rejects with REQUEST_TIMEOUT. Default: the connection's
   * `requestTimeoutMs` for each request.
   */
  readonly timeoutMs?: number | undefined;
}

export interface ProduceOptions extends RequestOptions {
  /**
   * When the answer comes. `forced` (default): when the batch is on the disk, whatever happens to the power then. `written`: when it
   * is in the hands of the broker's operating system. The members of `AckPolicy` say the same.
   */
  readonly ack?: Exclude<AckName, "none"> | Exclude<AckPolicy, typeof AckPolicy.NONE> | undefined;
  /**
   * The offset that the first record must get: if the log ends elsewhere, nothing is written, and it rejects with
   * OFFSET_MISMATCH. So a batch whose answer was lost is repeated without being there twice, and two writers of one stream
   * find out that they met. Default: any.
   */
  readonly expectedOffset?: number | undefined;
}

/** For a batch that nobody answers: not when it was written, and not when it was refused. */
export interface UnacknowledgedOptions extends Omit<ProduceOptions, "ack"> {
  readonly ack: "none" | typeof AckPolicy.NONE;
}

/**
 * How long the broker may wait until there is something. Answers of a connection come in the order of its requests: what is
 * sent behind a fetch that waits is carried out, but answered after it. Let fetches that wait have a connection of their own.
 */
export interface WaitOptions extends RequestOptions {
  /** In milliseconds; a broker has a limit (a minute), and waits no longer. Default 0: not at all. */
  readonly maxWaitMs?: number | undefined;
  /** What is enough to answer, in bytes as stored; at most `maxBytes`. 0 and 1 both mean anything. Default 1. */
  readonly minBytes?: number | undefined;
  /**
   * Rejects with the signal's reason as soon as it is aborted. The request itself cannot be taken back: the broker answers it
   * when its wait is over, and until then answers nothing behind it.
   */
  readonly signal?: AbortSignal | undefined;
}

export type FetchPosition = MultiFetchPosition;

export interface FetchManyOptions extends WaitOptions {
  /** What is enough to answer, in records: `minBytes` and this must both be there. Default 1. */
  readonly minRecords?: number | undefined;
  /** −1, the default: a consumer, which reads up to the high watermark. A follower's number: it reads up to the log's end. */
  readonly replicaId?: number | undefined;
}

/** Instead of a time: where the log starts, and where it ends for readers. */
export type ListedPlace = "earliest" | "latest";
