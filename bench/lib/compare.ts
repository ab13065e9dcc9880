// Comparing sides fairly: they run in turn, A B A B, so that whatever the machine does meanwhile happens to all of them, and a ratio is
// taken between neighbours, never between a median of the morning and one of the evening. Pure but for what it calls.

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: number;
}

/** Of at least one value. */
export function spread(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError("a spread of nothing");
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1], samples: sorted.length };
}

/** Sample by sample: what was measured in the same round. */
export function pairRatios(values: readonly number[], base: readonly number[]): number[] {
  if (values.length !== base.length) {
    throw new RangeError(`sides with ${values.length} and ${base.length} samples cannot be paired`);
  }
  return values.map((value, round) => value / base[round]);
}

/**
 * Runs every side once for each round and resolves with the samples of each, in order. Every second round goes backwards (A B, B A, …):
 * otherwise one side would always find the machine as the same other one left it.
 */
export async function inTurn<T>(
  sides: readonly (() => Promise<T>)[],
  rounds: number,
  between: (side: number, round: number, sample: T) => void = () => undefined,
): Promise<T[][]> {
  const samples = sides.map((): T[] => []);
  for (let round = 0; round < rounds; round++) {
    const order = sides.map((_, index) => (round % 2 === 0 ? index : sides.length - 1 - index));
    for (const index of order) {
      const sample = await sides[index]();
      samples[index].push(sample);
      between(index, round, sample);
    }
  }
  return samples;
}
