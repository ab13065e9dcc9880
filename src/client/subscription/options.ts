// What a subscription may be told, and what of it cannot be.

import { badArgument, badOptions, badSignal, shown } from "../../model/arguments.js";
import { MillraceError } from "../../model/errors.js";
import { badCallback, badTopics, INT32_MAX, outOfRange } from "../checks.js";
import type { LogTruncatedError, OffsetOutOfRangeError } from "../errors.js";
import { badBounds, type ReadBounds } from "../read-bounds.js";
import { badStart, type StartPosition } from "../start-position.js";

/**
 * One start for all, or one for each topic, or for each partition of a topic. What is not named starts at `earliest`; a name that is not
 * read is BAD_ARGUMENT: of a topic at the call, of a partition that the topic does not have when the iteration begins.
 */
export type StartPositions =
  | StartPosition
  | { readonly [topic: string]: StartPosition | { readonly [partition: number]: StartPosition } };

/**
 * Where to go on when a position was refused: `"error"` throws what happened, anything else is where to begin anew. A function is told
 * what happened, after everything that came before was handled, and answers either.
 */
export type Restart<Refusal> =
  | "error"
  | StartPosition
  | ((refusal: Refusal) => "error" | StartPosition | Promise<"error" | StartPosition>);

export interface SubscriptionOptions extends ReadBounds {
  /** Where to start: `earliest` (default) is the start of the live log, `latest` its end, a number an offset, a Date a time. */
  readonly from?: StartPositions | undefined;
  /**
   * Which partitions of each topic. Default: all. A follow then also reads those that are added while it runs, from their start; a broker
   * gets more partitions only by a restart, so it asks whenever it has connected again.
   */
  readonly partitions?: readonly number[] | undefined;
  /**
   * At most so many bytes for all partitions in one answer; at least `maxBytes`. Default 4 MiB, or `maxBytes` when that is more. Where no
   * `maxBytes` is given it is shared by the partitions that have more to read. A record that is larger comes alone, up to `maxBytesLimit`.
   */
  readonly answerBytes?: number | undefined;
  /** Ends it: the iteration throws the signal's reason, and the connection is closed. */
  readonly signal?: AbortSignal | undefined;
  /**
   * A recovery of the broker has cut records that were read: {@link LogTruncatedError}. Default `"error"`. With
   * `({ epochStart }) => epochStart` it reads on where the log may differ from what was read.
   */
  readonly onTruncated?: Restart<LogTruncatedError> | undefined;
  /**
   * The position is not in the log; retention has removed records before they were read, or it was never there. Default
   * `"error"`. With `"earliest"` it reads on at the oldest record there is, and what was removed is missing.
   */
  readonly onOutOfRange?: Restart<OffsetOutOfRangeError> | undefined;
  /**
   * The connection was lost, or could not be made again, and will be tried in `retryMs`. Nothing is lost or doubled by it. What this throws
   * is an uncaught exception of the process, and the iteration goes on.
   */
  readonly onLost?: ((error: MillraceError, retryMs: number) => void) | undefined;
  /** The broker has answered again after that. What this throws is the same. */
  readonly onRecovered?: (() => void) | undefined;
}

/** What {@link Client.follow} may be told. */
export interface FollowOptions extends SubscriptionOptions {
  /** How long the broker waits at the ends of all partitions for something to come, in milliseconds. Default 20 seconds. */
  readonly maxWaitMs?: number | undefined;
  /** How much must be there to end that wait, in bytes as stored; at most `maxBytes`. Default 1. */
  readonly minBytes?: number | undefined;
}

/** What {@link Client.replay} may be told. */
export type ReplayOptions = SubscriptionOptions;

const COMMON = [
  "from",
  "partitions",
  "maxBytes",
  "maxBytesLimit",
  "answerBytes",
  "signal",
  "onTruncated",
  "onOutOfRange",
  "onLost",
  "onRecovered",
];
const KNOWN = { follow: new Set([...COMMON, "maxWaitMs", "minBytes"]), replay: new Set(COMMON) } as const;

/** BAD_ARGUMENT, or undefined. */
export function badSubscription(
  kind: keyof typeof KNOWN,
  topics: readonly unknown[],
  options: FollowOptions,
): MillraceError | undefined {
  const bad = badTopics(topics) ?? badOptions(options, KNOWN[kind], kind === "follow" ? "follow()" : "replay()");
  if (bad !== undefined) return bad;
  if (topics.length === 0) return new MillraceError("BAD_ARGUMENT", "topics: got none, expected at least one topic");
  const { maxWaitMs = 0 } = options;
  return (
    badSignal(options.signal) ??
    badPartitions(options.partitions) ??
    badFrom(options.from, topics, options.partitions) ??
    outOfRange("maxWaitMs", maxWaitMs, 0, INT32_MAX) ??
    badBounds(options) ??
    badRestart("onTruncated", options.onTruncated) ??
    badRestart("onOutOfRange", options.onOutOfRange) ??
    badCallback("onLost", options.onLost) ??
    badCallback("onRecovered", options.onRecovered)
  );
}

function badPartitions(partitions: unknown): MillraceError | undefined {
  if (partitions === undefined) return undefined;
  if (!Array.isArray(partitions) || partitions.length === 0) {
    return badArgument("partitions", partitions, "an array of at least one partition");
  }
  for (const each of partitions) {
    const bad = outOfRange("partitions", each, 0, INT32_MAX);
    if (bad !== undefined) return bad;
  }
  return undefined;
}

function badFrom(
  from: unknown,
  topics: readonly unknown[],
  partitions: readonly number[] | undefined,
): MillraceError | undefined {
  if (from === undefined) return undefined;
  if (!isMap(from)) return badStart("from", from);
  for (const [topic, each] of Object.entries(from)) {
    // Left out in silence, it would begin at `earliest` where somebody wrote `latest`.
    if (!topics.includes(topic)) {
      const text = `from names ${shown(topic)}, which is not read here: expected ${topics.join(", ")}`;
      return new MillraceError("BAD_ARGUMENT", text);
    }
    const bad = isMap(each) ? badPartitionStarts(topic, each, partitions) : badStart("from", each);
    if (bad !== undefined) return bad;
  }
  return undefined;
}

function badPartitionStarts(
  topic: string,
  starts: Readonly<Record<string, unknown>>,
  partitions: readonly number[] | undefined,
): MillraceError | undefined {
  for (const [name, start] of Object.entries(starts)) {
    const isNumber = String(Number(name)) === name;
    const bad = isNumber ? outOfRange("from", Number(name), 0, INT32_MAX) : badArgument("from", name, "a partition");
    const isRead = partitions?.includes(Number(name)) ?? true;
    const wrong = bad ?? (isRead ? badStart("from", start) : unreadStart(topic, name, partitions ?? []));
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** A start was given for a partition that is not read. */
export function unreadStart(topic: string, partition: string, read: readonly number[]): MillraceError {
  const some = read.slice(0, 8).join(", ") + (read.length > 8 ? ", …" : "");
  const text = `from names partition ${partition} of ${topic}, which is not read here: expected one of ${some}`;
  return new MillraceError("BAD_ARGUMENT", text);
}

/** For which partitions of a topic a start was given. */
export function startedPartitions(from: StartPositions | undefined, topic: string): string[] {
  const ofTopic = isMap(from) && Object.hasOwn(from, topic) ? from[topic] : undefined;
  return isMap(ofTopic) ? Object.keys(ofTopic) : [];
}

function badRestart(name: string, choice: unknown): MillraceError | undefined {
  return choice === undefined || choice === "error" || typeof choice === "function"
    ? undefined
    : badStart(name, choice);
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !(value instanceof Date);

/** Where a partition is to start. */
export function chosenStart(from: StartPositions | undefined, topic: string, partition: number): StartPosition {
  const ofTopic = isMap(from) ? (Object.hasOwn(from, topic) ? from[topic] : undefined) : from;
  if (!isMap(ofTopic)) return (ofTopic as StartPosition | undefined) ?? "earliest";
  return (ofTopic[partition] as StartPosition | undefined) ?? "earliest";
}
