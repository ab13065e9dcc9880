// The only writer of a partition: takes batches in, writes them in the order they came, answers each exactly once, and
// says what may be read. An actor without a thread: `offer` puts a batch into the mailbox, the scheduler drains it.
//
//   running ── head does not fit ──► waiting for room ──► running        (made by workers; LOG_FULL tells all who waited)
//   running ── head larger than a segment ──► spanning ──► running
//   any ── a write or a barrier failed ──► poisoned                       (until a restart has recovered the log)
//   any ── close ──► closing ──► closed
//
// Batches never overtake each other, and a refusal does not let those behind it pass: whoever was refused may have sent
// more that builds on it. Must not know connections, frames and how records lie in a file.

import { AckPolicy } from "../model/ack-policy.js";
import type { Timers } from "../model/clock.js";
import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import type { Offset } from "../model/ids.js";
import { invariant } from "../model/invariant.js";
import { AppendStatus } from "../native/binding.js";
import type { AppendListener } from "./append-listener.js";
import type { AppendTable, AppendTarget } from "./append-target.js";
import { type FlushBounds, FlushPolicy } from "./flush-policy.js";
import { GroupCommit } from "./group-commit.js";
import { Mailbox } from "./mailbox.js";
import { RoomMaker } from "./room-maker.js";
import type { ReadyWriter, Scheduler } from "./scheduler.js";
import { Upkeep } from "./upkeep.js";

export interface WriterPolicy {
  /** What a consumer may read: what is written, or what is forced. With "durable" every publish asks for a barrier. */
  readonly visibility: "written" | "durable";
  readonly flushEveryRecords?: number;
  readonly flushEveryMs?: number;
  /** A segment that is so old and not empty is rolled, also when nothing is written any more. */
  readonly segmentRollMs?: number;
  /** Bytes of record regions that may wait in the mailbox. Beyond it: OVERLOADED. One batch may always wait. */
  readonly mailboxBytes: number;
}

export class PartitionWriter<Log extends AppendTarget = AppendTarget> implements ReadyWriter {
  readonly log: Log;
  /**
   * Something that a waiting reader may have waited for has happened: the log end or the high watermark went up, a
   * segment was rolled, or the partition was poisoned. May be called without need; must not throw.
   */
  onPublished: (writer: PartitionWriter<Log>) => void = () => undefined;
  /** There was no room of so many bytes on the disk: everybody who waited for it was told LOG_FULL. Must not throw. */
  onFull: (neededBytes: number) => void = () => undefined;

  nextReady: ReadyWriter | undefined = undefined;
  inReady = false;
  touched = false;
  barrierAsked = false;

  readonly #scheduler: Scheduler;
  readonly #mailbox: Mailbox;
  readonly #mailboxBytes: number;
  readonly #durable: boolean;
  readonly #commit: GroupCommit;
  readonly #flush: FlushPolicy;
  readonly #upkeep: Upkeep;
  readonly #room: RoomMaker;
  /** A batch of this run was refused for want of memory, so those behind it are, too. */
  #overloaded = false;
  /** What every offer is answered with: STORAGE_FAILURE once poisoned, SHUTTING_DOWN once closing. */
  #refusal: ErrorCode = ErrorCodes.NONE;
  #closing: Promise<void> | undefined;

  constructor(log: Log, scheduler: Scheduler, policy: WriterPolicy, timers: Timers) {
    this.log = log;
    this.#scheduler = scheduler;
    this.#mailbox = new Mailbox(scheduler.staging);
    this.#mailboxBytes = policy.mailboxBytes;
    this.#durable = policy.visibility === "durable";
    const barrier = {
      started: () => this.#flush.barrierStarted(),
      moved: () => {
        if (this.#durable) this.onPublished(this);
      },
      failed: (cause: unknown) => this.#poison(cause),
    };
    this.#commit = new GroupCommit(log, barrier, scheduler.barriers);
    const bounds: FlushBounds = { everyRecords: policy.flushEveryRecords, everyMs: policy.flushEveryMs };
    this.#flush = new FlushPolicy(bounds, timers, () => this.#flushDue());
    this.#upkeep = new Upkeep(log, timers, policy.segmentRollMs ?? 0, {
      mayRun: () => !this.#room.busy,
      done: (quiet) => this.#upkeepDone(quiet),
      failed: (cause) => this.#poison(cause),
    });
    this.#room = new RoomMaker(log, this.#mailbox, this.#upkeep, {
      made: () => {
        // A roll is news to readers: what they wait for may now lie in an older segment.
        this.onPublished(this);
        scheduler.resume(this);
      },
      retry: () => scheduler.resume(this),
      written: (base) => this.#spanned(base, ErrorCodes.NONE),
      refused: (error) => this.#spanned(-1, error),
      full: (neededBytes) => {
        // Everybody who waited for the room is told, so that nobody passes whom it was refused. Later ones try again.
        this.#mailbox.refuseAll(ErrorCodes.LOG_FULL);
        this.onFull(neededBytes);
        scheduler.resume(this);
      },
      failed: (cause) => this.#poison(cause),
    });
  }

  get logStartOffset(): Offset {
    return this.log.logStartOffset;
  }
  /** Written up to here. Survives the process, not a power cut. */
  get logEndOffset(): Offset {
    return this.log.logEndOffset;
  }
  /** Forced up to here. */
  get durableOffset(): Offset {
    return this.log.durableOffset;
  }
  /**
   * What a consumer may read. Once poisoned it is the durable offset: what the page cache shows above it may not be on
   * the disk.
   */
  get highWatermark(): Offset {
    return this.#durable || this.#refusal === ErrorCodes.STORAGE_FAILURE
      ? this.log.durableOffset
      : this.log.logEndOffset;
  }
  get poisoned(): boolean {
    return this.#refusal === ErrorCodes.STORAGE_FAILURE;
  }
  /** Bytes of record regions that wait to be written. */
  get waitingBytes(): number {
    return this.#mailbox.bytes;
  }
  /** Batches that are written and wait for a barrier. */
  get waitingForBarrier(): number {
    return this.#commit.waiting;
  }
  /** Barriers that this writer has asked for. */
  get barriers(): number {
    return this.#commit.barriers;
  }
  get runnable(): boolean {
    return this.#mailbox.size > 0 && !this.#room.busy;
  }

  /**
   * Puts the record region `source[offset, offset + bytes)` of `records` × (int32 size | payload) behind what waits.
   * The memory must stay as it is until the scheduler's next `run` returns; whoever offers sees to it that there is one.
   * `expectedOffset`: the base offset that it must get, or −1 for any; checked when it is about to be written.
   */
  offer(
    source: Uint8Array,
    offset: number,
    bytes: number,
    records: number,
    ack: AckPolicy,
    expectedOffset: number,
    listener: AppendListener,
    token: number,
  ): void {
    const box = this.#mailbox;
    if (this.#refusal !== ErrorCodes.NONE) {
      listener.appended(token, this.#refusal, -1, -1);
      return;
    }
    if (this.#overloaded || box.full || (box.bytes + bytes > this.#mailboxBytes && box.size > 0)) {
      this.#overloaded = true;
      this.#scheduler.offered(this);
      listener.appended(token, ErrorCodes.OVERLOADED, -1, -1);
      return;
    }
    box.push(source, offset, bytes, records, ack, expectedOffset, listener, token);
    if (!this.touched || !this.inReady) this.#scheduler.offered(this);
  }

  /** Resolves with the durable offset when everything that was offered before is forced. */
  async force(): Promise<Offset> {
    await this.drain();
    if (this.#refusal !== ErrorCodes.NONE) throw this.#refusalError();
    const end = this.log.logEndOffset;
    if (this.log.durableOffset >= end) return this.log.durableOffset;
    return new Promise((resolve, reject) => {
      const appended = (_token: number, error: ErrorCode): void => {
        if (error === ErrorCodes.NONE) resolve(this.log.durableOffset);
        else reject(this.#refusalError());
      };
      this.#commit.add({ appended }, 0, end, end);
      this.#scheduler.wantsBarrier(this);
    });
  }

  /** Resolves when everything that was offered before is written or refused. FORCED batches may still wait. */
  drain(): Promise<void> {
    this.#scheduler.resume(this);
    return this.#mailbox.drained();
  }

  /**
   * Refuses new batches with SHUTTING_DOWN, writes and forces what was offered before, answers it, and closes the log.
   * A second call returns the same promise.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#refusal === ErrorCodes.NONE) this.#refusal = ErrorCodes.SHUTTING_DOWN;
    await this.drain();
    this.#flush.stop();
    await this.#room.settled();
    await this.#upkeep.stop();
    this.#commit.start();
    await this.#commit.idle();
    await this.log.close();
  }

  fill(turn: AppendTable, budget: number): number {
    const log = this.log;
    const box = this.#mailbox;
    if (log.poisoned !== undefined) {
      this.#poison(log.poisoned);
      return 0;
    }
    let room = log.room();
    let bytes = 0;
    let taken = 0;
    // What a listener offers while it is refused comes in the next round, so that a stubborn one cannot hold this one.
    for (let left = box.size; left > 0 && !turn.full; left--) {
      const i = box.slot(taken);
      const size = box.sizes[i] as number;
      if (taken > 0 && bytes + size > budget) break;
      const expected = box.expected[i] as number;
      if (expected >= 0) {
        // Only behind rows that have run is the end of the log known: any of them may yet turn out corrupt, and this
        // batch would then be written at an offset that its producer did not mean.
        if (taken > 0) break;
        if (expected !== log.logEndOffset) {
          box.refuseFirst(ErrorCodes.OFFSET_MISMATCH);
          continue;
        }
      }
      const records = box.records[i] as number;
      const stored = log.storedBytes(size, records);
      if (stored > room) {
        // With rows in this turn the end is not known yet: this writer comes again in the next round.
        if (taken === 0) this.#needRoom(stored);
        break;
      }
      log.addTo(turn, box.sources[i] as Uint8Array, box.offsets[i] as number, size, records);
      room -= stored;
      bytes += size;
      taken++;
    }
    box.notifyDrained();
    return bytes;
  }

  settle(turn: AppendTable, first: number, rows: number): void {
    const log = this.log;
    const box = this.#mailbox;
    const before = log.logEndOffset as number;
    let failed = -1;
    for (let row = first; row < first + rows; row++) {
      const i = box.slot(0);
      const status = turn.status(row);
      // Order of publication: the bytes are written, `accept` enters the index and then moves the log end. Only now may
      // anybody hear of it: a producer its offset here, waiting readers below. Told earlier, one of them could ask for an
      // offset that has nothing behind it.
      const base = log.accept(turn, row) as number;
      if (status === AppendStatus.OK) {
        this.#answer(i, base, base + (box.records[i] as number));
      } else if (status === AppendStatus.CORRUPT) {
        box.refuseFirst(ErrorCodes.CORRUPT_REQUEST);
      } else if (status === AppendStatus.TOO_LARGE) {
        box.refuseFirst(ErrorCodes.RECORD_TOO_LARGE);
      } else {
        invariant(status === AppendStatus.IO_ERROR, "a batch is only added to a turn when there is room for it");
        if (failed < 0) failed = row;
        box.refuseFirst(ErrorCodes.STORAGE_FAILURE);
      }
    }
    if (log.logEndOffset > before) this.#published(log.logEndOffset - before);
    if (failed >= 0) {
      this.#poison(
        log.poisoned ?? new MillraceError("STORAGE_FAILURE", `a write failed with errno ${turn.errno(failed)}`),
      );
    }
    box.notifyDrained();
  }

  stage(): void {
    this.#overloaded = false;
    this.#mailbox.stage(ErrorCodes.OVERLOADED);
  }

  startBarrier(): void {
    this.#commit.start();
  }

  /** The oldest batch is written at `[base, end)`. */
  #answer(i: number, base: number, end: number): void {
    const box = this.#mailbox;
    const listener = box.listeners[i] as AppendListener;
    const token = box.tokens[i] as number;
    const ack = box.acks[i];
    box.dropFirst();
    if (ack === AckPolicy.FORCED) this.#commit.add(listener, token, base, end);
    else listener.appended(token, ErrorCodes.NONE, base, this.log.logEndOffset);
  }

  /** The log end has moved. Answers came before, wake-ups come now, once for all batches of a round. */
  #published(records: number): void {
    if (this.#flush.published(records) || this.#durable) this.#commit.want();
    if (this.#commit.wanted) this.#scheduler.wantsBarrier(this);
    this.#upkeep.touched();
    if (this.log.needsUpkeep) this.#upkeep.now();
    this.onPublished(this);
  }

  /** The oldest batch does not fit what can be written now. */
  #needRoom(stored: number): void {
    if (stored > this.log.segmentBytes) {
      // A worker will read it while turns go on.
      this.#stageWithin();
      if (this.#mailbox.size === 0) return;
    }
    this.#room.begin(stored);
  }

  /** Copies in the middle of a run: what is refused in it, now or before, is followed by nothing until the run's end. */
  #stageWithin(): void {
    const { size } = this.#mailbox;
    const before = this.#overloaded;
    this.#overloaded = true;
    this.#mailbox.stage(ErrorCodes.OVERLOADED);
    if (this.#mailbox.size === size) this.#overloaded = before;
  }

  /** The oldest batch was larger than a segment and has been written, or has not. Nobody cares once all were told. */
  #spanned(base: number, error: ErrorCode): void {
    if (this.poisoned) return;
    const box = this.#mailbox;
    const i = box.slot(0);
    const records = box.records[i] as number;
    if (error === ErrorCodes.NONE) {
      this.#answer(i, base, base + records);
      this.#published(records);
    } else {
      box.refuseFirst(error);
    }
    box.notifyDrained();
    this.#scheduler.resume(this);
  }

  /** A write or a barrier failed. Nothing is put back or tried again: a power cut could bring the one up, the other lies. */
  #poison(cause: unknown): void {
    if (this.poisoned) return;
    this.#refusal = ErrorCodes.STORAGE_FAILURE;
    this.#flush.stop();
    void this.#upkeep.stop();
    this.log.poison(cause);
    this.#commit.fail(ErrorCodes.STORAGE_FAILURE);
    this.#mailbox.refuseAll(ErrorCodes.STORAGE_FAILURE);
    this.onPublished(this);
  }

  #refusalError(): MillraceError {
    if (!this.poisoned) return new MillraceError("CLOSED", "the partition's writer is closed");
    const { poisoned } = this.log;
    const what = poisoned?.message ?? "a write or a barrier failed";
    return new MillraceError("STORAGE_FAILURE", `${what}; the log must be opened again`, { cause: poisoned });
  }

  #flushDue(): void {
    if (this.log.durableOffset >= this.log.logEndOffset) return;
    this.#commit.want();
    this.#scheduler.wantsBarrier(this);
  }

  #upkeepDone(quiet: boolean): void {
    if (this.log.poisoned !== undefined) this.#poison(this.log.poisoned);
    // It may have rolled a segment, and a reader that waits at an offset which now lies in an older one is to be answered.
    this.onPublished(this);
    if (!quiet) return;
    this.#mailbox.trim();
    this.#commit.trim();
  }
}
