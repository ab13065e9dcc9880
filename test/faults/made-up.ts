// A rung that is made up for a test of the harness, and what it is run with.

import { productOf } from "../../faults/lib/product.js";
import type { RunOptions } from "../../faults/lib/run-rung.js";
import type { Rung, RungResult, Stage } from "../../faults/lib/rung.js";
import { root } from "../rules/sources.js";

export const green: RungResult = { counts: { cuts: 12 }, losses: 0, failures: [], skipped: [] };

export const rung = (name: string, run: (stage: Stage) => Promise<RungResult>, unfit?: string): Rung => ({
  name,
  title: `Tries ${name}`,
  about: `What ${name} does.`,
  unfit: () => Promise.resolve(unfit),
  run,
});

export const options = (data: string, more: Partial<RunOptions> = {}): RunOptions => ({
  root,
  product: productOf(root),
  seed: 7,
  data,
  command: "npm run faults -- made-up",
  now: () => new Date("2026-11-30T12:00:00Z"),
  say: () => undefined,
  ...more,
});
