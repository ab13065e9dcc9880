// What the parts of one partition's storage share: the segments, the three offsets, and whether it may still be written.
// It decides nothing.

import { MillraceError } from "../model/errors.js";
import type { CheckpointFile } from "./checkpoint-file.js";
import { storageFailure } from "./damage.js";
import type { EpochEntry } from "./epochs.js";
import type { StorageEvent } from "./events.js";
import type { PartitionOptions, StorageDeps } from "./options.js";
import type { Segment } from "./segment.js";
import type { SegmentList } from "./segment-list.js";
import type { StoredFormat } from "./stored-format.js";

export interface Durable {
  readonly offset: number;
  readonly segment: Segment;
  readonly position: number;
}

/** An event without what every event has. */
type Told<E> = E extends StorageEvent ? Omit<E, "dir"> : never;

export class PartitionState {
  /** Written up to here. The last thing that an append changes. */
  logEndOffset: number;
  /** Forced up to here. Moves once for each barrier, last. */
  durable: Durable;
  epochs: readonly EpochEntry[];
  /** A segment file came or went since the directory was forced. */
  directoryDirty = false;
  closed = false;
  /** Called once, when the partition is poisoned. */
  onPoisoned: () => void = () => undefined;
  #poisoned: MillraceError | undefined;

  constructor(
    readonly dir: string,
    readonly format: StoredFormat,
    readonly options: PartitionOptions,
    readonly deps: StorageDeps,
    readonly list: SegmentList,
    readonly checkpoint: CheckpointFile,
    epochs: readonly EpochEntry[],
  ) {
    const active = list.active;
    this.logEndOffset = active.endOffset;
    this.durable = { offset: active.endOffset, segment: active, position: active.bytes };
    this.epochs = epochs;
  }

  get poisoned(): MillraceError | undefined {
    return this.#poisoned;
  }

  /**
   * A write or a barrier has failed: nobody knows what is on the disk above the durable offset, so nothing is written and
   * nothing above it is read until a start has recovered the log. The first cause counts.
   */
  poison(cause: unknown): MillraceError {
    if (this.#poisoned === undefined) {
      // It names the call, its errno and the file.
      const why = cause instanceof Error ? cause.message : String(cause);
      const isOurs = cause instanceof MillraceError && cause.code === "STORAGE_FAILURE";
      this.#poisoned = isOurs ? cause : storageFailure(`${this.dir}: a write or a barrier failed: ${why}`, cause);
      this.tell({
        kind: "partition.poisoned",
        level: "error",
        message: `${this.dir} takes no writes until it is recovered by a restart; reads go on up to offset ${this.durable.offset}; ${why}`,
        durableOffset: this.durable.offset,
        logEndOffset: this.logEndOffset,
        cause,
      });
      this.onPoisoned();
    }
    return this.#poisoned;
  }

  throwUnlessWritable(): void {
    if (this.#poisoned !== undefined) throw this.#poisoned;
    if (this.closed) throw new MillraceError("CLOSED", `${this.dir} is closed`);
  }

  tell(event: Told<StorageEvent>): void {
    this.deps.log({ ...event, dir: this.dir } as StorageEvent);
  }
}
