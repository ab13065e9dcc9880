export interface PopulateBudget {
  /** Asks for a window of `wanted` instead of `held` bytes; returns what is granted, at least `min(held, wanted)`. */
  change(held: number, wanted: number): number;
}
