// Counts of whole numbers in buckets whose bounds are fixed: what is observed on the way of a request is two stores into typed
// arrays, and whoever shows it reads them when asked. Each power of two is cut into equal steps, so a bucket is found by a
// shift and not by a search, and a quantile is never off by more than a step.
//
//   bucket 0         value ≤ 2^min
//   bucket 1 … n     2^o + q·2^o/steps < value ≤ 2^o + (q+1)·2^o/steps     min ≤ o < max
//   the last one     value > 2^max

/** Microseconds, in quarters of a power of two: 16 µs to 67 s. */
export const LATENCY_BUCKETS: BucketShape = { minOctave: 4, maxOctave: 26, stepBits: 2 };

export interface BucketShape {
  readonly minOctave: number;
  readonly maxOctave: number;
  /** 2^stepBits buckets for each power of two; at most 2^minOctave. */
  readonly stepBits: number;
}

export class Histogram {
  readonly counts: Float64Array;
  /** Of all values. */
  sum = 0;
  private readonly low: number;
  private readonly high: number;
  private readonly minOctave: number;
  private readonly bits: number;
  private readonly mask: number;

  constructor({ minOctave, maxOctave, stepBits }: BucketShape = LATENCY_BUCKETS) {
    this.low = 2 ** minOctave;
    this.high = 2 ** maxOctave;
    this.minOctave = minOctave;
    this.bits = stepBits;
    this.mask = 2 ** stepBits - 1;
    this.counts = new Float64Array(((maxOctave - minOctave) << stepBits) + 2);
  }

  get stepsPerOctave(): number {
    return this.mask + 1;
  }

  get total(): number {
    let total = 0;
    for (const count of this.counts) total += count;
    return total;
  }

  /** A whole number; below 0 counts as 0. */
  observe(value: number): void {
    this.observeMany(value, 1);
  }

  /** The same value so many times. */
  observeMany(value: number, times: number): void {
    this.counts[this.bucketOf(value)] += times;
    if (value > 0) this.sum += value * times;
  }

  /** A time span in milliseconds, in a histogram of microseconds. Rounded up: a bucket's bound belongs to it. */
  observeMs(ms: number): void {
    this.observe(Math.ceil(ms * 1000));
  }

  bucketOf(value: number): number {
    if (value <= this.low) return 0;
    if (value > this.high) return this.counts.length - 1;
    const below = value - 1;
    const octave = 31 - Math.clz32(below);
    return 1 + ((octave - this.minOctave) << this.bits) + ((below >>> (octave - this.bits)) & this.mask);
  }

  /** The largest value that a bucket takes; of the last one, infinity. */
  boundOf(bucket: number): number {
    if (bucket === 0) return this.low;
    if (bucket === this.counts.length - 1) return Number.POSITIVE_INFINITY;
    const octave = this.minOctave + ((bucket - 1) >>> this.bits);
    return 2 ** octave * (1 + (((bucket - 1) & this.mask) + 1) / (this.mask + 1));
  }

  /**
   * The value below which a share `q` of what was counted since `before` lies, a copy of {@link counts} taken earlier; evenly
   * spread within a bucket. NaN when there was nothing.
   */
  quantileSince(before: Float64Array, q: number): number {
    const { counts } = this;
    let total = 0;
    for (let i = 0; i < counts.length; i++) total += counts[i] - before[i];
    if (total === 0) return Number.NaN;
    const rank = q * total;
    let seen = 0;
    let bucket = 0;
    for (; bucket < counts.length; bucket++) {
      const here = counts[bucket] - before[bucket];
      if (here > 0 && seen + here >= rank) break;
      seen += here;
    }
    const from = bucket === 0 ? 0 : this.boundOf(bucket - 1);
    // How far beyond the last bound nobody knows.
    if (bucket >= counts.length - 1) return this.high;
    const here = counts[bucket] - before[bucket];
    return from + ((this.boundOf(bucket) - from) * Math.max(0, rank - seen)) / here;
  }
}
