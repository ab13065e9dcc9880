// The one native call that writes many batches of many partitions. Ranges are collected in typed arrays and run together:
// no object and no native call for each batch. It must not know what a partition is: rows name native writers.

import type { Clock } from "../model/clock.js";
import { invariant } from "../model/invariant.js";
import { APPEND_COLUMNS, AppendColumn, type AppendStatus, INDEX_OUT_COLUMNS, native } from "../native/binding.js";

/** Index entries that fit beside one for each row: what a turn of 16 MiB has at the default interval. What is left out makes an index sparser. */
const INDEX_ROWS_EXTRA = 4096;

export class AppendTurn {
  readonly #clock: Clock;
  readonly #table: Int32Array;
  readonly #sources: Uint8Array[] = [];
  readonly #indexOut: Uint32Array;
  /** Where the index entries of a row begin; one more element than rows. */
  readonly #indexFrom: Int32Array;
  #rows = 0;
  #runs = 0;
  #now = 0;

  constructor(
    readonly maxRows: number,
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#table = new Int32Array(maxRows * APPEND_COLUMNS);
    this.#indexOut = new Uint32Array((maxRows + INDEX_ROWS_EXTRA) * INDEX_OUT_COLUMNS);
    this.#indexFrom = new Int32Array(maxRows + 1);
  }

  get rows(): number {
    return this.#rows;
  }
  get full(): boolean {
    return this.#rows === this.maxRows;
  }
  /** How many times it was run: who keeps count of what waits in it sees by this that nothing does any more. */
  get runs(): number {
    return this.#runs;
  }
  /** Wall-clock time of the last run: the append time of everything in it. */
  get now(): number {
    return this.#now;
  }

  /** Adds a batch and returns its row. `source` must stay as it is until `run` has returned. */
  add(writerId: number, source: Uint8Array, offset: number, bytes: number, records: number): number {
    invariant(this.#rows < this.maxRows, "a full turn is run before a batch is added");
    // Nearly all batches of a turn lie in one arena, so the last source is the only one worth comparing.
    let sourceIndex = this.#sources.length - 1;
    if (sourceIndex < 0 || this.#sources[sourceIndex] !== source) {
      this.#sources.push(source);
      sourceIndex++;
    }
    const row = this.#rows++;
    const at = row * APPEND_COLUMNS;
    this.#table[at + AppendColumn.WRITER] = writerId;
    this.#table[at + AppendColumn.SOURCE] = sourceIndex;
    this.#table[at + AppendColumn.OFFSET] = offset;
    this.#table[at + AppendColumn.BYTES] = bytes;
    this.#table[at + AppendColumn.RECORDS] = records;
    return row;
  }

  /** Writes all rows, in order. Each row's outcome is in `status`, `end` and `errno` until `reset`. */
  run(): void {
    this.#now = this.#clock.now();
    const entries = native.append(this.#table, this.#rows, this.#sources, this.#indexOut);
    this.#runs++;
    // Entries come in the order of their rows: one pass finds where each row's begin.
    let next = 0;
    for (let row = 0; row < this.#rows; row++) {
      this.#indexFrom[row] = next;
      while (next < entries && this.#indexOut[next * INDEX_OUT_COLUMNS] === row) next++;
    }
    this.#indexFrom[this.#rows] = next;
  }

  reset(): void {
    this.#rows = 0;
    this.#sources.length = 0;
  }

  records(row: number): number {
    return this.#table[row * APPEND_COLUMNS + AppendColumn.RECORDS];
  }
  status(row: number): AppendStatus {
    return this.#table[row * APPEND_COLUMNS + AppendColumn.STATUS] as AppendStatus;
  }
  /** The segment's end after this row, in bytes. */
  end(row: number): number {
    return this.#table[row * APPEND_COLUMNS + AppendColumn.END];
  }
  errno(row: number): number {
    return this.#table[row * APPEND_COLUMNS + AppendColumn.ERRNO];
  }
  /** The row's index entries are `[indexFrom(row), indexFrom(row + 1))`. */
  indexFrom(row: number): number {
    return this.#indexFrom[row];
  }
  /** Which record of its batch an index entry points to, from 0. */
  indexRecord(entry: number): number {
    return this.#indexOut[entry * INDEX_OUT_COLUMNS + 1];
  }
  indexPosition(entry: number): number {
    return this.#indexOut[entry * INDEX_OUT_COLUMNS + 2];
  }
}
