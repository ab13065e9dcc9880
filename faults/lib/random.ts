// Random choices that a seed replays, the same on every machine. Small, and good enough to choose moments and bytes by.

export class Random {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = seed | 0;
  }

  /** In [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    const state = this.#state;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  /** A whole number in [from, below). */
  int(from: number, below: number): number {
    return from + Math.floor(this.next() * (below - from));
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error("nothing to pick from");
    return from[this.int(0, from.length)];
  }

  shuffled<T>(all: readonly T[]): T[] {
    const result = [...all];
    for (let at = result.length - 1; at > 0; at--) {
      const other = this.int(0, at + 1);
      [result[at], result[other]] = [result[other], result[at]];
    }
    return result;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; at++) bytes[at] = this.next() * 256;
    return bytes;
  }

  /** Often small, seldom large, in [from, below): for sizes and times whose order of magnitude matters. */
  skewed(from: number, below: number): number {
    return from + Math.floor((below - from) * this.next() ** 3);
  }

  /** Its own choices for a part of the run: what another part draws does not change them. */
  fork(label: string | number): Random {
    let hash = 0x811c9dc5 ^ this.seed;
    for (const char of String(label)) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
    return new Random(Math.imul(hash ^ (hash >>> 16), 0x45d9f3b));
  }
}

/** A seed for a run that was given none. */
export const freshSeed = (): number => (Math.random() * 0x7fffffff) | 0;
