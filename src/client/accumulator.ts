// The batch of one partition while it is being filled: closed by its size, or by the time since its first record. What a
// record is to its owner (a promise, a line number), the owner keeps.

import type { Timers } from "../model/clock.js";
import { RegionBuilder } from "./record-region.js";

export interface AccumulatorOptions {
  /** The batch is closed before its region has more bytes than this. One record may be larger. */
  readonly batchBytes: number;
  /** The batch is closed so long after its first record. */
  readonly lingerMs: number;
  readonly timers: Timers;
}

export class Accumulator {
  /** What is gathered. An owner that keeps it gives another in exchange. */
  region = new RegionBuilder();
  private cancel: (() => void) | undefined;

  constructor(
    private readonly options: AccumulatorOptions,
    /** Takes the region as a batch. The region is empty again when this has returned. */
    private readonly send: () => void,
  ) {}

  /** Closes the batch when a record of so many bytes does not fit beside what is there. Comes before {@link append}. */
  makeRoom(payloadBytes: number): void {
    if (this.region.length + RegionBuilder.cost(payloadBytes) > this.options.batchBytes) this.close();
  }

  /** Appends the record `[from, end)`; the first one of a batch starts its linger. */
  append(source: Uint8Array, from: number, end: number): void {
    this.begin();
    this.region.append(source, from, end);
    this.appended();
  }

  /** The same for text that takes so many bytes as UTF-8. */
  appendText(text: string, bytes: number): void {
    this.begin();
    this.region.appendText(text, bytes);
    this.appended();
  }

  private begin(): void {
    const { region, options } = this;
    if (region.records === 0) this.cancel = options.timers.after(options.lingerMs, () => this.close());
  }

  private appended(): void {
    if (this.region.length >= this.options.batchBytes) this.close();
  }

  /** Sends what is there. */
  close(): void {
    this.cancel?.();
    this.cancel = undefined;
    if (this.region.records === 0) return;
    this.send();
    this.region.clear();
  }
}
