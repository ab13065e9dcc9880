// Brings pages of the file into the cache ahead of a writer that is fast, a step at a time, beside everything else: the writer never
// waits for it for longer than a step. It must not know why, nor how far: the policy is populate-window.ts's.

import type { NativeSegmentWriter } from "../native/binding.js";
import type { PartitionState } from "./partition-state.js";
import { takeRoom } from "./take-room.js";

/** What is filled by one call. The call itself gives way between shorter pieces; this only bounds how often the loop is asked. */
const STEP_BYTES = 8 * 1024 * 1024;

export interface FillWish {
  readonly writer: NativeSegmentWriter;
  /** Blocks that are not reserved yet, up to here. */
  readonly upTo: number;
}

export class FillAhead {
  readonly #state: PartitionState;
  readonly #next: () => FillWish | undefined;
  readonly #filled: (writer: NativeSegmentWriter) => void;
  readonly #failed: (cause: unknown) => void;
  #running: Promise<void> | undefined;

  /** `next` says what to fill now, after each step anew; `filled` hears of each step, `failed` of one that ended it. */
  constructor(
    state: PartitionState,
    next: () => FillWish | undefined,
    filled: (writer: NativeSegmentWriter) => void,
    failed: (cause: unknown) => void,
  ) {
    this.#state = state;
    this.#next = next;
    this.#filled = filled;
    this.#failed = failed;
  }

  /** Starts unless it runs. Does not wait. */
  start(): void {
    if (this.#running !== undefined) return;
    const first = this.#next();
    if (first === undefined) return;
    this.#running = this.#run(first).finally(() => {
      this.#running = undefined;
    });
  }

  /** Resolves when no step is under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(first: FillWish): Promise<void> {
    for (let wish: FillWish | undefined = first; wish !== undefined; wish = this.#next()) {
      const { writer } = wish;
      const from = writer.reserved;
      const upTo = Math.min(wish.upTo, from + STEP_BYTES);
      try {
        // Somebody else may have been there meanwhile.
        if (upTo > from) await takeRoom(this.#state, upTo - from, () => writer.reserve(upTo, true));
      } catch (cause) {
        // Of one that is not written any more nobody wants to know.
        if (this.#next()?.writer === writer) this.#failed(cause);
        return;
      }
      this.#filled(writer);
    }
  }
}
