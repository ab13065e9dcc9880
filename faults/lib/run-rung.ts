// Runs one rung: a directory for it, the watch over its time, and an outcome whatever it does.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { refuseMemory } from "../../bench/lib/environment.js";
import { type Outcome, whereOf } from "./outcome.js";
import { type Part, type Product, type Rung, type RungResult, replayOf, type Stage } from "./rung.js";

export interface RunOptions {
  readonly root: string;
  readonly product: Product;
  readonly seed: number;
  readonly rounds?: number;
  readonly seconds?: number;
  readonly part?: Part;
  readonly only?: string;
  /** Where directories for rungs are made. */
  readonly data: string;
  /** A rung that takes longer hangs. Undefined: it may take as long as it likes. */
  readonly limitSeconds?: number;
  readonly command: string;
  readonly now: () => Date;
  readonly say: (text: string) => void;
}

export async function runRung(rung: Rung, options: RunOptions): Promise<Outcome> {
  const { root, product, seed, rounds, seconds, part, only, say } = options;
  const directory = join(options.data, rung.name);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await refuseMemory(directory);
  const began = performance.now();
  const progress = (text: string): void => say(`  ${text}`);
  const stage: Stage = { seed, rounds, seconds, part, only, directory, root, product, progress };
  const result = await resultOf(rung, options, () => rung.run(stage));
  // What a failure left is there to be looked at.
  if (result.failures.length === 0 && result.losses === 0) await rm(directory, { recursive: true, force: true });
  else say(`  kept ${directory}`);
  return {
    rung: rung.name,
    date: options.now().toISOString().slice(0, 16),
    command: options.command,
    seed,
    took: Math.round((performance.now() - began) / 100) / 10,
    where: await whereOf(options.data, root),
    ...result,
    notes: result.notes ?? [],
  };
}

const nothing: RungResult = { counts: {}, losses: 0, failures: [], skipped: [] };

async function resultOf(rung: Rung, options: RunOptions, run: () => Promise<RungResult>): Promise<RungResult> {
  const unfit = await rung.unfit();
  if (unfit !== undefined) return { ...nothing, skipped: [{ what: rung.name, why: unfit }] };
  const failed = (what: string): RungResult => ({
    ...nothing,
    failures: [{ what, replay: replayOf(rung.name, options) }],
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<RungResult>((resolve) => {
    const { limitSeconds } = options;
    if (limitSeconds === undefined) return;
    timer = setTimeout(() => resolve(failed(`it did not end in ${limitSeconds} s`)), limitSeconds * 1000);
  });
  try {
    const result = await Promise.race([run(), late]);
    const { losses, failures } = result;
    // A loss is a failure, also for a rung that only counted it.
    return losses > 0 && failures.length === 0 ? { ...result, failures: failed(`${losses} losses`).failures } : result;
  } catch (error) {
    return failed(String(error instanceof Error ? (error.stack ?? error.message) : error));
  } finally {
    clearTimeout(timer);
  }
}
