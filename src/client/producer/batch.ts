// Records of one partition that go out in one request, and who waits for them. It knows nothing of when it is sent.

import type { MillraceError } from "../../model/errors.js";
import type { PartitionId } from "../../model/ids.js";
import { invariant } from "../../model/invariant.js";
import { PRODUCER_RECORD_OVERHEAD_BYTES } from "../../model/limits.js";
import { RegionBuilder } from "../record-region.js";
import { type Abortable, Callers } from "./callers.js";
import type { SentBatch, SentRecord } from "./producer-options.js";

const SIZE_BYTES = 4;

/** What records with so many callers count, whose region has so many bytes. */
export const costOf = (regionBytes: number, callers: number): number =>
  regionBytes + callers * PRODUCER_RECORD_OVERHEAD_BYTES;

export class Batch {
  /** What the request that carries it asks for. */
  expected: number | undefined;
  /** It was sent, and whether it was carried out is not known. Only where that can be found out. */
  isUncertain = false;
  /** It left at least once: what is in it stays as it is. */
  hasLeft = false;
  /** Which one of its partition it was when it left the last time: a larger number stands behind it. */
  departure = 0;
  /** What became of it the last time. */
  error: MillraceError | undefined;
  /** Until when it may wait to be sent. */
  deadline = Number.POSITIVE_INFINITY;
  /** What it counts towards the bound on what is queued. */
  cost = 0;
  private builder: RegionBuilder | undefined;
  private readonly first: Callers;
  /** Those of batches that it has taken, behind its own. */
  private others: Callers[] = [];
  private isWhole = false;
  /** Records at its beginning that are in the log already. */
  private kept = 0;
  private onSettled: (() => void)[] = [];

  constructor(
    topic: string,
    partition: PartitionId,
    /** Where its caller says that it must stand. */
    readonly demanded?: number,
  ) {
    this.first = new Callers(topic, partition);
  }

  /** The caller of the record that is appended now. */
  add(abortable: Abortable | undefined): Promise<SentRecord> {
    return this.first.add(abortable);
  }

  /** A call brought all of it: it stays one request, and is answered once. */
  whole(records: number, abortable: Abortable | undefined): Promise<SentBatch> {
    this.isWhole = true;
    return this.first.all(records, abortable);
  }

  /** Nothing more is added: these are its records. */
  close(region: RegionBuilder, deadline: number): void {
    this.builder = region;
    this.deadline = deadline;
    this.cost = costOf(region.length, this.callers);
  }

  /** What is still to be written. */
  get region(): RegionBuilder {
    invariant(this.builder !== undefined, "a batch is sent after it was closed and before it is settled");
    return this.builder;
  }

  get callers(): number {
    return this.others.reduce((sum, { left }) => sum + left, this.first.left);
  }

  /** Its memory, when nobody needs it any more. */
  reclaim(): RegionBuilder | undefined {
    const { builder } = this;
    this.builder = undefined;
    builder?.clear();
    return builder;
  }

  /** Whether the records of another one may go out behind this one's in the same request. */
  mayTake(other: Batch, bytesMax: number, recordsMax: number): boolean {
    if (this.hasLeft || this.isWhole || other.isWhole) return false;
    if (this.region.records + other.region.records > recordsMax) return false;
    return this.region.length + other.region.length <= bytesMax;
  }

  take(other: Batch): void {
    this.region.appendRegion(other.region);
    this.cost += other.cost;
    this.deadline = Math.min(this.deadline, other.deadline);
    this.others.push(other.first, ...other.others);
    this.onSettled.push(...other.onSettled);
  }

  /** Takes out what was given up since it was last called. It has not left yet, and may have taken others in between. */
  dropAborted(): void {
    const gone = new Set<number>();
    let before = 0;
    for (const callers of this.all()) {
      const { left } = callers;
      for (const place of callers.takeAborted()) gone.add(before + place);
      before += left;
    }
    if (gone.size === 0) return;
    const left = new RegionBuilder();
    if (!this.isWhole) this.appendOthers(left, gone);
    this.builder = left;
    this.cost = costOf(left.length, this.callers);
  }

  private appendOthers(to: RegionBuilder, gone: ReadonlySet<number>): void {
    const { bytes } = this.region;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0, record = 0; at < bytes.length; record++) {
      const end = at + SIZE_BYTES + view.getInt32(at);
      if (!gone.has(record)) to.append(bytes, at + SIZE_BYTES, end);
      at = end;
    }
  }

  /** Its first records are found to be in the log: the others are still to be written. */
  keep(records: number): void {
    const { bytes } = this.region;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    for (let i = 0; i < records; i++) at += SIZE_BYTES + view.getInt32(at);
    const left = new RegionBuilder();
    left.appendRegion({ records: this.region.records - records, bytes: bytes.subarray(at) });
    this.builder = left;
    this.kept += records;
  }

  /** What was still to be written stands from `base` on. Undefined: nobody says. */
  resolve(base: number | undefined): void {
    let from = base === undefined ? undefined : base - this.kept;
    for (const callers of this.all()) {
      callers.resolve(from);
      if (from !== undefined) from += callers.left;
    }
    this.settled();
  }

  reject(reason: unknown): void {
    for (const callers of this.all()) callers.reject(reason);
    this.settled();
  }

  /** Calls back when everybody has been told. */
  whenSettled(action: () => void): void {
    this.onSettled.push(action);
  }

  private all(): readonly Callers[] {
    return [this.first, ...this.others];
  }

  private settled(): void {
    for (const action of this.onSettled.splice(0)) action();
  }
}
