// The rungs of the ladder, in the order in which they run.

import type { Rung } from "./lib/rung.js";
import { history } from "./rungs/history/history.js";
import { kill } from "./rungs/kill/kill.js";
import { powerCut } from "./rungs/power-cut/rung.js";

export const rungs: readonly Rung[] = [history, kill, powerCut];
