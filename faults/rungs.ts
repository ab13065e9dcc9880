// The rungs of the ladder, in the order in which they run.

import type { Rung } from "./lib/rung.js";

export const rungs: readonly Rung[] = [];
