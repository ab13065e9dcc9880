// The writing end of a partition: room for batches, rows in a turn, and taking in what was written. It must not know who is
// told about it.
//
// The hot path (room, addTo, accept) makes no object and no native call of its own. Everything that takes time goes through
// one lane, so that one job at a time changes the active segment; while it changes there is no room.

import { invariant } from "../model/invariant.js";
import { AppendStatus, type NativeSegmentWriter } from "../native/binding.js";
import type { AppendTurn } from "./append-turn.js";
import { roomFailure, withoutBatch, writeFailed } from "./damage.js";
import { FillAhead, type FillWish } from "./fill-ahead.js";
import type { Forcer } from "./forcer.js";
import type { Keeper } from "./keeper.js";
import { Lane } from "./lane.js";
import { type NextSegment, NextSegments } from "./next-segments.js";
import { OffsetIndex } from "./offset-index.js";
import type { PartitionState } from "./partition-state.js";
import { PopulateAhead } from "./populate-ahead.js";
import { prepareTrigger, reserveTarget, reserveTrigger } from "./reserve-window.js";
import type { Segment } from "./segment.js";
import { forceReopened, openForWriting, startNext } from "./segment-opening.js";
import { writeSpanning } from "./spanning.js";
import { takeRoom, takeWantedOrNeeded } from "./take-room.js";

/** Reserved without filling it, for a fast writer that has come up with what was filled: as much as is filled meanwhile. */
const CAUGHT_UP_BYTES = 4 * 1024 * 1024;

export class Appender {
  readonly #state: PartitionState;
  readonly #forcer: Forcer;
  readonly #keeper: Keeper;
  readonly #lane = new Lane();
  readonly #next: NextSegments;
  readonly #populate: PopulateAhead;
  readonly #fill: FillAhead;
  readonly #extraBytes: number;
  readonly #capacity: number;

  #segment: Segment;
  #index: OffsetIndex = OffsetIndex.empty();
  #writer: NativeSegmentWriter | undefined;
  #writerId = -1;
  #end: number;
  #reserved: number;
  /** The active segment is being changed: no room until it is. */
  #changing = false;
  /** The turn in which rows of this partition wait, how often it had run then, and what they take. */
  #turn: AppendTurn | undefined;
  #turnRuns = 0;
  #pending = 0;
  #lastAppendMs: number;
  /** Stored bytes of earlier segments since the opening. */
  #rolledBytes: number;
  #upkeepAt = Number.POSITIVE_INFINITY;
  #needsUpkeep = false;
  #prepareFailed = false;

  constructor(state: PartitionState, forcer: Forcer, keeper: Keeper) {
    this.#state = state;
    this.#forcer = forcer;
    this.#keeper = keeper;
    this.#next = new NextSegments(state);
    this.#populate = new PopulateAhead(state);
    this.#fill = new FillAhead(
      state,
      () => this.#fillWish(),
      (writer) => this.#filled(writer),
      (cause) => this.#waitForRoom(cause),
    );
    this.#extraBytes = state.format.extraBytes;
    this.#capacity = state.options.segmentBytes;
    this.#segment = state.list.active;
    this.#end = this.#segment.bytes;
    this.#reserved = this.#end;
    this.#rolledBytes = -this.#end;
    this.#lastAppendMs = Math.max(...state.list.all.slice(-2).map((segment) => segment.lastAppendMs));
  }

  get needsUpkeep(): boolean {
    return this.#needsUpkeep;
  }

  storedBytes(regionBytes: number, records: number): number {
    return regionBytes + records * this.#extraBytes;
  }

  room(): number {
    if (this.#changing) return 0;
    const turn = this.#turn;
    const waiting = turn !== undefined && turn.runs === this.#turnRuns ? this.#pending : 0;
    return this.#reserved - this.#end - waiting;
  }

  addTo(turn: AppendTurn, source: Uint8Array, offset: number, bytes: number, records: number): number {
    const row = turn.add(this.#writerId, source, offset, bytes, records);
    if (turn !== this.#turn || turn.runs !== this.#turnRuns) {
      this.#turn = turn;
      this.#turnRuns = turn.runs;
      this.#pending = 0;
    }
    this.#pending += bytes + records * this.#extraBytes;
    return row;
  }

  accept(turn: AppendTurn, row: number): number {
    const status = turn.status(row);
    if (status !== AppendStatus.OK) {
      invariant(status !== AppendStatus.NO_ROOM, "a batch is only added to a turn when there is room for it");
      if (status === AppendStatus.IO_ERROR) {
        this.#state.poison(writeFailed(this.#segment.path, turn.errno(row)));
      }
      return -1;
    }
    const state = this.#state;
    const base = state.logEndOffset;
    const end = base + turn.records(row);
    // Order of publication: the bytes are in the file, the index comes now, the log's end last. A reader is never shown an
    // offset with nothing behind it.
    this.#enter(turn, row, this.#segment, this.#index, base);
    this.#end = this.#segment.bytes;
    if (this.#end >= this.#upkeepAt) this.#needsUpkeep = true;
    state.logEndOffset = end;
    return base;
  }

  makeRoom(stored: number): Promise<void> {
    invariant(stored <= this.#capacity, "room is made for what fits an empty segment");
    return this.#lane.run(async () => {
      this.#state.throwUnlessWritable();
      invariant(
        this.#turn?.runs !== this.#turnRuns || this.#pending === 0,
        "room is made while no row waits in a turn",
      );
      if (this.#writer === undefined) await this.#activate(stored);
      if (this.#end + stored > this.#capacity) await this.#roll(stored, "full");
      if (stored > this.room()) await this.#reserve(stored);
      this.#setTrigger();
    });
  }

  appendSpanning(source: Uint8Array, offset: number, bytes: number, records: number): Promise<number> {
    return this.#lane.run(async () => {
      const state = this.#state;
      state.throwUnlessWritable();
      if (this.#writer === undefined) await this.#activate(state.format.headerBytes + 1);
      const writer = this.#writer;
      invariant(writer !== undefined, "an active segment that was opened for writing has a writer");
      this.#changing = true;
      try {
        const first = { writer, end: this.#end, reserve: (needed: number) => this.#reserve(needed) };
        const { turn, pieces, next } = await writeSpanning(state, first, this.#next, {
          source,
          offset,
          bytes,
          records,
        });
        // Everything is written and has its name; from here on nothing waits, so nobody sees a part of it.
        let at = state.logEndOffset;
        const base = at;
        for (const piece of pieces) {
          if (piece.next >= 0) this.#goOnIn(at, next[piece.next]);
          if (piece.row < 0) continue;
          this.#enter(turn, piece.row, this.#segment, this.#index, at);
          this.#end = this.#segment.bytes;
          at += piece.records;
        }
        state.logEndOffset = at;
        return base;
      } finally {
        this.#changing = false;
        this.#setTrigger();
      }
    });
  }

  /** What should be done ahead of the appends. Resolves soon: nothing in it waits for a barrier. */
  async upkeep(): Promise<void> {
    this.#needsUpkeep = false;
    this.#populate.tick(this.#rolledBytes + this.#end);
    if (this.#writer !== undefined) this.#populate.ask(this.#writer, this.#end, this.#reserved);
    this.#fill.start();
    this.#setTrigger();
    if (!this.#isOld() && !this.#reserveDue() && !this.#prepareDue()) return;
    await this.#lane.run(async () => {
      if (this.#state.poisoned !== undefined || this.#state.closed) return;
      try {
        if (this.#isOld()) await this.#rollOld();
        if (this.#reserveDue()) await this.#reserve(0);
        if (this.#prepareDue()) {
          await this.#next.prepare(this.#fast ? 0 : this.#firstWindow(), this.#fast);
          this.#fill.start();
        }
        this.#prepareFailed = false;
        this.#setTrigger();
      } catch (cause) {
        this.#waitForRoom(cause);
      }
    });
  }

  /** Waits for what is under way, and lets go of what was prepared. There is no room afterwards. */
  close(): Promise<void> {
    return this.#lane.run(async () => {
      this.#reserved = this.#end;
      this.#writer = undefined;
      this.#populate.close();
      await this.#fill.idle();
      await this.#next.discard();
    });
  }

  async idle(): Promise<void> {
    await this.#lane.idle();
    await this.#fill.idle();
  }

  /** Takes in a row that was written: its index entries, then the segment's end. The log's end is the caller's, last. */
  #enter(turn: AppendTurn, row: number, segment: Segment, index: OffsetIndex, base: number): void {
    // A clock that goes back never makes the index unsorted.
    if (turn.now > this.#lastAppendMs) this.#lastAppendMs = turn.now;
    const first = base - segment.baseOffset;
    const to = turn.indexFrom(row + 1);
    for (let entry = turn.indexFrom(row); entry < to; entry++) {
      index.add(first + turn.indexRecord(entry), turn.indexPosition(entry), this.#lastAppendMs);
    }
    if (segment.bytes === 0) segment.firstAppendMs = this.#lastAppendMs;
    segment.lastAppendMs = this.#lastAppendMs;
    segment.bytes = turn.end(row);
    segment.endOffset = base + turn.records(row);
  }

  /** The first write since the opening. Until then the last segment is read as a sealed one is. */
  async #activate(stored: number): Promise<void> {
    const segment = this.#segment;
    try {
      await this.#keeper.beginSession();
      if (segment.bytes + stored > this.#capacity) {
        await this.#roll(stored, "full");
        return;
      }
      const { writer, index } = await openForWriting(this.#state, segment, stored);
      this.#install(segment, index, writer);
    } catch (cause) {
      // A checkpoint or a file for which there is no room has harmed nothing, and must not cost the partition its writes.
      throw roomFailure(this.#state.dir, cause);
    }
  }

  async #roll(stored: number, reason: "full" | "age"): Promise<void> {
    const state = this.#state;
    const from = this.#segment.path;
    this.#changing = true;
    try {
      const [next] = await this.#next.take([stored], this.#firstWindow(), this.#fast);
      const closedCleanly = this.#writer === undefined && this.#segment.indexed;
      await startNext(state, next, state.logEndOffset, this.#next);
      if (closedCleanly) await forceReopened(state, next.writer);
      this.#goOnIn(state.logEndOffset, next);
    } finally {
      this.#changing = false;
    }
    state.tell({
      kind: "segment.rolled",
      level: "info",
      message: `${from} was rolled (${reason})`,
      path: from,
      baseOffset: this.#segment.baseOffset,
      reason,
    });
  }

  async #rollOld(): Promise<void> {
    if (this.#writer === undefined) await this.#keeper.beginSession();
    await this.#roll(0, "age");
  }

  /** The renamed segment becomes the active one. */
  #goOnIn(baseOffset: number, next: NextSegment): void {
    const { list } = this.#state;
    const old = this.#segment;
    const segment = list.start(baseOffset, next.writer.file.path);
    if (old.writer !== undefined) this.#forcer.retire(old);
    else if (!old.indexed) this.#keeper.sealed(old);
    this.#rolledBytes += old.bytes;
    this.#populate.begin(this.#fast ? next.writer.reserved : 0);
    this.#install(segment, OffsetIndex.empty(), next.writer);
  }

  #install(segment: Segment, index: OffsetIndex, writer: NativeSegmentWriter): void {
    segment.writer = writer;
    segment.file = writer.file;
    segment.index = index;
    this.#segment = segment;
    this.#index = index;
    this.#writer = writer;
    this.#writerId = writer.id;
    this.#end = segment.bytes;
    this.#reserved = writer.reserved;
    this.#populate.ask(writer, this.#end, this.#reserved);
    this.#setTrigger();
  }

  /** Blocks for `needed` bytes and a window ahead; when there is no room for the window, for `needed` alone. */
  async #reserve(needed: number): Promise<void> {
    const writer = this.#writer;
    invariant(writer !== undefined, "blocks are reserved in a segment that is open for writing");
    const wanted = this.#fast
      ? Math.min(this.#capacity, this.#end + needed + CAUGHT_UP_BYTES)
      : reserveTarget(this.#end, needed, this.#capacity);
    await takeWantedOrNeeded(wanted, this.#end + needed, async (upTo) => {
      if (upTo > this.#reserved) await takeRoom(this.#state, upTo - this.#reserved, () => writer.reserve(upTo));
    });
    // And not what that call said: what is filled beside it may have come further since.
    this.#reserved = writer.reserved;
  }

  /** What a new segment has reserved at first: who filled the last one fast will fill this one fast, too. */
  #firstWindow(): number {
    return Math.min(this.#capacity, this.#fast ? CAUGHT_UP_BYTES : reserveTarget(0, 0, this.#capacity));
  }

  /** Filled fast and forced seldom. */
  get #fast(): boolean {
    return this.#populate.window > 0;
  }

  #fillWish(): FillWish | undefined {
    const writer = this.#writer;
    const { window } = this.#populate;
    if (window === 0 || writer === undefined || this.#changing) return undefined;
    if (this.#state.poisoned !== undefined || this.#state.closed) return undefined;
    const upTo = this.#end + window;
    if (this.#reserved < this.#capacity) {
      return upTo - this.#reserved >= window / 4 ? { writer, upTo: Math.min(upTo, this.#capacity) } : undefined;
    }
    const next = this.#next.prepared?.writer;
    const further = Math.min(upTo - this.#capacity, this.#capacity);
    return next !== undefined && further - next.reserved >= window / 4 ? { writer: next, upTo: further } : undefined;
  }

  #filled(writer: NativeSegmentWriter): void {
    this.#prepareFailed = false;
    if (writer !== this.#writer) return;
    this.#reserved = Math.max(this.#reserved, writer.reserved);
    this.#populate.made(this.#reserved);
  }

  /** Whoever needs the room tries again, and hears about it. Until then only the tick does. */
  #waitForRoom(cause: unknown): void {
    this.#upkeepAt = Number.POSITIVE_INFINITY;
    this.#tellPrepareFailed(cause);
  }

  #isOld(): boolean {
    const { segmentRollMs } = this.#state.options;
    const { bytes, firstAppendMs, lastAppendMs } = this.#segment;
    if (segmentRollMs === undefined || bytes === 0) return false;
    return this.#state.deps.clock.now() - (firstAppendMs || lastAppendMs) >= segmentRollMs;
  }

  #reserveDue(): boolean {
    if (this.#writer === undefined || this.#reserved >= this.#capacity || this.#fast) return false;
    return this.#reserved - this.#end <= (reserveTarget(this.#end, 0, this.#capacity) - this.#end) / 2;
  }

  #prepareDue(): boolean {
    if (this.#writer === undefined || this.#next.prepared !== undefined) return false;
    return this.#end >= prepareTrigger(this.#capacity, this.#fast);
  }

  #setTrigger(): void {
    let at = this.#populate.trigger(this.#end);
    if (this.#reserved < this.#capacity && !this.#fast)
      at = Math.min(at, reserveTrigger(this.#end, this.#reserved, this.#capacity));
    if (this.#next.prepared === undefined)
      at = Math.min(at, Math.max(this.#end, prepareTrigger(this.#capacity, this.#fast)));
    this.#upkeepAt = at;
  }

  #tellPrepareFailed(cause: unknown): void {
    if (this.#prepareFailed) return;
    this.#prepareFailed = true;
    this.#state.tell({
      kind: "segment.prepare-failed",
      level: "warn",
      message: `${this.#state.dir}: no room could be made ahead of the writer`,
      path: this.#segment.path,
      cause: withoutBatch(cause),
    });
  }
}
