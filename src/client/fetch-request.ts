// A FETCH of one partition into the outbox, and what belongs to a FETCH of several: how it is named, and whether an answer is one to it.

import { fetchRequestBytes, fetchV2RequestBytes, writeFetchRequest, writeFetchV2Request } from "../protocol/fetch.js";
import type { CheckedFetch } from "./checked-link.js";
import type { FetchPosition } from "./connection-options.js";
import type { Outbox } from "./outbox.js";
import type { MultiFetchAnswer } from "./request-queue.js";

/** `waits`: by v2, which the broker knows then. */
export function writeFetch(outbox: Outbox, id: number, request: CheckedFetch, waits: boolean): void {
  const { topic, partition, offset, maxBytes, maxWaitMs, minBytes } = request;
  if (waits) {
    const at = outbox.reserve(fetchV2RequestBytes(topic));
    writeFetchV2Request(outbox.view, at, id, topic, partition, offset, maxBytes, maxWaitMs, minBytes);
  } else {
    const at = outbox.reserve(fetchRequestBytes(topic));
    writeFetchRequest(outbox.view, at, id, topic, partition, offset, maxBytes);
  }
}

/** Whether each partition that was asked for is answered in its place. */
export function isAbout(answers: readonly MultiFetchAnswer[], partitions: readonly FetchPosition[]): boolean {
  const asAsked = ({ topic, partition }: FetchPosition, i: number) =>
    answers[i]?.topic === topic && answers[i]?.partition === partition;
  return answers.length === partitions.length && partitions.every(asAsked);
}

/** For messages: not a thousand of them. */
export function partitionsText(partitions: readonly FetchPosition[]): string {
  const names = partitions.slice(0, 3).map(({ topic, partition }) => `${topic}-${partition}`);
  const more = partitions.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
