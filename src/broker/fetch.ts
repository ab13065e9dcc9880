// Which bytes answer a fetch. One function maps who reads to an isolation, one maps the isolation to an offset, and nothing
// else decides how far somebody may read. It holds nothing and waits for nothing.

import type { PartitionWriter } from "../log/partition-writer.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import type { Offset } from "../model/ids.js";
import { unreachable } from "../model/invariant.js";
import type { PartitionLog } from "../storage/partition-log.js";
import { ReadOutcome, type ReadPlan } from "../storage/read-plan.js";
import type { Partition } from "./topic.js";

export const Isolation = { HIGH_WATERMARK: 0, LOG_END: 1 } as const;
export type Isolation = (typeof Isolation)[keyof typeof Isolation];

/** On the wire a consumer is replica −1; whoever has a number follows the log. */
export const CONSUMER = -1;

export const isolationOf = (replicaId: number): Isolation =>
  replicaId < 0 ? Isolation.HIGH_WATERMARK : Isolation.LOG_END;

/** The offset up to which a reader may read. */
export function ceilingOf(writer: PartitionWriter<PartitionLog>, isolation: Isolation): Offset {
  switch (isolation) {
    case Isolation.HIGH_WATERMARK:
      return writer.highWatermark;
    case Isolation.LOG_END:
      return writer.logEndOffset;
    default:
      return unreachable(isolation, "an isolation has a ceiling");
  }
}

/** Planned: `plan` says what to send, maybe nothing. NEEDS_LOAD: load the offset and plan again. Otherwise an error. */
export const NEEDS_LOAD = -1;

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
