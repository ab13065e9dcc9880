// Appends of a program, as promises: collected in one iteration of the event loop, laid out as the writer wants them, offered
// and written together. When the writer is waiting for room the rest waits here, by reference, so that a program that appends
// faster than the disk takes it is slowed down by its promises and not refused. Knows nothing of files.

import type { AckPolicy } from "../model/ack-policy.js";
import { type ErrorCode, errorRow } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import { type Offset, offset } from "../model/ids.js";
import { EMBEDDED_REGION_BYTES, EMBEDDED_WAITING_BYTES } from "../model/limits.js";
import type { AppendListener } from "./append-listener.js";
import type { PartitionWriter } from "./partition-writer.js";
import type { Scheduler } from "./scheduler.js";

/** A partition's writer as this queue uses it, whatever its storage. */
type BatchWriter = Pick<PartitionWriter, "offer" | "waitingBytes">;

/** An append that was called for and has not ended. */
class PendingAppend {
  resolve!: (base: Offset) => void;
  reject!: (error: MillraceError) => void;
  readonly promise = new Promise<Offset>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
  constructor(
    /** Its records, or their region laid out already. */
    readonly source: readonly Uint8Array[] | Uint8Array,
    readonly count: number,
    readonly regionBytes: number,
    readonly ack: AckPolicy,
    readonly expectedOffset: number,
  ) {}
}

export class AppendQueue implements AppendListener {
  readonly #writer: BatchWriter;
  readonly #scheduler: Scheduler;
  readonly #errorOf: (code: ErrorCode) => MillraceError;
  /** Not offered yet, oldest first, from `#next` on. */
  #waiting: PendingAppend[] = [];
  #next = 0;
  /** Offered, by token; tokens of settled ones are used again. */
  readonly #offered: (PendingAppend | undefined)[] = [];
  readonly #freeTokens: number[] = [];
  #region: Uint8Array | undefined;
  #used = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  /** `errorOf` makes the error that an append with this outcome rejects with. */
  constructor(writer: BatchWriter, scheduler: Scheduler, errorOf: (code: ErrorCode) => MillraceError) {
    this.#writer = writer;
    this.#scheduler = scheduler;
    this.#errorOf = errorOf;
    scheduler.onWork = () => this.#schedule();
  }

  /**
   * `regionBytes`: what the records take with an int32 before each. They must stay as they are until the promise settles.
   * `expectedOffset`: what the first one must get, or −1.
   */
  append(records: readonly Uint8Array[], regionBytes: number, ack: AckPolicy, expectedOffset: number): Promise<Offset> {
    return this.#enter(new PendingAppend(records, records.length, regionBytes, ack, expectedOffset));
  }

  /** The same for `count` records that lie as the writer wants them. A wrong count rejects with CORRUPT_REQUEST. */
  appendRegion(region: Uint8Array, count: number, ack: AckPolicy, expectedOffset: number): Promise<Offset> {
    return this.#enter(new PendingAppend(region, count, region.length, ack, expectedOffset));
  }

  /** Resolves when all that was appended before has been offered. */
  offered(): Promise<void> {
    if (this.#next === this.#waiting.length) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  appended(token: number, error: ErrorCode, baseOffset: number): void {
    const { resolve, reject } = this.#offered[token] as PendingAppend;
    this.#offered[token] = undefined;
    this.#freeTokens.push(token);
    if (error === 0) resolve(offset(baseOffset));
    else reject(this.#errorOf(error));
    // Whatever ended for this one may have made room for those that wait.
    if (this.#next < this.#waiting.length) this.#schedule();
  }

  #enter(pending: PendingAppend): Promise<Offset> {
    this.#waiting.push(pending);
    this.#schedule();
    return pending.promise;
  }

  /** In the next iteration of the loop: what a program appends in this one is then written by one call. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#run();
    });
  }

  #run(): void {
    while (this.#next < this.#waiting.length) {
      const request = this.#waiting[this.#next] as PendingAppend;
      const behind = this.#writer.waitingBytes;
      // It waits for room on the disk. Its next word, to the scheduler or to one of the offered, brings us here again.
      if (behind > 0 && behind + request.regionBytes > EMBEDDED_WAITING_BYTES) break;
      this.#next++;
      this.#offer(request);
    }
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
      for (const resolve of this.#idle.splice(0)) resolve();
    }
    this.#write();
  }

  #offer(request: PendingAppend): void {
    const source = this.#place(request.regionBytes);
    const from = source === this.#region ? this.#used : 0;
    const end = layOut(request.source, source, from);
    if (source === this.#region) this.#used = end;
    const token = this.#freeTokens.pop() ?? this.#offered.length;
    this.#offered[token] = request;
    const { count, ack, expectedOffset } = request;
    this.#writer.offer(source, from, end - from, count, ack, expectedOffset, this, token);
  }

  /** Memory for a region: the shared one while it lasts, then that again after a run, or one of its own for a large batch. */
  #place(bytes: number): Uint8Array {
    if (bytes > EMBEDDED_REGION_BYTES) return new Uint8Array(bytes);
    this.#region ??= new Uint8Array(EMBEDDED_REGION_BYTES);
    if (this.#used + bytes > EMBEDDED_REGION_BYTES) this.#write();
    return this.#region;
  }

  #write(): void {
    this.#scheduler.run();
    this.#used = 0;
  }
}

/** Writes `int32 size | payload` for each record from `at` on and returns the end. */
function layOut(records: readonly Uint8Array[] | Uint8Array, into: Uint8Array, at: number): number {
  if (records instanceof Uint8Array) {
    into.set(records, at);
    return at + records.length;
  }
  let end = at;
  for (const record of records) {
    const size = record.length;
    into[end] = size >>> 24;
    into[end + 1] = size >>> 16;
    into[end + 2] = size >>> 8;
    into[end + 3] = size;
    into.set(record, end + 4);
    end += 4 + size;
  }
  return end;
}

/** The message of an outcome, for people. */
export function outcomeError(code: ErrorCode, dir: string, cause: unknown): MillraceError {
  const row = errorRow(code);
  const name = row === undefined || row.name === "NONE" ? "STORAGE_FAILURE" : row.name;
  return new MillraceError(name, `append to ${dir}: ${row?.sentence ?? "unknown outcome"}`, { cause });
}
