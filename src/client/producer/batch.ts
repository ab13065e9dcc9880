// Records of one partition that go out in one request, and who waits for them. It knows nothing of when it is sent.

import type { MillraceError } from "../../model/errors.js";
import { offset, type PartitionId } from "../../model/ids.js";
import { invariant } from "../../model/invariant.js";
import { PRODUCER_RECORD_OVERHEAD_BYTES } from "../../model/limits.js";
import { RegionBuilder } from "../record-region.js";
import type { SentBatch, SentRecord } from "./producer-options.js";

/** What a call's promise is settled with; the kind of the batch says which of the two it takes. */
export type Resolve = (sent: SentRecord | SentBatch) => void;
export type Reject = (reason: unknown) => void;

/** Whether a caller has given its record up. */
export interface Abortable {
  aborted: boolean;
}

/** The offset of what is not acknowledged. */
const UNKNOWN_OFFSET = offset(-1);
const SIZE_BYTES = 4;

/** What records with so many callers count, whose region has so many bytes. */
export const costOf = (regionBytes: number, callers: number): number =>
  regionBytes + callers * PRODUCER_RECORD_OVERHEAD_BYTES;

export class Batch {
  /** Its callers: one for each record, or a single one for all of them. */
  private readonly resolves: Resolve[] = [];
  private readonly rejects: Reject[] = [];
  private abortables: Map<number, Abortable> | undefined;
  private onSettled: (() => void)[] | undefined;
  /** Records at its beginning that are in the log already. */
  private kept = 0;
  /** What the first request of it asked for, or all of them. */
  expected: number | undefined;
  /** It was sent, and whether it was carried out is not known. Only where that can be found out. */
  isUncertain = false;
  /** It left at least once: what is in it stays as it is. */
  hasLeft = false;
  /** What became of it the last time. */
  error: MillraceError | undefined;
  /** Until when it may wait to be sent. */
  deadline = Number.POSITIVE_INFINITY;
  /** What it counts towards the bound on what is queued. */
  cost = 0;
  private builder: RegionBuilder | undefined;

  constructor(
    readonly topic: string,
    readonly partition: PartitionId,
    /** A call brought all of it: it stays one request, and is answered once. */
    readonly isWhole: boolean,
    /** Where its caller says that it must stand. */
    readonly demanded?: number,
  ) {}

  /** Nothing more is added: these are its records. */
  close(region: RegionBuilder, deadline: number): void {
    this.builder = region;
    this.deadline = deadline;
    this.cost = costOf(region.length, this.resolves.length);
  }

  /** What is still to be written. */
  get region(): RegionBuilder {
    invariant(this.builder !== undefined, "a batch is sent after it was closed");
    return this.builder;
  }

  get callers(): number {
    return this.resolves.length;
  }

  /** Its memory, when nobody needs it any more. */
  reclaim(): RegionBuilder | undefined {
    const { builder } = this;
    this.builder = undefined;
    builder?.clear();
    return builder;
  }

  /** The caller of the record that was appended last, or of all. */
  add(resolve: Resolve, reject: Reject, abortable: Abortable | undefined): void {
    if (abortable !== undefined) {
      this.abortables ??= new Map();
      this.abortables.set(this.resolves.length, abortable);
    }
    this.resolves.push(resolve);
    this.rejects.push(reject);
  }

  /** Whether the records of another one may go out behind this one's in the same request. */
  mayTake(other: Batch, bytesMax: number, recordsMax: number): boolean {
    if (this.hasLeft || this.isWhole || other.isWhole) return false;
    if (this.callers + other.callers > recordsMax) return false;
    return this.region.length + other.region.length <= bytesMax;
  }

  take(other: Batch): void {
    for (const [at, abortable] of other.abortables ?? []) {
      this.abortables ??= new Map();
      this.abortables.set(this.resolves.length + at, abortable);
    }
    this.region.appendRegion(other.region);
    this.cost += other.cost;
    for (let i = 0; i < other.resolves.length; i++) {
      this.resolves.push(other.resolves[i]);
      this.rejects.push(other.rejects[i]);
    }
    if (other.onSettled !== undefined) this.onSettled = [...(this.onSettled ?? []), ...other.onSettled];
  }

  /** Takes out what was given up since. It has not left yet. */
  dropAborted(): void {
    const { abortables } = this;
    this.abortables = undefined;
    const gone = new Set([...(abortables ?? [])].flatMap(([at, { aborted }]) => (aborted ? [at] : [])));
    if (gone.size === 0) return;
    const { bytes } = this.region;
    const left = new RegionBuilder();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0, record = 0; at < bytes.length && !this.isWhole; record++) {
      const end = at + SIZE_BYTES + view.getInt32(at);
      if (!gone.has(record)) left.append(bytes, at + SIZE_BYTES, end);
      at = end;
    }
    this.builder = left;
    for (const calls of [this.resolves, this.rejects] as unknown[][]) {
      const kept = calls.filter((_, i) => !gone.has(i));
      calls.length = 0;
      for (const call of kept) calls.push(call);
    }
    this.cost = costOf(left.length, this.resolves.length);
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

  /** What is still to be written stands from `base` on. Undefined: nobody says. */
  resolve(base: number | undefined): void {
    const { topic, partition } = this;
    const first = base === undefined ? UNKNOWN_OFFSET : offset(base - this.kept);
    if (this.isWhole) {
      const nextOffset = base === undefined ? UNKNOWN_OFFSET : offset(base + this.region.records);
      this.resolves[0]({ topic, partition, baseOffset: first, nextOffset });
    } else {
      const step = base === undefined ? 0 : 1;
      const { resolves } = this;
      for (let i = 0; i < resolves.length; i++) resolves[i]({ topic, partition, offset: offset(first + i * step) });
    }
    this.settled();
  }

  reject(reason: unknown): void {
    for (const reject of this.rejects) reject(reason);
    this.settled();
  }

  /** Calls back when everybody has been told. */
  whenSettled(action: () => void): void {
    this.onSettled ??= [];
    this.onSettled.push(action);
  }

  private settled(): void {
    const actions = this.onSettled;
    this.onSettled = undefined;
    for (const action of actions ?? []) action();
  }
}
