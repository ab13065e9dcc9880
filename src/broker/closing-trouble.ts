// What partitions could not write while they were closed. Storage closes all the same and leaves the rest to the next start,
// which has to recover then: nothing is lost, and it is not what a clean stop promises.

import { MillraceError } from "../model/errors.js";
import type { StorageEvent } from "../storage/events.js";

export class ClosingTrouble {
  private closing = false;
  private readonly failed = new Map<string, { readonly message: string; readonly cause: unknown }>();

  /** Passes events on, and remembers those that matter once partitions are being closed. */
  hears(told: (event: StorageEvent) => void): (event: StorageEvent) => void {
    return (event) => {
      if (this.closing && (event.kind === "checkpoint.write-failed" || event.kind === "index.write-failed")) {
        this.failed.set(event.dir, { message: event.message, cause: event.cause });
      }
      told(event);
    };
  }

  begin(): void {
    this.closing = true;
  }

  /** When closing this partition has failed in part. */
  throwFor(dir: string): void {
    const failure = this.failed.get(dir);
    if (failure !== undefined) throw new MillraceError("STORAGE_FAILURE", failure.message, { cause: failure.cause });
  }
}
