// From an offset to bytes of a file: binary search in the sparse index, then a walk over length prefixes in the addon. It
// plans and does no I/O; what is not in memory is brought in by `load`. It must not know what is done with the bytes.

import { MillraceError } from "../model/errors.js";
import { type Offset, offset as offsetOf } from "../model/ids.js";
import { storageFailure } from "./damage.js";
import { OffsetHits } from "./offset-hits.js";
import { TIME_UNKNOWN } from "./offset-index.js";
import type { PartitionState } from "./partition-state.js";
import { ReadOutcome, type ReadPlan } from "./read-plan.js";
import type { Segment } from "./segment.js";
import { bringIn } from "./segment-store.js";
import { tellUnwalkable } from "./unwalkable.js";

/**
 * Not in memory. The addon's walk says so by the same number; its −1 says that the lengths lead beyond the segment's end, so
 * what lies there is not what was written.
 */
const NEEDS_IO = -2;

export class Reader {
  readonly #state: PartitionState;
  readonly #hits = new OffsetHits();
  /** The last limit whose position was not in memory: `load` brings that in, too. */
  #limitWanted = -1;
  /** The operator has heard of these: every reader that comes to such a place would say the same again. */
  readonly #told = new WeakSet<Segment>();

  constructor(state: PartitionState) {
    this.#state = state;
  }

  plan(offset: number, maxBytes: number, ceiling: number, plan: ReadPlan): void {
    plan.file = undefined;
    plan.bytes = 0;
    plan.outcome = this.#plan(offset, maxBytes, ceiling, plan);
  }

  #plan(offset: number, maxBytes: number, ceiling: number, plan: ReadPlan): ReadOutcome {
    const state = this.#state;
    const end = state.logEndOffset;
    if (!(offset >= state.list.startOffset && offset <= end)) return ReadOutcome.OUT_OF_RANGE;
    let limit = Math.min(ceiling, end);
    if (state.poisoned !== undefined) {
      const durable = state.durable.offset;
      if (offset >= durable && offset < end) return ReadOutcome.STORAGE_FAILURE;
      limit = Math.min(limit, durable);
    }
    if (offset >= limit) return ReadOutcome.EMPTY;
    const segment = state.list.find(offset);
    if (segment === undefined) return ReadOutcome.OUT_OF_RANGE;
    const { file } = segment;
    if (file === undefined) return ReadOutcome.NEEDS_IO;
    const from = this.#locate(segment, offset);
    if (from < 0) return from === NEEDS_IO ? ReadOutcome.NEEDS_IO : this.#lost(segment, offset);
    const to = this.#limit(segment, limit, from + maxBytes);
    if (to < 0) {
      this.#limitWanted = limit;
      return to === NEEDS_IO ? ReadOutcome.NEEDS_IO : this.#lost(segment, limit);
    }
    if (segment.writer === undefined) state.deps.files.touch(segment);
    plan.file = file;
    plan.position = from;
    plan.bytes = Math.min(maxBytes, to - from);
    return ReadOutcome.DATA;
  }

  /** Brings in what `plan` lacked. Rejects STORAGE_FAILURE when it cannot be read, CLOSED. */
  async load(offset: number): Promise<void> {
    const { list, closed, dir } = this.#state;
    if (closed) throw new MillraceError("CLOSED", `${dir} is closed`);
    const limit = this.#limitWanted;
    const segment = list.find(offset);
    if (segment === undefined || offset > this.#state.logEndOffset) return;
    try {
      await bringIn(this.#state, segment);
      await this.#loadPosition(segment, offset);
      if (limit > offset && limit < segment.endOffset) await this.#loadPosition(segment, limit);
    } catch (cause) {
      if (segment.removed) return;
      throw storageFailure(`${segment.path} cannot be read`, cause);
    }
  }

  /** Bytes of log between two offsets, or −1 when that takes I/O. */
  bytesBetween(from: number, to: number): number {
    const { list, logEndOffset } = this.#state;
    const first = list.find(Math.max(from, list.startOffset));
    const last = list.find(Math.min(to, logEndOffset));
    if (first === undefined || last === undefined || to <= from) return 0;
    const start = this.#locate(first, Math.max(from, list.startOffset));
    const end = this.#locate(last, Math.min(to, logEndOffset));
    if (start < 0 || end < 0) return -1;
    return first === last ? end - start : list.bytesFrom(first, start) - list.bytesFrom(last, end);
  }

  /**
   * Where to start reading for what was appended at `ms` or later: behind the last index entry that is older; where times
   * are unknown, the segment's base. Never too late, early by at most an index interval. Undefined when all is older.
   */
  async offsetAtTime(ms: number): Promise<{ readonly offset: Offset; readonly timestampMs: number } | undefined> {
    // Times never go back, so the first segment whose last append is not older has it.
    const segment = this.#state.list.all.find(({ bytes, lastAppendMs }) => bytes > 0 && lastAppendMs >= ms);
    if (segment === undefined) return undefined;
    if (segment.index === undefined) await bringIn(this.#state, segment);
    const { index } = segment;
    // Removed while it was loaded: what is oldest now is where to start.
    if (index === undefined) return this.offsetAtTime(ms);
    const entry = index.lastBefore(ms);
    const next = entry + 1 < index.count ? index.time(entry + 1) : segment.lastAppendMs;
    if (entry < 0 || index.time(entry) === TIME_UNKNOWN) {
      return { offset: offsetOf(segment.baseOffset), timestampMs: entry < 0 ? next : segment.firstAppendMs };
    }
    return { offset: offsetOf(segment.baseOffset + index.relativeOffset(entry) + 1), timestampMs: next };
  }

  /** The lengths do not lead to an offset that is there. The reader gets a code; the operator the place. */
  #lost(segment: Segment, offset: number): typeof ReadOutcome.STORAGE_FAILURE {
    if (!this.#told.has(segment)) {
      this.#told.add(segment);
      void tellUnwalkable(this.#state, segment, offset);
    }
    return ReadOutcome.STORAGE_FAILURE;
  }

  /** The position of an offset in its segment; NEEDS_IO, or −1 where it is damaged. */
  #locate(segment: Segment, offset: number): number {
    if (offset === segment.baseOffset) return 0;
    if (offset === segment.endOffset) return segment.bytes;
    const hit = this.#hits.find(offset);
    if (hit >= 0) return hit;
    const { index, file } = segment;
    if (index === undefined || file === undefined) return NEEDS_IO;
    if (segment.indexed) this.#state.deps.indexCache.touch(segment);
    const relative = offset - segment.baseOffset;
    const entry = index.floor(relative);
    const known = entry < 0 ? 0 : index.relativeOffset(entry);
    const position = entry < 0 ? 0 : index.position(entry);
    if (known === relative) return position;
    try {
      const likely = index.bytesAbout(entry, relative);
      const found = file.walk(this.#state.format.id, position, relative - known, segment.bytes, likely);
      if (found >= 0) this.#hits.add(offset, found);
      return found;
    } catch {
      // The disk says no: for whoever reads the same as bytes that are not what was written.
      return -1;
    }
  }

  /** The position that a read may go up to: that of `limit`, or any that is known to be at or beyond `wanted` and below it. */
  #limit(segment: Segment, limit: number, wanted: number): number {
    if (limit >= segment.endOffset) {
      // Whoever has caught up asks for what follows this end next.
      if (segment === this.#state.list.active) this.#hits.add(segment.endOffset, segment.bytes);
      return segment.bytes;
    }
    const { durable } = this.#state;
    if (limit === durable.offset && segment === durable.segment) return durable.position;
    const { index } = segment;
    if (index === undefined) return NEEDS_IO;
    const entry = index.floor(limit - segment.baseOffset);
    if (entry >= 0 && index.position(entry) >= wanted) return wanted;
    return this.#locate(segment, limit);
  }

  async #loadPosition(segment: Segment, offset: number): Promise<void> {
    if (this.#locate(segment, offset) !== NEEDS_IO) return;
    const { index, file } = segment;
    if (index === undefined || file === undefined) return;
    const relative = offset - segment.baseOffset;
    const entry = index.floor(relative);
    const known = entry < 0 ? 0 : index.relativeOffset(entry);
    const position = entry < 0 ? 0 : index.position(entry);
    const found = await file.walkAsync(this.#state.format.id, position, relative - known, segment.bytes);
    // Kept, because not every system can say whether pages are cached, and the next plan would ask for them for ever.
    if (found >= 0) this.#hits.add(offset, found);
  }
}
