// A fetch of several partitions from logs in this process, answered as a broker answers FETCH v3.

import type { CheckedFetchMany } from "../client/checked-link.js";
import type { FetchPosition } from "../client/connection-options.js";
import { brokerError } from "../client/errors.js";
import type { MultiFetchAnswer } from "../client/request-queue.js";
import { type Isolation, isolationOf } from "../log/waiting/isolation.js";
import { ErrorCodes } from "../model/error-codes.js";
import { offset as offsetOf, partitionId } from "../model/ids.js";
import { UNKNOWN } from "../protocol/fetch-multi.js";
import type { LogTopics } from "./log-topics.js";
import { refusalCode } from "./refusal.js";

const NOTHING: Uint8Array = new Uint8Array(0);

const NOT_THERE = {
  epoch: UNKNOWN,
  epochStart: offsetOf(UNKNOWN),
  logStartOffset: offsetOf(UNKNOWN),
  highWatermark: offsetOf(UNKNOWN),
  logEndOffset: offsetOf(UNKNOWN),
  payload: NOTHING,
} as const;

/** Waits, and reads what there is then; `ended` ends the wait. Rejects for a partition that is named twice, and when a log was closed. */
export async function readLogs(
  topics: LogTopics,
  { partitions, maxBytes, maxWaitMs, minBytes, minRecords, replicaId }: CheckedFetchMany,
  what: string,
  ended: AbortSignal,
): Promise<MultiFetchAnswer[]> {
  if (new Set(partitions.map(({ topic, partition }) => `${topic}-${partition}`)).size < partitions.length) {
    throw brokerError(ErrorCodes.CORRUPT_REQUEST, what);
  }
  const { group } = topics;
  const isolation = isolationOf(replicaId);
  const places = partitions.map(({ topic, partition }) => topics.place(topic, partition));
  const from = partitions.map(({ epoch, fetchOffset, maxBytes: bytes }, i) => {
    return { place: places[i] ?? -1, offset: fetchOffset, maxBytes: bytes, epoch, isolation };
  });
  for (const { place } of from) if (place >= 0) group.throwIfClosed(place);
  // One that is not there is answered at once, and with it all.
  if (maxWaitMs > 0 && !places.includes(undefined)) {
    await group.wait(from, { maxBytes, maxWaitMs, minBytes, minRecords, signal: ended });
  }
  const read = await answers(topics, partitions, places, maxBytes, isolation);
  // Whoever asks again and again at the end must not keep appends from being written, which come with the event loop.
  if (read.every(({ payload }) => payload.length === 0)) await new Promise((resolve) => setImmediate(resolve));
  return read;
}

function answers(
  { group }: LogTopics,
  partitions: readonly FetchPosition[],
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
  return Promise.all(
    partitions.map(async (position, i): Promise<MultiFetchAnswer> => {
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
