// One question to the product, in one file of bench/. It describes cases; running them in turn, and everything that is written about
// them, is lib's.

import type { Case } from "./figures.js";
import type { Stand } from "./stand.js";

export interface Question {
  /** For `npm run bench NAME`. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** Calls `measure` with each of its cases; what a case needs (a server, a filled log) is there only that long. */
  readonly ask: (stand: Stand, measure: (one: Case) => Promise<void>) => Promise<void>;
}
