// What happens to partitions, told to the purgatory: growth concerns those whose condition it may satisfy; a roll, retention
// or a poisoned log everybody who waits there. A writer reports all of it by one call (`onPublished`), so what it was is
// found here by comparing. Whoever applies retention calls `changed` himself: a writer knows nothing of it.

import type { PartitionLog } from "../../storage/partition-log.js";
import type { PartitionWriter } from "../partition-writer.js";
import type { Purgatory } from "./purgatory.js";

/** What the last look at a partition saw. */
interface Seen {
  activeBase: number;
  start: number;
  poisoned: boolean;
}

export class PartitionNews {
  readonly #seen: Seen[];

  constructor(
    private readonly partitions: readonly { readonly writer: PartitionWriter<PartitionLog> | undefined }[],
    private readonly purgatory: Pick<Purgatory, "waiting" | "published" | "recheck">,
  ) {
    this.#seen = partitions.map(() => ({ activeBase: -1, start: -1, poisoned: false }));
  }

  /** Something may have happened to the partition in this place of the catalog. Harmless when nothing has. */
  changed(partition: number): void {
    // Whoever comes later looks for himself; what is remembered is then out of date and costs one look too many.
    if (this.purgatory.waiting === 0) return;
    const { writer } = this.partitions[partition];
    if (writer === undefined) return;
    const seen = this.#seen[partition];
    const { poisoned } = writer;
    const { activeBaseOffset, logStartOffset } = writer.log;
    if (activeBaseOffset === seen.activeBase && logStartOffset === seen.start && poisoned === seen.poisoned) {
      this.purgatory.published(partition);
      return;
    }
    seen.activeBase = activeBaseOffset;
    seen.start = logStartOffset;
    seen.poisoned = poisoned;
    this.purgatory.recheck(partition);
  }
}
