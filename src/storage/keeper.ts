// What is written beside the log: `.index` files, the checkpoint, and the removal of old segments. One job at a time, on its
// own lane, so that none of it ever delays a barrier. It must not touch a record.
//
// What a crash leaves:
// - between a seal and its `.index`, or in the middle of replacing it: a segment without index (a temporary file beside it).
//   Recovery scans the segment and writes the index again.
// - after the index, before the checkpoint: an index proves that everything up to its segment's end was durable, so recovery
//   takes the higher of both.
// - retention first writes the new log start into the checkpoint, then unlinks: whatever of the files is still there after a
//   crash, in any order, lies below that start and is removed by recovery. The other way round an unlink that reached the
//   disk before an earlier one would be a gap that looks like damage, and the log start could move back.

import { invariant } from "../model/invariant.js";
import { CHECKPOINT_INTERVAL_MS } from "../model/limits.js";
import { native } from "../native/binding.js";
import { bootDigits } from "./checkpoint.js";
import { isMissing } from "./damage.js";
import { Lane } from "./lane.js";
import type { PartitionState } from "./partition-state.js";
import { type RetentionReason, retentionReasons } from "./retention.js";
import type { Segment } from "./segment.js";
import { indexPathOf, stampClosed, writeIndex } from "./segment-store.js";

export class Keeper {
  readonly #state: PartitionState;
  readonly #lane = new Lane();
  readonly #bootId: string;
  /** Forced, and waiting for their `.index`, in offset order. */
  readonly #unindexed: Segment[] = [];
  #checkpointAt = Number.NEGATIVE_INFINITY;

  constructor(state: PartitionState) {
    this.#state = state;
    this.#bootId = bootDigits(state.deps.bootId);
    state.onPoisoned = () => void this.#lane.run(() => this.#doubt());
  }

  /** A segment is forced and cut. */
  sealed(segment: Segment): void {
    this.#unindexed.push(segment);
    void this.#lane.run(() => this.#writeIndexes());
  }

  /** The checkpoint if it is due, and what failed before. Does not wait. */
  upkeep(): void {
    const { clock } = this.#state.deps;
    const now = clock.now();
    const moved = this.#state.durable.offset > (this.#state.checkpoint.last?.durableOffset ?? 0);
    const due = moved && (now >= this.#checkpointAt + CHECKPOINT_INTERVAL_MS || now < this.#checkpointAt);
    if (this.#lane.busy || (!due && this.#unindexed.length === 0)) return;
    void this.#lane.run(async () => {
      await this.#writeIndexes();
      if (due) await this.#tryCheckpoint();
    });
  }

  /** Before the first write of this boot of the machine: a power cut from here on is known by the boot that comes after it. */
  beginSession(): Promise<void> {
    return this.#lane.run(async () => {
      const { last } = this.#state.checkpoint;
      if (last === undefined || last.bootId !== this.#bootId) await this.#writeCheckpoint();
    });
  }

  /**
   * Removes what retention lets go. Resolves to how many segments. `seal` forces and cuts a segment and those before it:
   * what is not forced yet must not be what is left of the log when a power cut comes.
   */
  applyRetention(seal: (last: Segment) => Promise<void>): Promise<number> {
    return this.#lane.run(async () => {
      const { list, options, deps, poisoned, closed } = this.#state;
      if (poisoned !== undefined || closed) return 0;
      const old = list.all.slice(0, -1);
      const reasons = retentionReasons(old, list.active.bytes, options, deps.clock.now());
      if (reasons.length === 0) return 0;
      // Whether it has its index does not matter: on a full disk it may not get one before something goes.
      await seal(old[reasons.length - 1]);
      if (!(await this.#forceDirectory())) return 0;
      if (!(await this.#tryCheckpoint(list.all[reasons.length].baseOffset))) return 0;
      const removed = list.removeFirst(reasons.length);
      for (const [at, segment] of removed.entries()) await this.#remove(segment, reasons[at]);
      this.#state.directoryDirty = true;
      return removed.length;
    });
  }

  /** After everything was forced and the active segment was cut: the next start reads none of it. */
  closeCleanly(): Promise<void> {
    return this.#lane.run(async () => {
      const { list, checkpoint, deps } = this.#state;
      await this.#writeIndexes();
      const { active } = list;
      // A partition that was never written has nothing to say.
      if (active.bytes === 0 && checkpoint.last === undefined) return;
      if (active.indexed) return;
      invariant(active.index !== undefined, "a segment without .index has its index in memory");
      try {
        await writeIndex(active, active.index, await stampClosed(active, deps.clock.now()));
      } catch (cause) {
        this.#tellIndexFailure(active, cause);
      }
      await this.#tryCheckpoint();
    });
  }

  idle(): Promise<void> {
    return this.#lane.idle();
  }

  async #writeIndexes(): Promise<void> {
    const { list, deps } = this.#state;
    let written = false;
    // The active one is sealed at the end only, by closeCleanly.
    while (this.#unindexed.length > 0 && this.#unindexed[0] !== list.active) {
      const segment = this.#unindexed[0];
      const { index } = segment;
      invariant(index !== undefined, "a segment without .index has its index in memory");
      try {
        await writeIndex(segment, index, 0);
      } catch (cause) {
        this.#tellIndexFailure(segment, cause);
        break;
      }
      this.#unindexed.shift();
      deps.indexCache.admit(segment, index);
      written = true;
    }
    if (written) await this.#tryCheckpoint();
  }

  /**
   * After a write or a barrier failed: what is written and not durable may be lost as by a power cut, without a torn record
   * and in the same boot. The last checkpoint is written again under an unknown boot, so that the next start raises the epoch.
   */
  async #doubt(): Promise<void> {
    const { last } = this.#state.checkpoint;
    if (last !== undefined && last.bootId !== "")
      await this.#try(() => this.#state.checkpoint.write({ ...last, bootId: "" }));
  }

  #tryCheckpoint(logStartOffset?: number): Promise<boolean> {
    return this.#try(() => this.#writeCheckpoint(logStartOffset));
  }

  async #try(write: () => Promise<void>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (cause) {
      const { path } = this.#state.checkpoint;
      this.#state.tell({
        kind: "checkpoint.write-failed",
        level: "warn",
        message: `${path} could not be written; the next start judges by the one before`,
        path,
        cause,
      });
      return false;
    }
  }

  async #writeCheckpoint(logStartOffset?: number): Promise<void> {
    const { list, durable, epochs, checkpoint, deps, poisoned } = this.#state;
    this.#checkpointAt = deps.clock.now();
    // Durable to the end of a segment that has a successor: then it is the start of that one, which retention lets live.
    const segment = list.find(durable.offset);
    invariant(segment !== undefined, "the durable offset lies in the log");
    await checkpoint.write({
      durableOffset: durable.offset,
      segmentBase: segment.baseOffset,
      position: segment === durable.segment ? durable.position : 0,
      logStartOffset: logStartOffset ?? list.startOffset,
      bootId: poisoned === undefined ? this.#bootId : "",
      epochs,
    });
  }

  /** The names of the segments that stay are on the disk before the checkpoint says that the log begins with them. */
  async #forceDirectory(): Promise<boolean> {
    try {
      await native.syncDirectory(this.#state.dir);
      return true;
    } catch (cause) {
      this.#state.poison(cause);
      return false;
    }
  }

  async #remove(segment: Segment, reason: RetentionReason): Promise<void> {
    const { deps } = this.#state;
    segment.removed = true;
    const waiting = this.#unindexed.indexOf(segment);
    if (waiting >= 0) this.#unindexed.splice(waiting, 1);
    deps.indexCache.forget(segment);
    deps.files.forget(segment);
    for (const path of [segment.path, indexPathOf(segment)]) {
      try {
        await native.unlinkFile(path);
      } catch (cause) {
        if (isMissing(cause)) continue;
        this.#state.tell({
          kind: "segment.unlink-failed",
          level: "warn",
          message: `${path} could not be removed; the next start removes it`,
          path,
          cause,
        });
      }
    }
    this.#state.tell({
      kind: "segment.removed",
      level: "info",
      message: `${segment.path} was removed by retention (${reason})`,
      path: segment.path,
      endOffset: segment.endOffset,
      bytes: segment.bytes,
      reason,
    });
  }

  #tellIndexFailure(segment: Segment, cause: unknown): void {
    this.#state.tell({
      kind: "index.write-failed",
      level: "warn",
      message: `the index of ${segment.path} could not be written; it stays in memory, and a start scans the segment`,
      path: segment.path,
      cause,
    });
  }
}
