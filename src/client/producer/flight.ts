// Batches of one partition that are in flight together, and those of them that came back. None of them goes again before all have
// landed: one that is still up may be accepted, and what goes again would stand behind it. Answers need not come in the order of
// the batches: a connection brings them so, but a log in the process refuses one for want of room while one before it waits to be forced.

import type { Batch } from "./batch.js";

export class Flight {
  private readonly up: Batch[] = [];
  private departures = 0;
  /** Came back, in order. */
  private readonly back: Batch[] = [];
  /** The last flight came back: one batch at a time, until one is accepted. */
  private isProbing = false;

  constructor(private readonly max: number) {}

  get isEmpty(): boolean {
    return this.up.length === 0;
  }

  get batches(): readonly Batch[] {
    return [...this.up, ...this.back];
  }

  /** Whether another one may leave now. What is in doubt goes alone: its answer says what becomes of the others. */
  mayTake(next: Batch): boolean {
    if (this.back.length > 0) return false;
    const isAlone = this.isProbing || next.isUncertain || this.up.some(({ isUncertain }) => isUncertain);
    return this.up.length < (isAlone ? 1 : this.max);
  }

  take(batch: Batch): void {
    batch.departure = ++this.departures;
    this.up.push(batch);
  }

  /** It was accepted. */
  accepted(batch: Batch): void {
    this.ended(batch);
    this.isProbing = false;
  }

  /** It was answered, and is not sent again. */
  ended(batch: Batch): void {
    const at = this.up.indexOf(batch);
    if (at >= 0) this.up.splice(at, 1);
  }

  /** It is to be sent again. */
  comesBack(batch: Batch): void {
    this.ended(batch);
    const behind = this.back.findIndex(({ departure }) => departure > batch.departure);
    this.back.splice(behind < 0 ? this.back.length : behind, 0, batch);
  }

  /** This one was accepted, or may have been: those before it that came back cannot be sent again. */
  overtakenBy({ departure }: Batch): Batch[] {
    const behind = this.back.findIndex((each) => each.departure > departure);
    return this.back.splice(0, behind < 0 ? this.back.length : behind);
  }

  /** Those that go again, when nothing is up any more. */
  landed(): Batch[] {
    if (!this.isEmpty || this.back.length === 0) return [];
    this.isProbing = true;
    return this.back.splice(0);
  }
}
