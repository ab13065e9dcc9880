// Which bytes answer a fetch. It holds nothing and waits for nothing.

import { ceilingOf, type Isolation } from "../log/waiting/isolation.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { unreachable } from "../model/invariant.js";
import { ReadOutcome, type ReadPlan } from "../storage/read-plan.js";
import type { Partition } from "./topic.js";

/** Planned: `plan` says what to send, maybe nothing. NEEDS_LOAD: load the offset and plan again. Otherwise an error. */
export const NEEDS_LOAD = -1;

/** The same for a reader that says under which epoch it got its position. */
export function planFetchInEpoch(
  partition: Partition,
  epoch: number,
  offset: number,
  maxBytes: number,
  isolation: Isolation,
  plan: ReadPlan,
): ErrorCode | typeof NEEDS_LOAD {
  // Before anything else: whether the offset lies in the log or not, what the reader has read before it is not there any more.
  if (partition.log?.truncatedAt(epoch, offset) !== undefined) return ErrorCodes.LOG_TRUNCATED;
  return planFetch(partition, offset, maxBytes, isolation, plan);
}

/** Fills `plan`. NONE, an error, or {@link NEEDS_LOAD}. */
export function planFetch(
  partition: Partition,
  offset: number,
  maxBytes: number,
  isolation: Isolation,
  plan: ReadPlan,
): ErrorCode | typeof NEEDS_LOAD {
  const { writer } = partition;
  if (writer === undefined) return ErrorCodes.STORAGE_FAILURE;
  writer.log.plan(offset, maxBytes, ceilingOf(writer, isolation), plan);
  switch (plan.outcome) {
    case ReadOutcome.DATA:
      return ErrorCodes.NONE;
    case ReadOutcome.EMPTY:
      plan.bytes = 0;
      return ErrorCodes.NONE;
    case ReadOutcome.OUT_OF_RANGE:
      return ErrorCodes.OFFSET_OUT_OF_RANGE;
    case ReadOutcome.STORAGE_FAILURE:
      return ErrorCodes.STORAGE_FAILURE;
    case ReadOutcome.NEEDS_IO:
      return NEEDS_LOAD;
    default:
      return unreachable(plan.outcome, "a plan has an outcome");
  }
}
