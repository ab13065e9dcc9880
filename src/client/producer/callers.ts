// Who waits for records that were gathered together, and what each of them is told.
//
// A record's promise is derived from one that all of them share: `then` calls back in the order in which it was called, so the
// n-th call is about the n-th record. A promise with functions of its own for each record would take twice the memory, and most
// of what a record costs is the memory that outlives a collection while it waits.

import { offset, type PartitionId } from "../../model/ids.js";
import type { SentBatch, SentRecord } from "./producer-options.js";

/** Whether a caller has given its record up. */
export interface Abortable {
  aborted: boolean;
}

/** The offset of what nobody acknowledges. */
const NOT_TOLD = -1;

export class Callers {
  /** How many there are. */
  count = 0;
  private readonly shared: Promise<number>;
  private settle!: (base: number) => void;
  private fail!: (reason: unknown) => void;
  /** How many have been told. */
  private told = 0;
  /** How many of those had given up. */
  private skipped = 0;
  private gone: Set<number> | undefined;
  private abortables: Map<number, Abortable> | undefined;

  constructor(
    private readonly topic: string,
    private readonly partition: PartitionId,
  ) {
    this.shared = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.fail = reject;
    });
  }

  /** The promise of the next record. */
  add(abortable: Abortable | undefined): Promise<SentRecord> {
    if (abortable !== undefined) {
      this.abortables ??= new Map();
      this.abortables.set(this.count, abortable);
    }
    this.count++;
    return this.shared.then(this.tellNext);
  }

  /** The promise of all records together; their number. */
  all(records: number, abortable: Abortable | undefined): Promise<SentBatch> {
    if (abortable !== undefined) this.abortables = new Map([[0, abortable]]);
    this.count = 1;
    return this.shared.then((base) => {
      const { topic, partition } = this;
      const next = base === NOT_TOLD ? NOT_TOLD : base + records;
      return { topic, partition, baseOffset: offset(base), nextOffset: offset(next) };
    });
  }

  /** Who has given up since it was last asked: their places among those who were left then. */
  takeAborted(): number[] {
    const { abortables, gone, count } = this;
    if (abortables === undefined) return [];
    const places: number[] = [];
    const stillGone = new Set(gone);
    for (let at = 0, place = 0; at < count; at++) {
      if (gone?.has(at)) continue;
      if (abortables.get(at)?.aborted) {
        stillGone.add(at);
        places.push(place);
      }
      place++;
    }
    if (places.length > 0) this.gone = stillGone;
    return places;
  }

  /** How many of them are still waited for. */
  get left(): number {
    return this.count - (this.gone?.size ?? 0);
  }

  /** Their records stand from `base` on; undefined where nobody acknowledges. */
  resolve(base: number | undefined): void {
    this.settle(base ?? NOT_TOLD);
  }

  reject(reason: unknown): void {
    // Of those who have given up nobody looks at it.
    if (this.count > 0) this.fail(reason);
  }

  private readonly tellNext = (base: number): SentRecord => {
    const at = this.told++;
    const { topic, partition, gone } = this;
    if (base === NOT_TOLD) return { topic, partition, offset: offset(NOT_TOLD) };
    if (gone?.has(at)) this.skipped++;
    return { topic, partition, offset: offset(base + at - this.skipped) };
  };
}
