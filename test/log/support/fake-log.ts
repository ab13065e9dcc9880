// A partition's storage in memory whose slow parts end when the test says so: a barrier that fails, room that is not there,
// a roll that takes long are then one call away. The real storage is used by every test that does not need that.

import type { AppendTable, AppendTarget } from "../../../src/log/append-target.js";
import { MillraceError } from "../../../src/model/errors.js";
import { type Offset, offset } from "../../../src/model/ids.js";
import { AppendStatus } from "../../../src/native/binding.js";
import { NoRoomError } from "../../../src/storage/damage.js";
import { payloadsOf } from "./regions.js";

interface Row {
  readonly log: FakeLog;
  readonly bytes: Uint8Array;
  readonly records: number;
  status: AppendStatus;
  payloads: string[];
}

export class FakeTurn implements AppendTable {
  #rows: Row[] = [];
  runs = 0;
  /** Rows of each run. */
  readonly sizes: number[] = [];
  constructor(readonly maxRows: number) {}
  get rows(): number {
    return this.#rows.length;
  }
  get full(): boolean {
    return this.#rows.length === this.maxRows;
  }
  add(log: FakeLog, bytes: Uint8Array, records: number): number {
    if (this.full) throw new Error("the turn is full");
    return this.#rows.push({ log, bytes, records, status: AppendStatus.OK, payloads: [] }) - 1;
  }
  run(): void {
    this.runs++;
    this.sizes.push(this.#rows.length);
    for (const row of this.#rows) {
      const payloads = payloadsOf(row.bytes, row.records);
      row.payloads = payloads ?? [];
      if (row.log.writesFail) row.status = AppendStatus.IO_ERROR;
      else if (payloads === undefined) row.status = AppendStatus.CORRUPT;
      else row.log.written(row.bytes.length, row.records);
    }
  }
  reset(): void {
    this.#rows = [];
  }
  status(row: number): AppendStatus {
    return (this.#rows[row] as Row).status;
  }
  errno(row: number): number {
    return this.status(row) === AppendStatus.IO_ERROR ? 5 : 0;
  }
  payloads(row: number): string[] {
    return (this.#rows[row] as Row).payloads;
  }
}

/** Something slow that the test ends. */
export class Pending<T> {
  resolve!: (value: T) => void;
  reject!: (cause: unknown) => void;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
  constructor(readonly finish: () => T) {}
  succeed(): void {
    try {
      this.resolve(this.finish());
    } catch (cause) {
      this.reject(cause);
    }
  }
}

export class FakeLog implements AppendTarget {
  readonly payloads: string[] = [];
  logStartOffset = offset(0);
  logEndOffset = offset(0);
  durableOffset = offset(0);
  poisoned: Error | undefined;
  needsUpkeep = false;
  activeBaseOffset = offset(0);
  /** The next upkeep finds that the segment is old. */
  isOld = false;
  upkeeps = 0;
  closed = false;
  writesFail = false;
  /** Each of these is asked for at most once at a time. */
  barrier: Pending<Offset> | undefined;
  makingRoom: Pending<void> | undefined;
  spanning: Pending<Offset> | undefined;
  upkeeping: Pending<void> | undefined;
  /** What the writer did that it must not. */
  readonly broken: string[] = [];
  /** How many barriers were begun. */
  barriers = 0;
  #free: number;

  constructor(
    readonly segmentBytes: number,
    readonly options: { readonly slowUpkeep?: boolean } = {},
  ) {
    this.#free = segmentBytes;
  }

  storedBytes(regionBytes: number, records: number): number {
    return regionBytes + 4 * records;
  }
  room(): number {
    return this.#free;
  }
  /** As if the segment had no more room than that. */
  fill(left: number): void {
    this.#free = left;
  }
  written(regionBytes: number, records: number): void {
    this.#free -= this.storedBytes(regionBytes, records);
    this.#mustNot(this.#free < 0, "a batch was written that does not fit");
  }
  addTo(turn: FakeTurn, source: Uint8Array, from: number, bytes: number, records: number): number {
    this.#mustNot(this.makingRoom || this.spanning, "a batch overtakes what waits for room");
    return turn.add(this, source.subarray(from, from + bytes), records);
  }
  accept(turn: FakeTurn, row: number): Offset {
    if (turn.status(row) !== AppendStatus.OK) return offset(-1);
    const base = this.logEndOffset;
    this.payloads.push(...turn.payloads(row));
    this.logEndOffset = offset(this.payloads.length);
    return base;
  }
  makeRoom(stored: number): Promise<void> {
    this.#mustNot(this.makingRoom || this.spanning || this.upkeeping, "makeRoom beside other work");
    this.#mustNot(stored > this.segmentBytes, "that does not fit a segment");
    this.makingRoom = new Pending(() => {
      this.makingRoom = undefined;
      this.#free = this.segmentBytes;
    });
    return this.makingRoom.promise;
  }
  appendSpanning(source: Uint8Array, from: number, bytes: number, records: number): Promise<Offset> {
    this.#mustNot(this.makingRoom || this.spanning || this.upkeeping, "appendSpanning beside other work");
    const bytesThen = Buffer.from(source.subarray(from, from + bytes));
    this.spanning = new Pending(() => {
      this.spanning = undefined;
      const same = bytesThen.equals(source.subarray(from, from + bytes));
      this.#mustNot(!same, "the memory of a spanning batch is left alone until it is written");
      const payloads = payloadsOf(bytesThen, records);
      if (payloads === undefined) throw new MillraceError("CORRUPT_REQUEST", "no records");
      const base = this.logEndOffset;
      this.payloads.push(...payloads);
      this.logEndOffset = offset(this.payloads.length);
      return base;
    });
    return this.spanning.promise;
  }
  force(): Promise<Offset> {
    this.#mustNot(this.barrier, "two barriers at a time");
    if (this.poisoned) return Promise.reject(this.poisoned);
    this.barriers++;
    const end = this.logEndOffset;
    this.barrier = new Pending(() => {
      this.barrier = undefined;
      if (this.poisoned) throw this.poisoned;
      this.durableOffset = end;
      return end;
    });
    return this.barrier.promise;
  }
  upkeep(): Promise<void> {
    this.#mustNot(this.makingRoom || this.spanning || this.upkeeping, "upkeep beside other work");
    this.needsUpkeep = false;
    this.upkeeps++;
    if (this.isOld) this.activeBaseOffset = this.logEndOffset;
    this.isOld = false;
    if (!this.options.slowUpkeep) return Promise.resolve();
    this.upkeeping = new Pending(() => {
      this.upkeeping = undefined;
    });
    return this.upkeeping.promise;
  }
  poison(cause: unknown): void {
    this.poisoned ??= new MillraceError("STORAGE_FAILURE", "poisoned", { cause });
  }
  /** What is being done of that kind fails, as a disk fails: not for want of room. */
  fail(what: "barrier" | "makingRoom" | "spanning" | "upkeeping"): void {
    const pending = this[what];
    if (pending === undefined) return;
    this[what] = undefined;
    this.poison(new Error("EIO"));
    // Upkeep tells nobody; it is seen by the log being poisoned.
    if (what === "upkeeping") (pending as Pending<void>).resolve();
    else pending.reject(this.poisoned);
  }
  refuseRoom(): void {
    const pending = this.makingRoom ?? this.spanning;
    this.makingRoom = undefined;
    this.spanning = undefined;
    pending?.reject(new NoRoomError("/fake", 77));
  }
  /** The writer may take a failure for the disk's, so it is kept for the test to look at. */
  #mustNot(wrong: unknown, what: string): void {
    if (!wrong) return;
    this.broken.push(what);
    throw new Error(what);
  }
  async close(): Promise<void> {
    this.#mustNot(this.makingRoom || this.spanning || this.upkeeping || this.barrier, "closed beside other work");
    if (this.poisoned === undefined) this.durableOffset = this.logEndOffset;
    this.closed = true;
  }
}

/** Lets everything run that a promise has announced. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
