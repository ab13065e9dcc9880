// The rungs of the ladder, in the order in which they run.

import type { Rung } from "./lib/rung.js";
import { addon } from "./rungs/addon/rung.js";
import { formatSweep } from "./rungs/format-sweep/format-sweep.js";
import { fullDisk } from "./rungs/full-disk/rung.js";
import { history } from "./rungs/history/history.js";
import { input } from "./rungs/input/rung.js";
import { kill } from "./rungs/kill/kill.js";
import { load } from "./rungs/load/rung.js";
import { mutationRung } from "./rungs/mutation/mutation.js";
import { powerCut } from "./rungs/power-cut/rung.js";
import { syscalls } from "./rungs/syscalls/rung.js";

// biome-ignore format: one a line
const breakers: readonly Rung[] = [
  formatSweep,
  history,
  kill,
  input,
  fullDisk,
  powerCut,
  syscalls,
  load,
  addon,
];

export const rungs: readonly Rung[] = [...breakers, mutationRung(breakers)];
