// How the purgatory sees partitions: what may be read, how much of it there is, and what makes a fetch final.
// The only place that says when a fetch may not wait. It does no I/O.

import { invariant } from "../../model/invariant.js";
import type { PartitionLog } from "../../storage/partition-log.js";
import type { PartitionWriter } from "../partition-writer.js";
import { ceilingOf, type Isolation } from "./isolation.js";
import type { Partitions, PartView } from "./purgatory.js";
import type { WaitPart } from "./waiting-fetch.js";

type Writer = PartitionWriter<PartitionLog>;

export class WaitedPartitions implements Partitions {
  /** By their place in the catalog. Without a writer: it refused to open. */
  constructor(private readonly partitions: readonly { readonly writer: Writer | undefined }[]) {}

  /**
   * Sets `part.start`. False: that takes I/O, so load the offset and come again. A part whose answer is an error has no
   * place in the log, and needs none: it does not wait.
   */
  locate(part: WaitPart): boolean {
    const { writer } = this.partitions[part.partition];
    if (writer === undefined || isError(writer, part)) return true;
    const { log } = writer;
    const behind = log.bytesBetween(part.offset, log.logEndOffset);
    if (behind < 0) return false;
    part.start = log.writtenBytes - behind;
    return true;
  }

  view(part: WaitPart, view: PartView): void {
    const { writer } = this.partitions[part.partition];
    if (writer === undefined || isError(writer, part)) {
      view.final = true;
      view.records = 0;
      view.end = 0;
      return;
    }
    view.end = endOf(writer, part.isolation);
    view.records = Math.max(0, ceilingOf(writer, part.isolation) - part.offset);
    // What lies in an older segment, or in a log that takes no writes any more, will not become more. Only where nothing of
    // it may be read yet (it is not durable) is there something to wait for.
    view.final = view.records > 0 && (writer.poisoned || !writer.log.isActive(part.offset));
  }

  end(partition: number, isolation: Isolation): number {
    const { writer } = this.partitions[partition];
    invariant(writer !== undefined, "only partitions that are open are waited for");
    return endOf(writer, isolation);
  }

  recordBytesMin(partition: number): number {
    return this.partitions[partition].writer?.log.recordBytesMin ?? 1;
  }
}

/** The byte position of the ceiling. */
function endOf(writer: Writer, isolation: Isolation): number {
  const { log } = writer;
  // The two ceilings are the log's end and its durable part, under whatever name: the offsets decide which one it is.
  return ceilingOf(writer, isolation) === log.logEndOffset ? log.writtenBytes : log.durableBytes;
}

/** Whether this part is answered with an error, whatever is written from now on. */
function isError(writer: Writer, part: WaitPart): boolean {
  const { log } = writer;
  return (
    // At the end nothing is missing and nothing will come: whoever has read everything waits, as there is no error to tell.
    (writer.poisoned && part.offset >= log.durableOffset && part.offset < log.logEndOffset) ||
    part.offset < log.logStartOffset ||
    part.offset > log.logEndOffset ||
    log.truncatedAt(part.epoch, part.offset) !== undefined
  );
}
