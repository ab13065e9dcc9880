// Shares the event loop among the partitions that have something to write. A run drains the ready writers round robin;
// each round is one native append call over the batches of many writers, within a byte budget for each; a run ends after
// a few milliseconds and asks to be called again. What a run leaves behind is copied, because callers may then use their
// memory again. Knows nothing of sockets, of files and of what a batch means.

import { RUN_CLOCK_BYTES, RUN_MAX_MS, WRITER_SHARE_MIN } from "../model/limits.js";
import type { AppendTable } from "./append-target.js";
import { BarrierMeter } from "./barrier-meter.js";
import { Staging } from "./staging.js";

export interface SchedulerOptions {
  /** Bytes of record regions of one native append call; one batch may go beyond it. */
  readonly turnBytes: number;
  /** Bytes of batches that may wait in copies, for all partitions. Beyond it: OVERLOADED. */
  readonly queuedBytesMax: number;
}

/** A partition's writer as the scheduler sees it. The fields are the scheduler's: links instead of list nodes. */
export interface ReadyWriter {
  nextReady: ReadyWriter | undefined;
  inReady: boolean;
  touched: boolean;
  barrierAsked: boolean;
  /** Whether it has batches and may write them now. */
  readonly runnable: boolean;
  /** Adds waiting batches to the turn, about `budget` bytes and at least one if it can. Returns the bytes. */
  fill(turn: AppendTable, budget: number): number;
  /** Its rows `[first, first + rows)` have run. */
  settle(turn: AppendTable, first: number, rows: number): void;
  /** The run is over: copies what still lies in the callers' memory. */
  stage(): void;
  startBarrier(): void;
}

/** For a scheduler that nobody drives: a run of its own in the next iteration of the event loop. */
const soon = (scheduler: Scheduler) => () => void setImmediate(() => scheduler.run());

export class Scheduler {
  /**
   * Asks whoever drives this to call `run` soon: there is work that no offer announces (room was made, a run ended by its
   * time limit). Called at most once between two runs. Without a driver of its own it runs in the next loop iteration.
   */
  onWork: () => void = soon(this);
  readonly staging: Staging;
  /** Of all barriers that its writers ask for. */
  readonly barriers: BarrierMeter;

  readonly #turn: AppendTable;
  readonly #turnBytes: number;
  readonly #now: () => number;
  #first: ReadyWriter | undefined;
  #last: ReadyWriter | undefined;
  #ready = 0;
  /** Both with a count of their own: an array whose length is set to 0 gives its memory back and takes it anew each run. */
  readonly #touched: ReadyWriter[] = [];
  #touchedCount = 0;
  readonly #wanting: ReadyWriter[] = [];
  #wantingCount = 0;
  /** The writers of this round and how many rows each has. */
  readonly #owners: ReadyWriter[] = [];
  readonly #rows: Int32Array;
  #running = false;
  #asked = false;

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(options: SchedulerOptions, turn: AppendTable, now: () => number = () => performance.now()) {
    this.#turn = turn;
    this.#turnBytes = options.turnBytes;
    this.#rows = new Int32Array(turn.maxRows);
    this.#now = now;
    this.staging = new Staging(options.queuedBytesMax);
    this.barriers = new BarrierMeter(now);
  }

  /** Bytes held in copies of batches that could not be written in the run they came for. */
  get queuedBytes(): number {
    return this.staging.queuedBytes;
  }

  /** Writes what is ready. When it returns, the memory that was offered is the callers' again. */
  run(): void {
    // A listener may offer and call this from inside a run: the loop below comes to it.
    if (this.#running) return;
    this.#running = true;
    this.#asked = false;
    // Most runs are shorter than what the clock is looked at for, and never do.
    let deadline = Number.POSITIVE_INFINITY;
    let sinceClock = 0;
    while (this.#first !== undefined) {
      // A round that writes nothing (refusals, waiting for room) counts too, or a flood of them would not see the clock.
      sinceClock += this.#round() + RUN_CLOCK_BYTES / 64;
      if (sinceClock < RUN_CLOCK_BYTES) continue;
      sinceClock = 0;
      const now = this.#now();
      if (now >= deadline) break;
      if (deadline === Number.POSITIVE_INFINITY) deadline = now + RUN_MAX_MS;
    }
    // After all rounds, so that the whole run is one group; before the copying, so that the disk works beside it.
    for (let i = 0; i < this.#wantingCount; i++) {
      const writer = this.#wanting[i] as ReadyWriter;
      writer.barrierAsked = false;
      writer.startBarrier();
    }
    this.#wantingCount = 0;
    for (let i = 0; i < this.#touchedCount; i++) {
      const writer = this.#touched[i] as ReadyWriter;
      writer.touched = false;
      writer.stage();
    }
    this.#touchedCount = 0;
    this.#running = false;
    if (this.#first !== undefined) this.#ask();
  }

  /** A batch was put into this writer's mailbox from memory that the caller keeps still until the run has ended. */
  offered(writer: ReadyWriter): void {
    if (!writer.touched) {
      writer.touched = true;
      this.#touched[this.#touchedCount++] = writer;
    }
    if (writer.runnable && !writer.inReady) this.#append(writer);
  }

  /** This writer can go on, and no run is announced. */
  resume(writer: ReadyWriter): void {
    if (writer.runnable && !writer.inReady) this.#append(writer);
    if (!this.#running && this.#first !== undefined) this.#ask();
  }

  /** This writer wants a barrier: at the end of the run, or now if there is none. */
  wantsBarrier(writer: ReadyWriter): void {
    if (!this.#running) {
      writer.startBarrier();
    } else if (!writer.barrierAsked) {
      writer.barrierAsked = true;
      this.#wanting[this.#wantingCount++] = writer;
    }
  }

  /** One native call. Every writer that was ready comes at most once. Returns the bytes. */
  #round(): number {
    const turn = this.#turn;
    turn.reset();
    const share = Math.max(WRITER_SHARE_MIN, Math.floor(this.#turnBytes / this.#ready));
    let owners = 0;
    let bytes = 0;
    for (let left = this.#ready; left > 0 && !turn.full && bytes < this.#turnBytes; left--) {
      const writer = this.#shift();
      const before = turn.rows;
      bytes += writer.fill(turn, Math.min(share, this.#turnBytes - bytes));
      if (turn.rows > before) {
        this.#owners[owners] = writer;
        this.#rows[owners++] = turn.rows - before;
      } else if (writer.runnable && !writer.inReady) {
        this.#append(writer);
      }
    }
    if (owners === 0) return bytes;
    turn.run();
    let row = 0;
    for (let i = 0; i < owners; i++) {
      const writer = this.#owners[i] as ReadyWriter;
      const rows = this.#rows[i] as number;
      writer.settle(turn, row, rows);
      row += rows;
      if (writer.runnable && !writer.inReady) this.#append(writer);
    }
    return bytes;
  }

  #append(writer: ReadyWriter): void {
    writer.inReady = true;
    writer.nextReady = undefined;
    if (this.#last === undefined) this.#first = writer;
    else this.#last.nextReady = writer;
    this.#last = writer;
    this.#ready++;
  }

  #shift(): ReadyWriter {
    const writer = this.#first as ReadyWriter;
    this.#first = writer.nextReady;
    if (this.#first === undefined) this.#last = undefined;
    writer.nextReady = undefined;
    writer.inReady = false;
    this.#ready--;
    return writer;
  }

  #ask(): void {
    if (this.#asked) return;
    this.#asked = true;
    this.onWork();
  }
}
