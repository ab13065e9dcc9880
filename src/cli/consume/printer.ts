// Batches to stdout, in the format that was asked for, until so many records are printed.

import type { RecordBatch } from "../../client/record-batch.js";
import type { Output } from "../output.js";
import type { Progress } from "../progress.js";
import type { Bookmark } from "./bookmark.js";
import type { Format } from "./format.js";

export class Printer {
  records = 0;
  bytes = 0;
  /** How many records there are to print, as far as that is known; 0: it is not. */
  private expected = 0;

  constructor(
    private readonly format: Format,
    private readonly output: Output,
    private readonly progress: Progress,
    private maxRecords: number,
    /** Keeps how far it was printed. */
    private readonly bookmark: Bookmark | undefined,
  ) {}

  /** So many records there are to print, if it may print so many. */
  expect(records: number): void {
    this.expected = Math.min(this.maxRecords, records);
  }

  /** Everything that may be printed is. */
  get isDone(): boolean {
    return this.records >= this.maxRecords;
  }

  /** Prints nothing more: whatever is there is whole records. */
  stop(): void {
    this.maxRecords = this.records;
  }

  /** Prints the records below the offset `end`. The batch is given back: what was printed of it was copied. */
  async print(batch: RecordBatch, end: number): Promise<void> {
    const { output, format, progress } = this;
    const count = Math.max(0, Math.min(batch.length, end - batch.baseOffset, this.maxRecords - this.records));
    let i = 0;
    for (; i < count && !this.isDone; i++) {
      format.print(output, batch, i);
      this.records++;
      if (output.isFull) await output.handOver();
    }
    if (i > 0) {
      this.bytes += batch.ranges[2 * i - 1];
      this.bookmark?.print(batch, i);
    }
    batch.release();
    progress.show(this.records, this.bytes, this.expected > 0 ? this.records / this.expected : undefined);
  }

  /** What was printed is written. */
  flush(): Promise<void> {
    return this.output.flush();
  }

  /** What was printed is written, and that it was is saved. */
  async end(): Promise<void> {
    try {
      await this.bookmark?.flush();
    } finally {
      // Also when nothing can be saved any more.
      await this.output.flush();
    }
  }
}
