// Applies retention to an embedded log once in a while, for as long as it is open. It must not know what is removed, nor who
// was reading it.

import { systemTimers } from "../model/clock.js";
import { EMBEDDED_RETENTION_CHECK_MS } from "../model/limits.js";
import type { PartitionLog } from "../storage/partition-log.js";

export class EmbeddedRetention {
  readonly #log: PartitionLog;
  readonly #applied: () => void;
  #cancel: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  /** `applied`: it was looked at, and segments may be gone. */
  constructor(log: PartitionLog, applied: () => void) {
    this.#log = log;
    this.#applied = applied;
    this.#arm();
  }

  /** Looks no more. Resolves when the look that is under way has ended. */
  stop(): Promise<void> | undefined {
    this.#stopped = true;
    this.#cancel();
    return this.#running;
  }

  #arm(): void {
    this.#cancel = systemTimers.after(EMBEDDED_RETENTION_CHECK_MS, () => {
      // What could not be removed is tried again.
      this.#running = this.#log.applyRetention().then(
        () => this.#looked(),
        () => this.#looked(),
      );
    });
  }

  #looked(): void {
    this.#applied();
    if (!this.#stopped) this.#arm();
  }
}
