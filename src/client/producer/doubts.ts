// Whether what was in doubt is in the log of a sole writer: by the log's end, and by the records there, as somebody else may have
// written them. It looks and says; what follows from it is lane.ts's.

import { MillraceError } from "../../model/errors.js";
import type { RecordRegion } from "../record-region.js";
import type { Batch } from "./batch.js";
import type { BatchQueue } from "./batch-queue.js";
import { notAlone } from "./outcome.js";
import type { LogEnds, SoleWriter } from "./sole-writer.js";

export interface DoubtsOptions {
  readonly queue: BatchQueue;
  readonly writer: SoleWriter;
  readonly ends: LogEnds;
  /** Whether the log has the first `count` records of the region from `offset` on, as far as it can be read. Rejects when the link fails. */
  compare(offset: number, region: RecordRegion, count: number): Promise<boolean>;
  /** All of it is there, from `base` on; it is out of the queue. */
  found(batch: Batch, base: number): void;
}

/**
 * `settled`: what is still in the queue may be sent. `not yet`: it is to be looked at again. An error: this writer is not alone, or its log is
 * another one; `replaced` is the batch in whose place stands another record, out of the queue.
 */
export type Verdict = "settled" | "not yet" | { readonly error: MillraceError; readonly replaced?: Batch };

export async function settleDoubts({ queue, writer, ends, compare, found }: DoubtsOptions): Promise<Verdict> {
  for (let { first } = queue; first?.isUncertain; first = queue.first) {
    const count = writer.found(first, ends);
    if (count instanceof MillraceError) return { error: count };
    if (count === "not yet" || count === 0) return "not yet";
    const from = writer.acknowledgedEnd;
    const isSame = await compare(from, first.region, count).catch(() => "not known" as const);
    // What has waited too long was given up meanwhile, or the link was lost: the repetition shows it again.
    if (isSame === "not known" || queue.first !== first) return "settled";
    if (!isSame) {
      const error = notAlone(writer.topic, writer.partition, `at offset ${from} stands another record`);
      return { error, replaced: queue.shift() };
    }
    if (!writer.keep(first, count)) return "settled";
    queue.shift();
    found(first, writer.acknowledgedEnd - first.region.records);
  }
  // If the log goes on all the same, the next request finds out that this producer is not alone.
  return "settled";
}
