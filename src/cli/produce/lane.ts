// One partition's records on their way, and what became of their input lines. What is in the log is always the beginning of
// what this partition got: there is one request on its way and no more, so nothing behind a refused batch is accepted.

import { Accumulator, type AccumulatorOptions } from "../../client/accumulator.js";
import type { RegionBuilder } from "../../client/record-region.js";
import { type LineRange, Parcel } from "./parcel.js";

export interface LaneOptions extends AccumulatorOptions {
  /** A request carries one batch, or several that have not more bytes than this together. */
  readonly requestBytes: number;
  /**
   * Lines of other partitions may stand between those of one batch, because keys choose. Then a range of lines means those in
   * it that are this partition's, and two that follow each other are one. The same where all lines are this partition's.
   */
  readonly isScattered: boolean;
  /** Memory of requests that were answered, for those to come. Of all partitions: there may be thousands. */
  readonly spares: RegionBuilder[];
}

/** What is known of lines that were not acknowledged. */
export type Missing = "refused" | "unknown" | "not sent";

export interface MissingRange extends LineRange {
  readonly missing: Missing;
}

/** So many ranges may be kept before those that nobody asks for any more are looked for. */
const RANGES_SWEEP = 64;
const SPARES_MAX = 4;

export class Lane {
  /** Records that the broker acknowledged. */
  acknowledged = 0;
  /** Everything of this partition up to this input line was acknowledged. 0: nothing. */
  acknowledgedLine = 0;
  private readonly accumulator: Accumulator;
  private firstLine = 0;
  private lastLine = 0;
  private readonly queue: Parcel[] = [];
  private flying: Parcel | undefined;
  private flyingIs: Missing = "unknown";
  /** Closed when nothing was sent any more. */
  private dropped: LineRange[] = [];
  private stopped = false;
  private inLog: LineRange[] = [];
  private sweepAt = RANGES_SWEEP;

  constructor(
    readonly partition: number,
    private readonly options: LaneOptions,
    /** A batch of so many bytes was closed and waits in the queue. */
    private readonly closed: (lane: Lane, bytes: number) => void,
  ) {
    this.accumulator = new Accumulator(options, () => this.batchClosed());
  }

  /** Closes the batch when a record of so many bytes does not fit beside what is there. Comes before {@link append}. */
  makeRoom(payloadBytes: number): void {
    this.accumulator.makeRoom(payloadBytes);
  }

  append(bytes: Uint8Array, from: number, end: number, line: number): void {
    const { accumulator } = this;
    if (accumulator.region.records === 0) this.firstLine = line;
    this.lastLine = line;
    accumulator.append(bytes, from, end);
  }

  /** Closes the batch that waits for more. */
  close(): void {
    this.accumulator.close();
  }

  get isFlying(): boolean {
    return this.flying !== undefined;
  }

  /** What goes out now, to be followed by {@link landed}, {@link refused} or {@link repeated}. */
  takeOff(): Parcel | undefined {
    this.flying = this.queue.shift();
    this.flyingIs = "unknown";
    return this.flying;
  }

  /** What is on its way was acknowledged. `oldest` is the first input line that is not, of any partition. */
  landed(oldest: () => number): void {
    const parcel = this.flying;
    if (parcel === undefined) return;
    this.flying = undefined;
    this.acknowledged += parcel.region.records;
    for (const batch of parcel.batches) {
      this.acknowledgedLine = batch.last;
      this.remember(batch);
    }
    const { spares } = this.options;
    if (spares.length < SPARES_MAX) spares.push(parcel.reclaim());
    if (this.inLog.length < this.sweepAt) return;
    const from = oldest();
    this.inLog = this.inLog.filter(({ last }) => last > from);
    this.sweepAt = Math.max(RANGES_SWEEP, 2 * this.inLog.length);
  }

  /** It stays where it is, as what nothing comes behind. */
  refused(missing: Missing): void {
    this.flyingIs = missing;
  }

  /** It goes out again, a batch at a time: a smaller one may be taken. */
  repeated(): void {
    if (this.flying === undefined) return;
    this.queue.unshift(...this.flying.split());
    this.flying = undefined;
  }

  /** Nothing is sent any more. Says how many bytes and batches that lets go. */
  stop(): { readonly bytes: number; readonly batches: number } {
    const left = this.queue.splice(0);
    this.stopped = true;
    this.dropped = left.flatMap(({ batches }) => batches);
    return { bytes: left.reduce((sum, { length }) => sum + length, 0), batches: this.dropped.length };
  }

  /** What was read for this partition and not acknowledged, in order. */
  get missing(): MissingRange[] {
    const found: MissingRange[] = (this.flying?.batches ?? []).map((range) => ({ ...range, missing: this.flyingIs }));
    const unsent = [...this.queue.flatMap(({ batches }) => batches), ...this.dropped, ...this.open];
    for (const range of unsent) found.push({ ...range, missing: "not sent" });
    const joined: MissingRange[] = [];
    for (const { first, last, missing } of found) {
      const before = joined.at(-1);
      if (before?.missing === missing && this.joins(before, first)) {
        joined[joined.length - 1] = { first: before.first, last, missing };
      } else joined.push({ first, last, missing });
    }
    return joined;
  }

  /** The first input line that was not acknowledged, of those that came here. */
  get firstMissing(): number | undefined {
    const batch = this.flying?.batches[0] ?? this.queue[0]?.batches[0] ?? this.dropped[0] ?? this.open[0];
    return batch?.first;
  }

  /** Acknowledged lines from an input line on, in order. Good for lines that are not below the last `oldest`. */
  inLogFrom(line: number): LineRange[] {
    return this.inLog
      .filter(({ last }) => last >= line)
      .map(({ first, last }) => ({ first: Math.max(first, line), last }));
  }

  private get open(): LineRange[] {
    return this.accumulator.region.records === 0 ? [] : [{ first: this.firstLine, last: this.lastLine }];
  }

  private batchClosed(): void {
    const { region } = this.accumulator;
    const range = { first: this.firstLine, last: this.lastLine };
    if (this.stopped) {
      this.dropped.push(range);
      return;
    }
    let parcel = this.queue.at(-1);
    if (parcel === undefined || parcel.length + region.length > this.options.requestBytes) {
      parcel = new Parcel(this.options.spares.pop());
      this.queue.push(parcel);
    }
    parcel.add(region, range);
    this.closed(this, region.length);
  }

  private remember({ first, last }: LineRange): void {
    const before = this.inLog.at(-1);
    if (before !== undefined && this.joins(before, first)) {
      this.inLog[this.inLog.length - 1] = { first: before.first, last };
    } else this.inLog.push({ first, last });
  }

  /** Whether a range that begins at `first` and the one before it are one. */
  private joins(before: LineRange, first: number): boolean {
    return this.options.isScattered || before.last + 1 === first;
  }
}
