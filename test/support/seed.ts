// The seed of random tests: printed by each of them, replayed by MILLRACE_SEED=N.

/** MILLRACE_SEED, or a new one; `what` and the seed are printed, so that a failure can be replayed. */
export function printedSeed(what: string): number {
  const given = process.env.MILLRACE_SEED;
  const seed = given === undefined ? (Math.random() * 0x7fffffff) | 0 : Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error(`MILLRACE_SEED is not a whole number: ${given}`);
  process.stderr.write(`${what}: MILLRACE_SEED=${seed}\n`);
  return seed;
}

/** Numbers in [0, 1) from a seed (mulberry32): small, and the same on every machine. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
