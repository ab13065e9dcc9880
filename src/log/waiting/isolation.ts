// How far somebody may read. One function maps who reads to an isolation, one maps the isolation to an offset, and nothing
// else decides it.

import type { Offset } from "../../model/ids.js";
import { unreachable } from "../../model/invariant.js";
import type { PartitionLog } from "../../storage/partition-log.js";
import type { PartitionWriter } from "../partition-writer.js";

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
