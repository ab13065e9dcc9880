// The order of cases that are too many for most runs: some of everything first, and the same for the same seed.

interface Drawn {
  /** Of its own choices, by what it is; and its place in the order. */
  readonly random: { readonly seed: number };
}

const bySeed = (a: Drawn, b: Drawn): number => a.random.seed - b.random.seed;

/**
 * One of each group, then the next one of each: a run that ends early has seen some of everything, also where a machine is slow or a group is small. By
 * what each is, not by its place in the list: what depends on times makes some cases more or less from run to run, and the others must stay about
 * where they are.
 */
export function inTurns<T extends Drawn>(groups: readonly (readonly T[])[]): T[] {
  const turns: T[][] = [];
  for (const group of groups) {
    for (const [at, each] of group.toSorted(bySeed).entries()) {
      if (at === turns.length) turns.push([]);
      turns[at].push(each);
    }
  }
  return turns.flatMap((turn) => turn.sort(bySeed));
}
