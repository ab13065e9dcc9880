// What a producer was told, checked and filled in.

import { performance } from "node:perf_hooks";
import { AckPolicy } from "../../model/ack-policy.js";
import { badArgument, badOptions } from "../../model/arguments.js";
import { systemTimers } from "../../model/clock.js";
import type { MillraceError } from "../../model/errors.js";
import {
  PRODUCER_BATCH_BYTES,
  PRODUCER_BATCH_RECORDS,
  PRODUCER_DELIVERY_MS,
  PRODUCER_LINGER_MS,
  PRODUCER_QUEUED_BYTES,
  PRODUCER_REQUESTS_IN_FLIGHT,
} from "../../model/limits.js";
import { badCallback, badTime, checkedAck, INT32_MAX, outOfRange } from "../checks.js";
import type { RequestTime } from "../request-queue.js";
import type { ProducerOptions } from "./producer-options.js";

export interface Settings {
  readonly ack: AckPolicy;
  readonly isExclusive: boolean;
  readonly lingerMs: number;
  readonly batchBytes: number;
  readonly batchRecords: number;
  readonly requestsInFlight: number;
  readonly queuedBytesMax: number;
  readonly deliveryTimeoutMs: number;
  readonly requestTimeoutMs: number | undefined;
  readonly onLost: ((error: MillraceError, retryMs: number) => void) | undefined;
  readonly onRecovered: (() => void) | undefined;
  readonly random: () => number;
  readonly time: RequestTime;
}

const systemTime: RequestTime = {
  monotonicNow: () => performance.now(),
  after: (ms, action) => {
    if (ms > 0) return systemTimers.after(ms, action);
    // A timer of no milliseconds takes one; this runs when all callers of this turn have had theirs.
    const immediate = setImmediate(action);
    return () => clearImmediate(immediate);
  },
};

const KNOWN = new Set([
  "ack",
  "exclusive",
  "lingerMs",
  "batchBytes",
  "batchRecords",
  "requestsInFlight",
  "queuedBytesMax",
  "deliveryTimeoutMs",
  "requestTimeoutMs",
  "onLost",
  "onRecovered",
  "random",
  "time",
]);

/** Throws BAD_ARGUMENT. */
export function settingsOf(options: ProducerOptions): Settings {
  const bad = badOptions(options, KNOWN, "a producer");
  if (bad !== undefined) throw bad;
  const ack = checkedAck(options.ack ?? AckPolicy.FORCED);
  if (typeof ack !== "number") throw ack;
  const settings: Settings = {
    ack,
    isExclusive: options.exclusive ?? false,
    lingerMs: options.lingerMs ?? PRODUCER_LINGER_MS,
    batchBytes: options.batchBytes ?? PRODUCER_BATCH_BYTES,
    batchRecords: options.batchRecords ?? PRODUCER_BATCH_RECORDS,
    requestsInFlight: options.requestsInFlight ?? PRODUCER_REQUESTS_IN_FLIGHT,
    queuedBytesMax: options.queuedBytesMax ?? PRODUCER_QUEUED_BYTES,
    deliveryTimeoutMs: options.deliveryTimeoutMs ?? PRODUCER_DELIVERY_MS,
    requestTimeoutMs: options.requestTimeoutMs,
    onLost: options.onLost,
    onRecovered: options.onRecovered,
    random: options.random ?? Math.random,
    time: options.time ?? systemTime,
  };
  const wrong =
    badTime("lingerMs", settings.lingerMs) ??
    badTime("deliveryTimeoutMs", settings.deliveryTimeoutMs) ??
    badTime("requestTimeoutMs", settings.requestTimeoutMs) ??
    outOfRange("batchBytes", settings.batchBytes, 1, INT32_MAX) ??
    outOfRange("batchRecords", settings.batchRecords, 1, INT32_MAX) ??
    outOfRange("requestsInFlight", settings.requestsInFlight, 1, INT32_MAX) ??
    outOfRange("queuedBytesMax", settings.queuedBytesMax, 1, INT32_MAX) ??
    badCallback("onLost", settings.onLost) ??
    badCallback("onRecovered", settings.onRecovered) ??
    badExclusive(options.exclusive, ack);
  if (wrong !== undefined) throw wrong;
  return settings;
}

function badExclusive(exclusive: unknown, ack: AckPolicy): MillraceError | undefined {
  if (exclusive !== undefined && typeof exclusive !== "boolean") {
    return badArgument("exclusive", exclusive, "true or false");
  }
  if (exclusive !== true || ack !== AckPolicy.NONE) return undefined;
  return badArgument("ack", "none", "forced or written where exclusive is true: it finds out by the answers");
}
