// What a request may ask. Checked before anything is sent: a broker would answer no more than that the body does not parse,
// and a byte that it reads otherwise than it was meant would shift every answer behind it.

import { type AckPolicy, ackPolicyOf } from "../model/ack-policy.js";
import { badArgument, badOptions, badSignal, shown } from "../model/arguments.js";
import { MillraceError } from "../model/errors.js";
import { FETCH_PARTITIONS_MAX, OFFSET_MAX } from "../model/limits.js";
import { isTopicName, TOPIC_NAME_RULE } from "../model/topic-name.js";
import { CONSUMER } from "../protocol/fetch-multi.js";
import type { FetchManyOptions, FetchPosition, WaitOptions } from "./connection-options.js";
import type { Link } from "./link.js";
import type { RecordRegion } from "./record-region.js";

export const INT32_MAX = 0x7fff_ffff;

/** Whether it is a link: a connection, or what stands in for one. */
export function badLink(link: unknown): MillraceError | undefined {
  const isLink = typeof link === "object" && link !== null && typeof (link as Link).metadata === "function";
  return isLink ? undefined : badArgument("connection", link, "a Connection or another Link");
}

export function badTopic(topic: unknown): MillraceError | undefined {
  if (typeof topic === "string" && isTopicName(topic)) return undefined;
  return new MillraceError("BAD_ARGUMENT", `${shown(topic)} is no topic name: expected ${TOPIC_NAME_RULE}`);
}

export function badPartition(topic: unknown, partition: unknown): MillraceError | undefined {
  return badTopic(topic) ?? outOfRange("partition", partition, 0, INT32_MAX);
}

export function outOfRange(name: string, value: unknown, min: number, max: number): MillraceError | undefined {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return undefined;
  return new MillraceError("BAD_ARGUMENT", `${name} is ${shown(value)}: expected a whole number from ${min} to ${max}`);
}

/** A time span that may be any number of milliseconds. */
export function badTime(name: string, ms: unknown): MillraceError | undefined {
  if (ms === undefined || (typeof ms === "number" && ms >= 0)) return undefined;
  return badArgument(name, ms, "a number of milliseconds, at least 0");
}

export function badCallback(name: string, value: unknown): MillraceError | undefined {
  return value === undefined || typeof value === "function" ? undefined : badArgument(name, value, "a function");
}

/** What a fetch waits for. */
export function badWait(maxBytes: number, maxWaitMs: unknown, minBytes: unknown): MillraceError | undefined {
  return outOfRange("maxWaitMs", maxWaitMs, 0, INT32_MAX) ?? badMinBytes(minBytes, maxBytes);
}

/** `minBytes` never comes when it is more than `maxBytes`. */
export function badMinBytes(minBytes: unknown, maxBytes: number): MillraceError | undefined {
  const bad = outOfRange("minBytes", minBytes, 0, INT32_MAX);
  if (bad !== undefined || (minBytes as number) <= maxBytes) return bad;
  return new MillraceError("BAD_ARGUMENT", `minBytes is ${minBytes}, which maxBytes, ${maxBytes}, never reaches`);
}

export function badRegion(region: unknown): MillraceError | undefined {
  if (typeof region !== "object" || region === null) return badArgument("region", region, "records from recordRegion");
  const { records, bytes } = region as RecordRegion;
  if (!(bytes instanceof Uint8Array)) return badArgument("region.bytes", bytes, "a Uint8Array");
  return outOfRange("records", records, 1, INT32_MAX);
}

/** The policy, or what is wrong with it. */
export function checkedAck(ack: unknown): AckPolicy | MillraceError {
  return ackPolicyOf(ack) ?? badArgument("ack", ack, `"forced", "written" or "none", or one of AckPolicy`);
}

export function badPosition(position: unknown): MillraceError | undefined {
  if (typeof position !== "object" || position === null) return badArgument("partitions", position, "a FetchPosition");
  const { topic, partition, epoch, fetchOffset, maxBytes } = position as FetchPosition;
  return (
    badPartition(topic, partition) ??
    outOfRange("epoch", epoch, -1, INT32_MAX) ??
    outOfRange("fetchOffset", fetchOffset, 0, OFFSET_MAX) ??
    outOfRange("maxBytes", maxBytes, 1, INT32_MAX)
  );
}

export function badPositions(positions: unknown): MillraceError | undefined {
  if (!Array.isArray(positions)) return badArgument("partitions", positions, "an array of FetchPosition");
  return outOfRange("partitions", positions.length, 1, FETCH_PARTITIONS_MAX) ?? firstOf(positions, badPosition);
}

export function badPlace(at: unknown): MillraceError | undefined {
  if (typeof at === "number") return outOfRange("at", at, 0, OFFSET_MAX);
  if (at === "earliest" || at === "latest") return undefined;
  return badArgument("at", at, `"earliest", "latest" or milliseconds since 1970`);
}

export function badExpectedOffset(offset: unknown): MillraceError | undefined {
  return offset === undefined ? undefined : outOfRange("expectedOffset", offset, 0, OFFSET_MAX);
}

/**
 * Whether text is all there in UTF-8, where it takes so many bytes. A lone surrogate would become U+FFFD, and two different texts the same
 * bytes. Where it takes a byte for each unit it is ASCII and nothing is looked at.
 */
export function isWholeText(text: string, utf8Bytes?: number): boolean {
  // There since Node 20; the library that is compiled against is older.
  return utf8Bytes === text.length || (text as string & { isWellFormed(): boolean }).isWellFormed();
}

export const badText = (name: string, text: string): MillraceError =>
  badArgument(name, text, "text without lone surrogates, which UTF-8 cannot hold");

export function badTopics(topics: unknown): MillraceError | undefined {
  return Array.isArray(topics) ? firstOf(topics, badTopic) : badArgument("topics", topics, "an array of topic names");
}

function firstOf(
  all: readonly unknown[],
  bad: (each: unknown) => MillraceError | undefined,
): MillraceError | undefined {
  for (const each of all) {
    const error = bad(each);
    if (error !== undefined) return error;
  }
  return undefined;
}

const REQUEST = ["timeoutMs"];
const WAIT = [...REQUEST, "maxWaitMs", "minBytes", "signal"];
const KNOWN = {
  request: new Set(REQUEST),
  produce: new Set([...REQUEST, "ack", "expectedOffset"]),
  fetch: new Set(WAIT),
  fetchMany: new Set([...WAIT, "minRecords", "replicaId"]),
} as const;

/** Options of a request: their names, and those of them that every request may have. */
export function badRequest(kind: keyof typeof KNOWN, options: unknown): MillraceError | undefined {
  const bad = badOptions(options, KNOWN[kind], kind === "request" ? "a request" : kind);
  if (bad !== undefined) return bad;
  const { timeoutMs, signal } = options as { timeoutMs?: unknown; signal?: unknown };
  return badTime("timeoutMs", timeoutMs) ?? badSignal(signal);
}

/** A fetch of one partition, whatever carries it. */
export function badFetch(
  topic: unknown,
  partition: unknown,
  offset: unknown,
  maxBytes: number,
  options: WaitOptions,
): MillraceError | undefined {
  const bad = badRequest("fetch", options);
  if (bad !== undefined) return bad;
  const { maxWaitMs = 0, minBytes = 1 } = options;
  return (
    badPartition(topic, partition) ??
    outOfRange("offset", offset, 0, OFFSET_MAX) ??
    outOfRange("maxBytes", maxBytes, 1, INT32_MAX) ??
    badWait(maxBytes, maxWaitMs, minBytes)
  );
}

/** A fetch of several. */
export function badFetchMany(
  positions: unknown,
  maxBytes: number,
  options: FetchManyOptions,
): MillraceError | undefined {
  const bad = badRequest("fetchMany", options);
  if (bad !== undefined) return bad;
  const { maxWaitMs = 0, minBytes = 1, minRecords = 1, replicaId = CONSUMER } = options;
  return (
    badPositions(positions) ??
    outOfRange("maxBytes", maxBytes, 1, INT32_MAX) ??
    outOfRange("minRecords", minRecords, 0, INT32_MAX) ??
    outOfRange("replicaId", replicaId, CONSUMER, INT32_MAX) ??
    badWait(maxBytes, maxWaitMs, minBytes)
  );
}

const CONNECTION = new Set(["broker", "connectTimeoutMs", "requestTimeoutMs", "time"]);

export function badConnection(options: unknown): MillraceError | undefined {
  const bad = badOptions(options, CONNECTION, "a connection");
  if (bad !== undefined) return bad;
  const { connectTimeoutMs, requestTimeoutMs } = options as { connectTimeoutMs?: unknown; requestTimeoutMs?: unknown };
  return badTime("connectTimeoutMs", connectTimeoutMs) ?? badTime("requestTimeoutMs", requestTimeoutMs);
}

const READER = new Set(["topic", "partition", "from", "epoch", "maxWaitMs", "minBytes", "maxBytes", "maxBytesLimit"]);

/** What a reader may be told, but for its bounds of bytes and its start. */
export function badConsumer(options: unknown): MillraceError | undefined {
  const bad = badOptions(options, READER, "a consumer");
  if (bad !== undefined) return bad;
  const { topic, partition, epoch = -1, maxWaitMs = 0 } = options as Record<string, unknown>;
  return (
    badPartition(topic, partition) ??
    outOfRange("epoch", epoch, -1, INT32_MAX) ??
    outOfRange("maxWaitMs", maxWaitMs, 0, INT32_MAX)
  );
}
