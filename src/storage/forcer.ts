// Barriers of one partition: one at a time, segments in offset order, then the directory; the durable offset moves once, last.
//
// A retired segment (rolled, and maybe not forced) is sealed here: barrier, cut to its records, unmapped. The next barrier
// does it; and when nobody asks for one it is done after a while, or what nobody forces would stay mapped, and unsealed for
// the next start to read.
//
// What a crash leaves:
// - after the roll, before the seal: a whole segment without `.index`, pre-sized on MAPPED; its successor adjoins. Recovery
//   scans it, cuts it and writes the index.
// - power cut after the roll, before the directory was forced: the new segment may still be called `next.tmp`, or be gone.
//   Nothing in it was acknowledged as forced. Recovery removes it, and the log ends with the segment before.
// - after the seal, before its `.index`: as the first.

import { invariant } from "../model/invariant.js";
import { native } from "../native/binding.js";
import { Lane } from "./lane.js";
import type { Durable, PartitionState } from "./partition-state.js";
import { sealCount } from "./seal-policy.js";
import type { Segment } from "./segment.js";

export class Forcer {
  readonly #state: PartitionState;
  readonly #sealed: (segment: Segment) => void;
  readonly #lane = new Lane();
  /** Rolled and not sealed yet, in offset order. */
  readonly #retired: Segment[] = [];
  /** Sealed by the barrier under way. Their indexes wait until it has ended: whoever waits for it waits for nothing else. */
  readonly #justSealed: Segment[] = [];

  /** `sealed` is called, in offset order, when a segment is forced and cut: it may get its `.index`. */
  constructor(state: PartitionState, sealed: (segment: Segment) => void) {
    this.#state = state;
    this.#sealed = sealed;
  }

  /** A segment that had a writer is no longer the active one. */
  retire(segment: Segment): void {
    segment.rolledMs = this.#state.deps.clock.now();
    this.#retired.push(segment);
  }

  /** Starts to seal what has waited long enough, or too much of it. Does not wait. */
  upkeep(): void {
    if (this.#lane.busy) return;
    const count = sealCount(this.#retired, this.#state.deps.clock.now());
    // A failure has poisoned the partition, which is how it becomes known.
    if (count > 0) void this.sealUpTo(this.#retired[count - 1]).catch(() => undefined);
  }

  /** Seals a segment and those before it, unless that is done already. A failure poisons. */
  sealUpTo(last: Segment): Promise<void> {
    return this.#lane.run(async () => {
      const state = this.#state;
      if (state.poisoned !== undefined || !this.#retired.includes(last)) return;
      try {
        await this.#sealThose((segment) => segment.baseOffset <= last.baseOffset);
        await this.#forceDirectory();
      } catch (cause) {
        throw state.poison(cause);
      }
      this.#advance({ offset: last.endOffset, segment: last, position: last.bytes });
    });
  }

  /** Forces everything that was written when it was called. A failure poisons, and is never tried again. */
  force(): Promise<number> {
    return this.#lane.run(async () => {
      const state = this.#state;
      state.throwUnlessWritable();
      const active = state.list.active;
      let target: Durable = { offset: state.logEndOffset, segment: active, position: active.bytes };
      if (target.offset === state.durable.offset && this.#retired.length === 0 && !state.directoryDirty) {
        return target.offset;
      }
      try {
        await this.#sealThose((segment) => segment !== active);
        if (this.#retired[0] === active) {
          // Rolled meanwhile. Sealing forces all of it, and all of it counts: retention may take whatever is sealed, and the
          // durable offset would be left in a segment that is gone, where no checkpoint can name it.
          await this.#sealFirst();
          target = { offset: active.endOffset, segment: active, position: active.bytes };
        } else if (this.#isUnforced(target)) await active.writer?.barrier();
        await this.#forceDirectory();
      } catch (cause) {
        throw state.poison(cause);
      }
      this.#advance(target);
      return state.durable.offset;
    });
  }

  /** The clean end: everything forced, the active segment sealed. */
  sealAll(): Promise<void> {
    return this.#lane.run(async () => {
      const state = this.#state;
      const active = state.list.active;
      invariant(state.poisoned === undefined, "a poisoned partition is not sealed");
      if (active.writer !== undefined && !this.#retired.includes(active)) this.#retired.push(active);
      try {
        await this.#sealThose(() => true);
        await this.#forceDirectory();
      } catch (cause) {
        throw state.poison(cause);
      }
      this.#advance({ offset: state.logEndOffset, segment: active, position: active.bytes });
    });
  }

  /** The end of a poisoned partition: files are cut to their records and closed; nobody is told that they are safe. */
  abandonAll(): Promise<void> {
    return this.#lane.run(async () => {
      const active = this.#state.list.active;
      if (active.writer !== undefined && !this.#retired.includes(active)) this.#retired.push(active);
      for (const segment of this.#retired.splice(0)) {
        const { writer } = segment;
        segment.writer = undefined;
        segment.file = undefined;
        await writer?.close().catch(() => undefined);
        writer?.file.close();
      }
    });
  }

  idle(): Promise<void> {
    return this.#lane.idle();
  }

  async #sealThose(which: (segment: Segment) => boolean): Promise<void> {
    while (this.#retired.length > 0 && which(this.#retired[0])) await this.#sealFirst();
  }

  async #sealFirst(): Promise<void> {
    const segment = this.#retired[0];
    const { writer } = segment;
    invariant(writer !== undefined, "a retired segment has its writer");
    const size = await writer.seal();
    invariant(size === segment.bytes, "a sealed segment is as long as its records");
    this.#retired.shift();
    segment.writer = undefined;
    segment.allocatedBytes = writer.file.allocatedBytes();
    this.#state.deps.files.admit(segment, writer.file);
    this.#justSealed.push(segment);
  }

  #isUnforced(target: Durable): boolean {
    const { durable } = this.#state;
    return target.segment !== durable.segment || target.position > durable.position;
  }

  async #forceDirectory(): Promise<void> {
    const state = this.#state;
    if (!state.directoryDirty) return;
    // Cleared before: a file that comes while the call runs needs another one.
    state.directoryDirty = false;
    await native.syncDirectory(state.dir);
  }

  #advance(to: Durable): void {
    const state = this.#state;
    // Barriers in flight when another one failed do not count any more.
    if (state.poisoned !== undefined) throw state.poisoned;
    if (to.offset >= state.durable.offset) state.durable = to;
    for (const segment of this.#justSealed.splice(0)) this.#sealed(segment);
  }
}
