// One round of fetches for several positions, by the best that the broker knows: FETCH v3, which takes all of them in one
// request; v2, which waits for one; or v1 for each, which cannot wait. What came moves the positions.

import { setTimeout as sleep } from "node:timers/promises";
import { ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import type { Offset } from "../model/ids.js";
import { CLIENT_POLL_MS } from "../model/limits.js";
import { ApiKey } from "../protocol/api-keys.js";
import { UNKNOWN } from "../protocol/fetch-multi.js";
import type { WaitOptions } from "./connection-options.js";
import { BrokerError, brokerError, LogTruncatedError, OffsetOutOfRangeError } from "./errors.js";
import type { Link } from "./link.js";
import type { FetchedBytes, ReadPosition } from "./read-position.js";
import type { RecordBatch } from "./record-batch.js";
import type { MultiFetchAnswer } from "./request-queue.js";

/** Why a position could not be read on from. */
export interface Failure {
  readonly position: ReadPosition;
  readonly error: MillraceError;
}

export interface Round {
  /** What came, one for each partition that brought records; for a single position also an empty one. */
  readonly batches: RecordBatch[];
  /** What went wrong, for each partition. What is in `batches` came all the same, and their positions have moved. */
  readonly failures: readonly Failure[];
  /** Some record is larger than what was asked for: its position asks for as much as it takes the next time. */
  readonly again: boolean;
}

/** Throws only what ends the round for all of them: the connection is lost, the time is over, the signal was aborted. */
export async function fetchRound(
  connection: Link,
  positions: readonly ReadPosition[],
  maxBytes: number,
  options: WaitOptions,
): Promise<Round> {
  const gathered = new Gathered(positions.length === 1);
  if (connection.supports(ApiKey.FETCH, 3)) await fetchTogether(connection, positions, maxBytes, options, gathered);
  else await fetchEach(connection, positions, options, gathered);
  return gathered;
}

class Gathered implements Round {
  readonly batches: RecordBatch[] = [];
  readonly failures: Failure[] = [];
  again = false;

  constructor(private readonly keepEmpty: boolean) {}

  take(position: ReadPosition, from: Offset, asked: number, fetched: FetchedBytes): void {
    try {
      const batch = position.take(from, asked, fetched);
      if (batch === undefined) this.again = true;
      else if (batch.length > 0 || this.keepEmpty) this.batches.push(batch);
    } catch (error) {
      this.fail(position, error);
    }
  }

  fail(position: ReadPosition, error: unknown): void {
    if (!(error instanceof MillraceError)) throw error;
    this.failures.push({ position, error });
  }
}

async function fetchTogether(
  connection: Link,
  positions: readonly ReadPosition[],
  maxBytes: number,
  options: WaitOptions,
  gathered: Gathered,
): Promise<void> {
  const asked = positions.map(({ topic, partition, epoch, next, wantedBytes }) => {
    return { topic, partition, epoch, fetchOffset: next, maxBytes: wantedBytes };
  });
  const answered = connection.fetchMany(asked, maxBytes, options);
  sendNow(connection);
  const answers = await answered;
  for (const [i, position] of positions.entries()) {
    const answer = answers[i] as MultiFetchAnswer;
    const { fetchOffset, maxBytes: askedBytes } = asked[i] as (typeof asked)[number];
    if (answer.error === ErrorCodes.NONE) gathered.take(position, fetchOffset, askedBytes, answer);
    else gathered.fail(position, partError(answer, fetchOffset));
  }
}

/**
 * The handling of what came before often takes all of this turn of the event loop, and a request that waits for its end leaves the
 * broker idle meanwhile: half of the time when a handler is as quick as the network.
 */
function sendNow(connection: Link): void {
  void connection.flushed();
}

function partError(answer: MultiFetchAnswer, at: Offset): MillraceError {
  const { topic, partition, error, epochStart, logStartOffset, highWatermark } = answer;
  if (error === ErrorCodes.LOG_TRUNCATED) return new LogTruncatedError(topic, partition, at, epochStart);
  if (error === ErrorCodes.OFFSET_OUT_OF_RANGE) {
    const [start, end] = logStartOffset < 0 ? NOT_SAID : [logStartOffset, highWatermark];
    return new OffsetOutOfRangeError(topic, partition, at, start, end);
  }
  return brokerError(error, `FETCH from ${topic}-${partition} at ${at}`);
}

const NOT_SAID = [undefined, undefined] as const;

/** The refusal of a single partition's fetch names no offset. */
function outOfRangeAt({ topic, partition }: ReadPosition, at: Offset, error: unknown): unknown {
  const isIt = error instanceof BrokerError && error.code === "OFFSET_OUT_OF_RANGE";
  return isIt ? new OffsetOutOfRangeError(topic, partition, at, ...NOT_SAID) : error;
}

async function fetchEach(
  connection: Link,
  positions: readonly ReadPosition[],
  { maxWaitMs = 0, minBytes = 1, timeoutMs, signal }: WaitOptions,
  gathered: Gathered,
): Promise<void> {
  const alone = positions.length === 1;
  const fetches = positions.map(async (position) => {
    const { topic, partition, next, wantedBytes } = position;
    // Several cannot wait: each would keep back the answers of those behind it.
    const wait = alone ? { maxWaitMs, minBytes: Math.min(minBytes, wantedBytes) } : {};
    try {
      const answered = connection.fetch(topic, partition, next, wantedBytes, { ...wait, timeoutMs, signal });
      if (alone) sendNow(connection);
      const answer = await answered;
      gathered.take(position, next, wantedBytes, { ...answer, epoch: UNKNOWN });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      gathered.fail(position, outOfRangeAt(position, next, error));
    }
  });
  await Promise.all(fetches);
  const nothing =
    gathered.failures.length === 0 && !gathered.again && gathered.batches.every(({ length }) => length === 0);
  if (nothing && maxWaitMs > 0 && !(alone && connection.supports(ApiKey.FETCH, 2))) {
    await sleep(Math.min(maxWaitMs, CLIENT_POLL_MS), undefined, { signal });
  }
}
