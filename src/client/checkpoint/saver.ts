// When what was handled is saved: at once when the last save is long enough ago, else as soon as it is. Nothing is left
// unsaved when it is closed.

import { performance } from "node:perf_hooks";
import { TIMER_MAX_MS } from "../../model/clock.js";
import { type CheckpointPosition, type CheckpointStore, positionKey } from "./store.js";

export class Saver {
  private readonly waiting = new Map<string, CheckpointPosition>();
  private lastAt: number | undefined;
  private timer: NodeJS.Timeout | undefined;
  private saving: Promise<void> | undefined;
  private failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly store: CheckpointStore,
    /** Between the beginnings of two saves, in milliseconds. */
    private readonly everyMs: number,
  ) {}

  /** These were handled. Resolves when that is saved, or will be by a timer. Rejects with what a save has failed with, also an earlier one. */
  async handled(positions: readonly CheckpointPosition[]): Promise<void> {
    this.later(positions);
    if (this.waitMs > 0) return;
    await this.flush();
  }

  /** The same for whoever does not wait for the store: a timer saves them. Throws what an earlier save has failed with. */
  later(positions: readonly CheckpointPosition[]): void {
    for (const each of positions) this.waiting.set(positionKey(each.topic, each.partition), each);
    if (this.failure !== undefined) throw this.failure.error;
    this.timer ??= this.arm();
  }

  /** The first save waits for nothing. */
  private get waitMs(): number {
    return this.lastAt === undefined ? 0 : Math.max(0, this.lastAt + this.everyMs - performance.now());
  }

  /** Whoever saves only at the end says `Infinity`: told that, a timer would come at once, and again and again. */
  private arm(): NodeJS.Timeout {
    return setTimeout(
      () => {
        if (this.waitMs > 0) this.timer = this.arm();
        else void this.flush().catch(() => undefined);
      },
      Math.min(this.waitMs, TIMER_MAX_MS),
    );
  }

  /** Saves what waits. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    // Not once: another call that waited may have begun the next save, which is this one's as well.
    while (this.saving !== undefined) await this.saving;
    if (this.failure === undefined && this.waiting.size > 0) {
      this.saving = this.save().finally(() => {
        this.saving = undefined;
      });
      await this.saving;
    }
    if (this.failure !== undefined) throw this.failure.error;
  }

  private async save(): Promise<void> {
    const positions = [...this.waiting.values()];
    this.waiting.clear();
    this.lastAt = performance.now();
    try {
      await this.store.save(positions);
    } catch (error) {
      this.failure = { error };
    }
  }
}
