// Invariants are stated where they are relied on. A broken one is a bug, never an operating failure:
// it throws here and nothing above catches it on purpose, so that the process ends instead of going on with wrong state.

export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Throws {@link InvariantError} unless `condition` holds. `what` says what must hold. */
export function invariant(condition: unknown, what: string): asserts condition {
  if (!condition) throw new InvariantError(`invariant broken: ${what}`);
}

/** For the default branch of a switch that the compiler has shown to be exhaustive. */
export function unreachable(value: never, what: string): never {
  throw new InvariantError(`invariant broken: ${what} (got ${String(value)})`);
}
