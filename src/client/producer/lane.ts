// One partition's records: those being gathered, the batches that wait, and those in flight. It keeps the order: what was refused
// goes out again only when nothing behind it was accepted. Links and requests are courier.ts's, memory is the producer's.

import { MillraceError } from "../../model/errors.js";
import { type Offset, offset, type PartitionId } from "../../model/ids.js";
import type { Backoff } from "../backoff.js";
import { OffsetMismatchError } from "../errors.js";
import type { RecordRegion } from "../record-region.js";
import type { Batch } from "./batch.js";
import { BatchQueue } from "./batch-queue.js";
import type { Abortable } from "./callers.js";
import { Flight } from "./flight.js";
import { Gathering, type GatheringSettings } from "./gathering.js";
import { deliveryTimeout, notAlone, outcomeOf, outcomeUnknown } from "./outcome.js";
import type { Payload, SentRecord } from "./producer-options.js";
import type { LogEnds, SoleWriter } from "./sole-writer.js";

export interface LaneSettings extends GatheringSettings {
  readonly requestsInFlight: number;
}

export interface LaneOwner {
  /** A batch was closed. */
  closed(lane: Lane): void;
  /** There may be something to send. */
  wake(lane: Lane): void;
  /** The log's end is wanted; {@link Lane.found} takes it. */
  ask(lane: Lane): void;
  /** Whether the log has the first `count` records of the region from `offset` on, as far as it can be read. Rejects when the link fails. */
  compare(lane: Lane, offset: number, region: RecordRegion, count: number): Promise<boolean>;
  /** Where the lane's log ends now; undefined: it cannot be asked. It does not reject. */
  endOf(lane: Lane): Promise<Offset | undefined>;
  /** Records were settled, or given up. */
  left(cost: number, callers: number): void;
}

export class Lane {
  private readonly gathering: Gathering;
  private readonly queue = new BatchQueue();
  private readonly flight: Flight;
  private cancelPause: (() => void) | undefined;
  private isAsking = false;
  /** A repetition was refused because of its offset: the log's end says why. */
  private mustLook = false;
  private fatal: MillraceError | undefined;
  /** Were refused where they were to stand; where the log ends instead is being asked. */
  private readonly misplaced = new Set<Batch>();

  constructor(
    readonly topic: string,
    readonly partition: PartitionId,
    private readonly settings: LaneSettings,
    private readonly backoff: Backoff,
    private readonly owner: LaneOwner,
    /** Only where this producer is the only writer. */
    private readonly writer: SoleWriter | undefined,
  ) {
    this.gathering = new Gathering(topic, partition, settings, (batch) => this.gathered(batch));
    this.flight = new Flight(settings.requestsInFlight);
  }

  /** All batches that are not settled. */
  get batches(): readonly Batch[] {
    return [...this.misplaced, ...this.flight.batches, ...this.queue];
  }

  /** Closes the batch when a record of so many bytes does not fit beside what is there. Comes before {@link append}. */
  makeRoom(payloadBytes: number): void {
    this.gathering.makeRoom(payloadBytes);
  }

  /** `deadline`: until when it may wait, of one that has waited before. */
  append(record: Payload, bytes: number, abortable: Abortable | undefined, deadline?: number): Promise<SentRecord> {
    return this.gathering.append(record, bytes, abortable, deadline);
  }

  /** A batch that a call brought. What was gathered before goes before it. */
  push(batch: Batch): void {
    this.gathering.close();
    this.enqueue(batch);
  }

  /** Closes what is being gathered. */
  close(): void {
    this.gathering.close();
  }

  private gathered(batch: Batch): void {
    const { last } = this.queue;
    const { accumulator, batchRecords, spares } = this.settings;
    this.owner.closed(this);
    if (last?.mayTake(batch, accumulator.batchBytes, batchRecords)) {
      last.take(batch);
      spares.giveBack(batch.reclaim());
    } else this.enqueue(batch);
  }

  private enqueue(batch: Batch): void {
    if (this.fatal !== undefined) {
      this.rejected(batch, this.fatal);
      return;
    }
    this.queue.push(batch);
    this.owner.wake(this);
  }

  /** Whether {@link takeOff} may give something. */
  get maySend(): boolean {
    const { first } = this.queue;
    return first !== undefined && !this.isAsking && this.cancelPause === undefined && this.flight.mayTake(first);
  }

  /** The next batch, which is in flight now. {@link accepted} or {@link failed} tells what became of it. */
  takeOff(): Batch | undefined {
    while (this.maySend) {
      const batch = this.queue.first as Batch;
      if (!batch.hasLeft) this.dropAborted(batch);
      if (batch.callers === 0) {
        this.queue.shift();
        this.rejected(batch, undefined);
        continue;
      }
      const claim = this.writer === undefined ? demand(batch) : this.writer.claim(batch, this.flight.isEmpty);
      if (claim === "ask") this.ask();
      if (claim === "ask" || claim === "wait") return undefined;
      this.queue.shift();
      if (claim instanceof MillraceError) {
        this.rejected(batch, claim);
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
    this.resolved(batch, base);
    this.landed();
  }

  /** Its request failed. */
  failed(batch: Batch, error: MillraceError): void {
    batch.error = error;
    const { writer } = this;
    if (error.code === "OFFSET_MISMATCH" && writer !== undefined) this.missed(batch, writer);
    else {
      const outcome = outcomeOf(error);
      if (outcome === "for now") this.flight.comesBack(batch);
      else if (outcome === "unknown") this.unknown(batch, error);
      else this.refused(batch, error);
    }
    writer?.broken();
    this.landed();
  }

  /** The log did not end where the only writer expected it. */
  private missed(batch: Batch, writer: SoleWriter): void {
    if (writer.isExpectedToMiss || batch.isUncertain) {
      if (!writer.isExpectedToMiss) this.mustLook = true;
      this.flight.comesBack(batch);
      return;
    }
    const { topic, partition } = this;
    this.flight.ended(batch);
    this.poison(notAlone(topic, partition, `it does not end at ${batch.expected}`), batch);
  }

  private unknown(batch: Batch, error: MillraceError): void {
    if (this.writer !== undefined) {
      batch.isUncertain = true;
      this.flight.comesBack(batch);
      return;
    }
    this.flight.ended(batch);
    this.rejectOvertakenBy(batch);
    this.rejected(batch, outcomeUnknown(this.topic, this.partition, error));
  }

  private refused(batch: Batch, error: MillraceError): void {
    this.flight.ended(batch);
    if (batch.isUncertain) {
      this.rejected(batch, outcomeUnknown(this.topic, this.partition, error));
      this.giveUpDoubts(error);
    } else if (error.code === "OFFSET_MISMATCH" && batch.demanded !== undefined) {
      void this.rejectMisplaced(batch, batch.demanded);
    } else {
      this.rejected(batch, error);
      if (error.code !== "STORAGE_FAILURE") return;
      // A barrier that failed says nothing of what is in the log.
      this.writer?.forget();
      this.rejectOvertakenBy(batch);
    }
  }

  /** Whoever demanded a place learns which one it would have been. */
  private async rejectMisplaced(batch: Batch, demanded: number): Promise<void> {
    this.misplaced.add(batch);
    const end = await this.owner.endOf(this);
    this.misplaced.delete(batch);
    this.rejected(batch, new OffsetMismatchError(this.topic, this.partition, offset(demanded), end));
  }

  /** What came back, and would stand behind something that was sent after it. */
  private rejectOvertakenBy(batch: Batch): void {
    for (const each of this.flight.overtakenBy(batch)) this.rejected(each, each.error);
  }

  /** When nothing is in flight any more, what came back waits again, in front. */
  private landed(): void {
    if (this.flight.isEmpty) this.writer?.landed();
    const back = this.flight.landed();
    if (back.length > 0) {
      this.queue.putBack(back);
      if (this.fatal !== undefined) this.rejectWaiting(this.fatal);
      else if (this.mustLook) this.ask();
      // A link that was lost has pauses of its own.
      else if (!back.every(({ isUncertain }) => isUncertain)) this.pause();
      this.mustLook = false;
    }
    this.owner.wake(this);
  }

  private pause(): void {
    this.cancelPause?.();
    this.cancelPause = this.settings.accumulator.timers.after(this.backoff.next(), () => {
      this.cancelPause = undefined;
      this.owner.wake(this);
    });
  }

  private endPause(): void {
    this.cancelPause?.();
    this.cancelPause = undefined;
  }

  private ask(): void {
    this.isAsking = true;
    this.owner.ask(this);
  }

  /** Where the log ends; undefined when it could not be asked: whoever still wants to know asks again. */
  found(ends: LogEnds | undefined): void {
    const { writer } = this;
    if (ends !== undefined && writer?.isKnown && this.queue.first?.isUncertain) {
      void this.resolveDoubts(writer, ends).finally(() => this.looked());
      return;
    }
    if (ends !== undefined && !writer?.isKnown) writer?.begin(ends);
    this.looked();
  }

  private looked(): void {
    this.isAsking = false;
    this.owner.wake(this);
  }

  /** Whether what was in doubt is in the log: by the log's end, and by the records there, as somebody else may have written them. */
  private async resolveDoubts(writer: SoleWriter, ends: LogEnds): Promise<void> {
    for (let { first } = this.queue; first?.isUncertain; first = this.queue.first) {
      const found = writer.found(first, ends);
      if (found instanceof MillraceError) {
        this.poison(found);
        return;
      }
      if (found === "not yet" || found === 0) {
        this.pause();
        return;
      }
      const from = writer.acknowledgedEnd;
      const isSame = await this.owner.compare(this, from, first.region, found).catch(() => "not known" as const);
      // What has waited too long was given up meanwhile, or the link was lost: the repetition shows it again.
      if (isSame === "not known" || this.queue.first !== first || this.fatal !== undefined) return;
      if (!isSame) {
        this.queue.shift();
        this.poison(notAlone(this.topic, this.partition, `at offset ${from} stands another record`), first);
        return;
      }
      if (!writer.keep(first, found)) return;
      this.queue.shift();
      this.resolved(first, writer.acknowledgedEnd - first.region.records);
    }
    // If the log goes on all the same, the next request finds out that this producer is not alone.
  }

  /** Rejects what may not wait any longer; `trouble`: why there is no link. */
  expire(now: number, trouble: MillraceError | undefined): void {
    const { topic, partition, queue, settings } = this;
    for (let { first } = queue; first !== undefined && first.deadline <= now; first = queue.first) {
      const timeout = deliveryTimeout(`${topic}-${partition}`, settings.deliveryTimeoutMs, first.error ?? trouble);
      if (first.isUncertain) this.giveUpDoubts(first.error ?? timeout);
      else this.rejected(queue.shift() as Batch, timeout);
    }
    // The pause was for what was refused. What comes now may be gone before it is over, and would never have been tried.
    if (queue.first === undefined) this.endPause();
  }

  /** Of what is in doubt nobody will know: where those behind the first of them should stand is not known either. */
  private giveUpDoubts(cause: MillraceError): void {
    this.writer?.forget();
    while (this.queue.first?.isUncertain) {
      this.rejected(this.queue.shift() as Batch, outcomeUnknown(this.topic, this.partition, cause));
    }
  }

  /** Rejects everything that waits for its turn. */
  rejectWaiting(error: MillraceError): void {
    if (this.queue.first?.isUncertain) this.giveUpDoubts(error);
    for (const batch of this.queue.clear()) this.rejected(batch, error);
  }

  /** Nothing more is written here, and what comes is rejected with this. */
  poison(error: MillraceError, first?: Batch): void {
    this.fatal ??= error;
    if (first !== undefined) this.rejected(first, error);
    this.endPause();
    this.gathering.close();
    this.rejectWaiting(error);
  }

  private dropAborted(batch: Batch): void {
    const { cost, callers } = batch;
    batch.dropAborted();
    if (batch.callers < callers) this.owner.left(cost - batch.cost, callers - batch.callers);
  }

  private resolved(batch: Batch, base: number | undefined): void {
    this.owner.left(batch.cost, batch.callers);
    batch.resolve(base);
    this.settings.spares.giveBack(batch.reclaim());
  }

  private rejected(batch: Batch, error: unknown): void {
    this.owner.left(batch.cost, batch.callers);
    batch.reject(error);
    this.settings.spares.giveBack(batch.reclaim());
  }
}

/** Where there are other writers, a batch must stand somewhere only if its caller says so. */
function demand(batch: Batch): "go" {
  batch.expected = batch.demanded;
  return "go";
}
