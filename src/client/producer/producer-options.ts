// What a producer and its calls may be told, and what they answer.

import type { AckName } from "../../model/ack-policy.js";
import type { MillraceError } from "../../model/errors.js";
import type { Offset, PartitionId } from "../../model/ids.js";
import type { RequestTime } from "../request-queue.js";

/** What a producer may be told. One that nobody answers cannot be exclusive, which finds out by the answers. */
export type ProducerOptions = ProducerBounds & (AcknowledgedOptions | UnacknowledgedProducerOptions);

interface AcknowledgedOptions {
  /**
   * When a record counts as sent. `forced` (default): when it is on the disk, whatever happens to the power then. `written`: when it is
   * in the hands of the broker's operating system. `none`: when it left; nobody says whether it arrived.
   */
  readonly ack?: Exclude<AckName, "none"> | undefined;
  /**
   * This producer is the only one that writes to the partitions it sends to. Each request then names the offset that it must
   * get, so that what was in flight when a connection was cut is found out and repeated safely: every record is there once.
   * When somebody else writes there nevertheless, everything that waits for that partition and all that is sent to it later
   * rejects with OFFSET_MISMATCH. Needs a broker that knows PRODUCE v2. Default false.
   */
  readonly exclusive?: boolean | undefined;
}

interface UnacknowledgedProducerOptions {
  readonly ack: "none";
  readonly exclusive?: false | undefined;
}

interface ProducerBounds {
  /**
   * How long the first record of a batch waits for others, in milliseconds. Default 0: for those of the same turn of the event
   * loop. What comes while as many requests as may be are in flight goes together with the next one in any case, so more than that makes
   * requests fewer only where records come slowly, one by one.
   */
  readonly lingerMs?: number | undefined;
  /** A batch leaves before it is larger than this, in bytes; one record may be larger. Default 256 KiB, and never more than the broker takes. */
  readonly batchBytes?: number | undefined;
  /** A batch leaves when it has so many records. Default 16 384. */
  readonly batchRecords?: number | undefined;
  /** Requests of one partition that are on their way at once. Default 5. */
  readonly requestsInFlight?: number | undefined;
  /**
   * What may be waiting or on its way, in bytes, each record counted with 192 bytes for what is kept of it. Default 64 MiB. From an
   * eighth of it on {@link Producer.room} waits; when it is reached a send rejects with QUEUE_FULL. One request may go beyond it.
   */
  readonly queuedBytesMax?: number | undefined;
  /**
   * How long a record may wait to be sent, and be sent again after a refusal that may pass, in milliseconds; then it rejects with
   * DELIVERY_TIMEOUT. Default 60 000.
   */
  readonly deliveryTimeoutMs?: number | undefined;
  /** How long a request may wait for its answer, in milliseconds; then its connection is given up. Default 30 000. */
  readonly requestTimeoutMs?: number | undefined;
  /**
   * The connection was lost, or could not be made, and will be tried in `retryMs`. What this throws is an uncaught exception of the
   * process, and the producer goes on.
   */
  readonly onLost?: ((error: MillraceError, retryMs: number) => void) | undefined;
  /** A connection was made after that. What this throws is the same. */
  readonly onRecovered?: (() => void) | undefined;
  /** For the jitter of pauses; in [0, 1). */
  readonly random?: (() => number) | undefined;
  /** Time for linger, pauses and deadlines, for tests. */
  readonly time?: RequestTime | undefined;
}

/** Text is taken as UTF-8. */
export type Payload = string | Uint8Array;

/** Records of a batch: an array, or what gives them one by one. Not text, which would be a record for each letter. */
export type Records = Iterable<Payload> & object;

/** A send whose partition follows from the key, or goes round robin. */
export interface SendByKey {
  /** Chooses the partition: equal keys, equal partition, while the topic keeps their number. It is not sent. Default: round robin. */
  readonly key?: Payload | undefined;
  readonly partition?: undefined;
  /** Rejects with the signal's reason. What has left by then is written nevertheless; what still waits is not sent. */
  readonly signal?: AbortSignal | undefined;
}

/** A send to a partition that is named. */
export interface SendToPartition {
  /** The partition itself. */
  readonly partition: number;
  readonly key?: undefined;
  /** As in {@link SendByKey}. */
  readonly signal?: AbortSignal | undefined;
}

/** A key chooses the partition: give the one or the other. */
export type SendOptions = SendByKey | SendToPartition;

export interface AppendOptions {
  readonly partition: number;
  /** Where the log must end: the offset that the first record gets. */
  readonly expectedOffset: Offset | number;
  /** As in {@link SendOptions}. */
  readonly signal?: AbortSignal | undefined;
}

/** Where a record is. */
export interface SentRecord {
  readonly topic: string;
  readonly partition: PartitionId;
  /** With the ack `none`, which is never told: −1. */
  readonly offset: Offset;
}

/** Where the records of a batch are: adjacent, from `baseOffset` on. */
export interface SentBatch {
  readonly topic: string;
  readonly partition: PartitionId;
  /** The first record's offset. With the ack `none`: −1. */
  readonly baseOffset: Offset;
  /** The offset behind the last record, which the next append expects. With the ack `none`: −1. */
  readonly nextOffset: Offset;
}
