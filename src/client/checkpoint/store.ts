// Where a subscription keeps how far it has come. What is kept is for the program: the broker knows nothing of readers.

import { MillraceError } from "../../model/errors.js";
import type { Offset } from "../../model/ids.js";

/** How far one partition was handled. */
export interface CheckpointPosition {
  readonly topic: string;
  readonly partition: number;
  /** The first offset that was not handled yet: where to read on. */
  readonly offset: Offset;
  /**
   * The epoch of the log that `offset` belongs to. With it a reader that comes back notices when a recovery has cut the log
   * below its position since. −1: unknown.
   */
  readonly epoch: number;
}

/**
 * Keeps positions of partitions. {@link fileCheckpoints} and {@link memoryCheckpoints} are two; one that writes into the
 * database that the handler writes to, in one transaction, makes the handling exactly once.
 */
export interface CheckpointStore {
  /** Everything that is kept, also of topics that the caller does not read. */
  load(): Promise<readonly CheckpointPosition[]>;
  /**
   * Replaces the positions of these partitions; all of them or none. Those of other partitions stay. A position may be lower
   * than the one before: a reader may go back. One call at a time for each subscription.
   */
  save(positions: readonly CheckpointPosition[]): Promise<void>;
}

/** The name of a partition in a map of positions. A topic's name has no space in it. */
export const positionKey = (topic: string, partition: number): string => `${topic} ${partition}`;

/** What is wrong with a store of the caller's own. */
export function checkpointFailure(message: string, cause?: unknown): MillraceError {
  return new MillraceError("CHECKPOINT_FAILED", message, { cause });
}
