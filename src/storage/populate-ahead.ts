// Keeps pages of one partition populated ahead of its writer, by the policy of populate-window.ts, and says at which end of
// the log it wants to be asked again. MAPPED only: on FILE_CHANNEL there are no faults to be ahead of.

import type { NativeSegmentWriter } from "../native/binding.js";
import type { PartitionState } from "./partition-state.js";
import { populateWindow } from "./populate-window.js";

/** The rate is taken anew after so many bytes, so that a burst of a few hundred milliseconds still gets its window. */
const TICK_BYTES = 8 * 1024 * 1024;
/** … but not over less time than this: the clock counts milliseconds. */
const TICK_MS_MIN = 5;

export class PopulateAhead {
  readonly #state: PartitionState;
  readonly #mapped: boolean;
  #window = 0;
  #askedUpTo = 0;
  #tickAt: number;
  #tickBytes = 0;

  constructor(state: PartitionState) {
    this.#state = state;
    this.#mapped = state.options.mode === "MAPPED";
    this.#tickAt = state.deps.clock.now();
  }

  get window(): number {
    return this.#window;
  }

  /** Takes the rate anew when it is time to. `writtenBytes` counts all that this partition was given since it was opened. */
  tick(writtenBytes: number): void {
    if (!this.#mapped) return;
    const { deps, list, durable } = this.#state;
    const now = deps.clock.now();
    const elapsedMs = now - this.#tickAt;
    if (elapsedMs >= 0 && elapsedMs < TICK_MS_MIN) return;
    // A clock that was put back says nothing about the rate; the next tick does.
    if (elapsedMs > 0) {
      const written = writtenBytes - this.#tickBytes;
      const unforced = list.bytesFrom(durable.segment, durable.position);
      const wanted = populateWindow(this.#window, { elapsedMs, writtenBytes: written, unforcedBytes: unforced });
      this.#window = deps.populate.change(this.#window, wanted);
    }
    this.#tickAt = now;
    this.#tickBytes = writtenBytes;
  }

  /** A new segment is written from its start, and has its pages up to `made`. */
  begin(made: number): void {
    this.#askedUpTo = made;
  }

  /** Others have made the pages up to here. */
  made(upTo: number): void {
    this.#askedUpTo = Math.max(this.#askedUpTo, upTo);
  }

  /** Asks for the window ahead of `end`; only what has blocks may be touched. */
  ask(writer: NativeSegmentWriter, end: number, reserved: number): void {
    const upTo = Math.min(end + this.#window, reserved);
    if (this.#window === 0 || upTo <= this.#askedUpTo) return;
    this.#askedUpTo = upTo;
    writer.populate(upTo);
  }

  /** The end of the segment at which `tick` and `ask` are due again. */
  trigger(end: number): number {
    if (!this.#mapped) return Number.POSITIVE_INFINITY;
    return end + (this.#window === 0 ? TICK_BYTES : Math.min(TICK_BYTES, this.#window / 4));
  }

  close(): void {
    this.#window = this.#state.deps.populate.change(this.#window, 0);
  }
}
