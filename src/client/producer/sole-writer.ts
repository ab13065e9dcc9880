// The offsets of a partition that has one writer: each request names the one that it must get. So a request that was carried out
// though its answer was lost is found out: repeated it is refused, and the log's end says how much of it is there. It sends nothing.
//
// Between a cut and the answer to the repetition a first copy may still arrive: a broker may have received it and not yet have
// come to it. That is harmless, whichever of the two is first. But it is why the log's end is looked at only after the repetition
// was refused: looked at before, it may be an end that the first copy is about to move.

import type { MillraceError } from "../../model/errors.js";
import { offset } from "../../model/ids.js";
import { OffsetMismatchError } from "../errors.js";
import type { Batch } from "./batch.js";
import { lostRecords } from "./outcome.js";

/** What becomes of the first batch that waits. `ask`: the log's end must be known first. */
export type Claim = "go" | "wait" | "ask" | MillraceError;

export interface LogEnds {
  readonly logEndOffset: number;
  readonly durableOffset: number;
}

export class SoleWriter {
  /** Where the log ends as far as answers said. Undefined: it must be asked. */
  private end: number | undefined;
  /** Where it will end when all that is in flight is accepted. */
  private next = 0;

  constructor(
    readonly topic: string,
    readonly partition: number,
    private readonly isForced: boolean,
  ) {}

  get isKnown(): boolean {
    return this.end !== undefined;
  }

  /** Up to where everything is acknowledged, or found. */
  get acknowledgedEnd(): number {
    return this.end ?? 0;
  }

  /** Where the next batch must stand. `isAlone`: nothing is in flight. */
  claim(batch: Batch, isAlone: boolean): Claim {
    if (this.end === undefined) return isAlone ? "ask" : "wait";
    const { demanded } = batch;
    if (demanded !== undefined && demanded !== this.next) {
      // What is in flight may be refused, and then it may be right.
      if (!isAlone) return "wait";
      return new OffsetMismatchError(this.topic, this.partition, offset(demanded), offset(this.next));
    }
    batch.expected = this.next;
    this.next += batch.region.records;
    return "go";
  }

  accepted(base: number, records: number): void {
    // A log in the process may answer the second of two before the first.
    this.end = Math.max(this.end ?? 0, base + records);
  }

  /** Nothing is in flight any more. */
  landed(): void {
    if (this.end !== undefined) this.next = this.end;
  }

  /** What was in doubt was given up: the log must be asked where it ends. */
  forget(): void {
    this.end = undefined;
  }

  /** A first look at the log, before anything is sent. */
  begin({ logEndOffset }: LogEnds): void {
    this.end = logEndOffset;
    this.next = logEndOffset;
  }

  /**
   * How many records of a batch the log has room for, going by its end, after the repetition of the batch was refused because of
   * its offset. `not yet`: they would not count, as they are not forced.
   */
  found(batch: Batch, { logEndOffset, durableOffset }: LogEnds): number | "not yet" | MillraceError {
    const from = this.acknowledgedEnd;
    if (logEndOffset < from) return lostRecords(this.topic, this.partition, logEndOffset, from);
    const found = Math.min(logEndOffset - from, batch.region.records);
    return this.isForced && durableOffset < from + found ? "not yet" : found;
  }

  /** So many of the batch are in the log. Whether that is all of it; if a crash tore it, the rest is still to be written. */
  keep(batch: Batch, records: number): boolean {
    const isAll = records === batch.region.records;
    if (!isAll) batch.keep(records);
    this.accepted(this.acknowledgedEnd, records);
    this.landed();
    return isAll;
  }
}
