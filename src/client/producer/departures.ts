// The batches of one partition, in order: which of them may leave now, and what follows from what became of those in flight. What was refused
// goes out again only when nothing behind it was accepted. It sends nothing and knows no link.
//
//   SENDING   as many at once as may be, or one after the other until one is accepted (flight.ts)
//     | one came back; or, of a sole writer, one was not written, so that those behind it miss their places
//     v
//   LANDING   nothing leaves until all have landed: one that is still up may be accepted, and what leaves now would stand behind it
//     |-- a sole writer's repetition missed its place: ASKING
//     |-- something was refused for now: PAUSED, what came back waits in front
//     '-- else: SENDING; a link that was lost has pauses of its own
//   PAUSED    until a timer fires, or nothing waits any more: SENDING
//   ASKING    a sole writer wants to know where the log ends, before its first batch or because of what is in doubt: SENDING; PAUSED to
//             ask again; SHUT
//   SHUT      for good: this producer is closed, or is not alone. What is up still lands; everything else is rejected
//
// Nothing is up in PAUSED and ASKING.

import type { Timers } from "../../model/clock.js";
import { MillraceError } from "../../model/errors.js";
import type { Offset, PartitionId } from "../../model/ids.js";
import type { Backoff } from "../backoff.js";
import type { RecordRegion } from "../record-region.js";
import type { Batch } from "./batch.js";
import { BatchQueue } from "./batch-queue.js";
import { settleDoubts } from "./doubts.js";
import { Flight } from "./flight.js";
import { GivingUp } from "./giving-up.js";
import { notAlone, outcomeOf, outcomeUnknown } from "./outcome.js";
import { Settling } from "./settling.js";
import type { LogEnds, SoleWriter } from "./sole-writer.js";
import type { SpareRegions } from "./spare-regions.js";

type Phase = "SENDING" | "LANDING" | "PAUSED" | "ASKING" | "SHUT";

export interface OrderSettings {
  readonly requestsInFlight: number;
  readonly deliveryTimeoutMs: number;
  readonly spares: SpareRegions;
  /** For pauses. */
  readonly timers: Timers;
}

export abstract class Departures {
  protected readonly queue = new BatchQueue();
  private readonly flight: Flight;
  private readonly settling: Settling;
  private readonly givingUp: GivingUp;
  private phase: Phase = "SENDING";
  private cancelPause: (() => void) | undefined;
  /** A repetition of this flight missed its place: the log's end says why. */
  private mustLook = false;
  /** Why it is shut. */
  private fatal: MillraceError | undefined;

  constructor(
    readonly topic: string,
    readonly partition: PartitionId,
    private readonly settings: OrderSettings,
    private readonly backoff: Backoff,
    /** Only where this producer is the only writer. */
    private readonly writer: SoleWriter | undefined,
  ) {
    this.flight = new Flight(settings.requestsInFlight);
    this.settling = new Settling(topic, partition, settings.spares, {
      left: (cost, callers) => this.left(cost, callers),
      end: () => this.endOfLog(),
    });
    this.givingUp = new GivingUp(topic, partition, this.queue, this.settling, writer);
  }

  /** There may be something to send. */
  protected abstract wake(): void;
  /** The log's end is wanted; {@link found} takes it. */
  protected abstract askEnd(): void;
  /** Whether the log has the first `count` records of the region from `offset` on, as far as it can be read. Rejects when the link fails. */
  protected abstract compare(offset: number, region: RecordRegion, count: number): Promise<boolean>;
  /** Where the log ends now; undefined: it cannot be asked. It does not reject. */
  protected abstract endOfLog(): Promise<Offset | undefined>;
  /** Records were settled, or given up. */
  protected abstract left(cost: number, callers: number): void;

  /** All batches that are not settled. */
  get batches(): readonly Batch[] {
    return [...this.settling.misplaced, ...this.flight.batches, ...this.queue];
  }

  /** Behind all that wait. */
  protected enqueue(batch: Batch): void {
    if (this.phase === "SHUT") {
      this.settling.reject(batch, this.fatal);
      return;
    }
    this.queue.push(batch);
    this.wake();
  }

  /** Whether {@link takeOff} may give something. */
  get maySend(): boolean {
    const { first } = this.queue;
    return this.phase === "SENDING" && first !== undefined && this.flight.mayTake(first);
  }

  /** The next batch, which is in flight now. {@link accepted} or {@link failed} tells what became of it. */
  takeOff(): Batch | undefined {
    while (this.maySend) {
      const batch = this.queue.first as Batch;
      if (!batch.hasLeft && !this.settling.dropAborted(batch)) {
        this.queue.shift();
        continue;
      }
      const claim = this.writer === undefined ? demand(batch) : this.writer.claim(batch, this.flight.isEmpty);
      if (claim === "ask") this.ask();
      if (claim === "ask" || claim === "wait") return undefined;
      this.queue.shift();
      if (claim instanceof MillraceError) {
        this.settling.reject(batch, claim);
        continue;
      }
      batch.hasLeft = true;
      this.flight.take(batch);
      return batch;
    }
    return undefined;
  }

  /** It was acknowledged; without an offset where nobody acknowledges. */
  accepted(batch: Batch, base: number | undefined): void {
    this.flight.accepted(batch);
    this.rejectOvertakenBy(batch);
    this.backoff.reset();
    if (base !== undefined) this.writer?.accepted(base, batch.region.records);
    this.settling.resolve(batch, base);
    this.landed();
  }

  /** Its request failed. */
  failed(batch: Batch, error: MillraceError): void {
    batch.error = error;
    const { writer } = this;
    if (error.code === "OFFSET_MISMATCH" && writer !== undefined) this.missed(batch);
    else {
      const outcome = outcomeOf(error);
      if (outcome === "for now") this.comesBack(batch);
      else if (outcome === "unknown") this.unknown(batch, error);
      else this.refused(batch, error);
    }
    if (writer !== undefined) this.land();
    this.landed();
  }

  /** The log did not end where the only writer expected it. */
  private missed(batch: Batch): void {
    // One before it in its flight was not written.
    const isExpected = this.phase === "LANDING" || this.phase === "SHUT";
    if (isExpected || batch.isUncertain) {
      if (!isExpected) this.mustLook = true;
      this.comesBack(batch);
      return;
    }
    const { topic, partition } = this;
    this.flight.ended(batch);
    this.poison(notAlone(topic, partition, `it does not end at ${batch.expected}`), batch);
  }

  private unknown(batch: Batch, error: MillraceError): void {
    if (this.writer !== undefined) {
      batch.isUncertain = true;
      this.comesBack(batch);
      return;
    }
    this.flight.ended(batch);
    this.rejectOvertakenBy(batch);
    this.settling.reject(batch, outcomeUnknown(this.topic, this.partition, error));
  }

  private refused(batch: Batch, error: MillraceError): void {
    this.flight.ended(batch);
    if (batch.isUncertain) {
      this.settling.reject(batch, outcomeUnknown(this.topic, this.partition, error));
      this.givingUp.doubts(error);
    } else if (error.code === "OFFSET_MISMATCH" && batch.demanded !== undefined) {
      void this.settling.rejectMisplaced(batch, batch.demanded);
    } else {
      this.settling.reject(batch, error);
      if (error.code !== "STORAGE_FAILURE") return;
      // A barrier that failed says nothing of what is in the log.
      this.givingUp.doubts(error);
      this.rejectOvertakenBy(batch);
    }
  }

  private comesBack(batch: Batch): void {
    this.flight.comesBack(batch);
    this.land();
  }

  private land(): void {
    if (this.phase === "SENDING") this.phase = "LANDING";
  }

  /** What came back, and would stand behind something that was sent after it. */
  private rejectOvertakenBy(batch: Batch): void {
    for (const each of this.flight.overtakenBy(batch)) this.settling.reject(each, each.error);
  }

  /** When nothing is in flight any more, what came back waits again, in front. */
  private landed(): void {
    if (this.flight.isEmpty) this.writer?.landed();
    const back = this.flight.landed();
    this.queue.putBack(back);
    // Where it should stand is not known any more: sent again at the log's end, it might be there twice.
    const lost = this.writer?.isKnown === false ? back.find(({ isUncertain }) => isUncertain) : undefined;
    if (lost?.error !== undefined) this.givingUp.doubts(lost.error);
    if (this.phase === "SHUT") this.rejectWaiting(this.fatal as MillraceError);
    if (this.phase === "LANDING" && this.flight.isEmpty) {
      this.phase = "SENDING";
      if (this.mustLook) this.ask();
      else if (back.some(({ isUncertain }) => !isUncertain)) this.pause();
      this.mustLook = false;
    }
    this.wake();
  }

  private pause(): void {
    this.phase = "PAUSED";
    this.cancelPause = this.settings.timers.after(this.backoff.next(), () => this.endPause());
  }

  private endPause(): void {
    this.cancelPause?.();
    this.cancelPause = undefined;
    if (this.phase !== "PAUSED") return;
    this.phase = "SENDING";
    this.wake();
  }

  private ask(): void {
    this.phase = "ASKING";
    this.askEnd();
  }

  /** Where the log ends; undefined when it could not be asked: whoever still wants to know asks again. */
  found(ends: LogEnds | undefined): void {
    const { writer } = this;
    if (ends !== undefined && writer?.isKnown && this.queue.first?.isUncertain) {
      void this.resolveDoubts(writer, ends);
      return;
    }
    if (ends !== undefined && !writer?.isKnown) writer?.begin(ends);
    this.looked();
  }

  private async resolveDoubts(writer: SoleWriter, ends: LogEnds): Promise<void> {
    const verdict = await settleDoubts({
      queue: this.queue,
      writer,
      ends,
      compare: (offset, region, count) => this.compare(offset, region, count),
      found: (batch, base) => this.settling.resolve(batch, base),
    });
    if (this.phase !== "ASKING") return;
    if (verdict === "settled") this.looked();
    else if (verdict === "not yet") this.pause();
    else this.poison(verdict.error, verdict.replaced);
  }

  private looked(): void {
    if (this.phase !== "ASKING") return;
    this.phase = "SENDING";
    this.wake();
  }

  /** Rejects what may not wait any longer; `trouble`: why there is no link. */
  expire(now: number, trouble: MillraceError | undefined): void {
    this.givingUp.expired(now, this.settings.deliveryTimeoutMs, trouble);
    // The pause was for what was refused. What comes now may be gone before it is over, and would never have been tried.
    if (this.queue.first === undefined) this.endPause();
  }

  /** Rejects everything that waits for its turn. */
  rejectWaiting(error: MillraceError): void {
    this.givingUp.all(error);
    this.endPause();
  }

  /** Nothing more is written here, and what comes is rejected with this. */
  poison(error: MillraceError, first?: Batch): void {
    this.fatal ??= error;
    this.phase = "SHUT";
    this.endPause();
    if (first !== undefined) this.settling.reject(first, error);
    this.rejectWaiting(error);
  }
}

/** Where there are other writers, a batch must stand somewhere only if its caller says so. */
function demand(batch: Batch): "go" {
  batch.expected = batch.demanded;
  return "go";
}
