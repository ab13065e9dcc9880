// One partition's batches on their way, and how far its input was acknowledged. Answers come in the order of the batches, so
// one line number says it all until something fails.

import { Accumulator, type AccumulatorOptions } from "../../client/accumulator.js";
import type { RecordRegion } from "../../client/record-region.js";

/** Input lines from `first` to `last` that one batch took records from. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

export interface Batch extends LineRange {
  readonly lane: Lane;
  readonly region: RecordRegion;
}

/** What is known of a batch that was not acknowledged. */
export type Missing = "refused" | "unknown";

export interface MissingRange extends LineRange {
  readonly missing: Missing;
}

export class Lane {
  /** Records that the broker acknowledged. */
  acknowledged = 0;
  /** Everything of this partition up to this input line was acknowledged. 0: nothing. */
  acknowledgedLine = 0;
  /** What was sent and not acknowledged. */
  readonly missing: MissingRange[] = [];
  private readonly accumulator: Accumulator;
  private firstLine = 0;
  private lastLine = 0;
  private lastFailed = false;

  constructor(
    readonly partition: number,
    options: AccumulatorOptions,
    send: (batch: Batch) => void,
  ) {
    this.accumulator = new Accumulator(options, () =>
      send({ lane: this, region: this.accumulator.region, first: this.firstLine, last: this.lastLine }),
    );
  }

  /** Sends what is there when a record of so many bytes does not fit beside it. Comes before {@link append}. */
  makeRoom(payloadBytes: number): void {
    this.accumulator.makeRoom(payloadBytes);
  }

  append(bytes: Uint8Array, from: number, end: number, line: number): void {
    const { accumulator } = this;
    if (accumulator.region.records === 0) this.firstLine = line;
    this.lastLine = line;
    accumulator.append(bytes, from, end);
  }

  /** Sends what waits for more. */
  close(): void {
    this.accumulator.close();
  }

  batchAcknowledged({ last }: LineRange, records: number): void {
    this.acknowledged += records;
    if (this.missing.length === 0) this.acknowledgedLine = last;
    this.lastFailed = false;
  }

  batchFailed({ first, last }: LineRange, missing: Missing): void {
    const before = this.lastFailed ? this.missing.at(-1) : undefined;
    this.lastFailed = true;
    // A thousand batches that were lost together are one range for whoever reads about it.
    if (before?.missing === missing) this.missing[this.missing.length - 1] = { first: before.first, last, missing };
    else this.missing.push({ first, last, missing });
  }
}
