// How long to wait before the next try: twice as long each time, up to a bound, and never quite the same for two who failed at
// the same moment. It holds no timer.

export class Backoff {
  private failures = 0;

  constructor(
    private readonly minMs: number,
    private readonly maxMs: number,
    /** In [0, 1). */
    private readonly random: () => number,
  ) {}

  /** Another failure: how many milliseconds to wait now. */
  next(): number {
    const whole = Math.min(this.minMs * 2 ** this.failures++, this.maxMs);
    return whole * (0.5 + this.random() / 2);
  }

  /** It worked. */
  reset(): void {
    this.failures = 0;
  }
}
