// Runs one rung: a directory for it, the watch over its time, and an outcome whatever it does.

import { rm } from "node:fs/promises";
import { type Outcome, whereOf } from "./outcome.js";
import { type Part, type Product, type Rung, type RungResult, replayOf, type Stage } from "./rung.js";
import { makeWorkDir } from "./work-dir.js";

export interface RunOptions {
  readonly root: string;
  readonly product: Product;
  readonly seed: number;
  readonly rounds?: number;
  readonly seconds?: number;
  readonly part?: Part;
  readonly only?: string;
  /** Where directories for rungs are made. It is there. */
  readonly data: string;
  /** A rung that takes longer hangs. Undefined: it may take as long as it likes. */
  readonly limitSeconds?: number;
  readonly command: string;
  readonly now: () => Date;
  readonly say: (text: string) => void;
}

export async function runRung(rung: Rung, options: RunOptions): Promise<Outcome> {
  const { root, product, seed, rounds, seconds, part, only, say } = options;
  const directory = await makeWorkDir(options.data, rung.name);
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

/** How a failure begins that is not the product's. */
export const BROKE = "what it was tried on broke, which is no word about the product";

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
    const { losses, failures, counts } = result;
    const { proves } = rung;
    if (proves !== undefined && failures.length === 0 && losses === 0 && !counts[proves]) {
      return {
        ...result,
        skipped: [...result.skipped, { what: rung.name, why: `too short: 0 ${proves}, so nothing was compared` }],
      };
    }
    // A loss is a failure, also for a rung that only counted it.
    return losses > 0 && failures.length === 0 ? { ...result, failures: failed(`${losses} losses`).failures } : result;
  } catch (error) {
    const what = String(error instanceof Error ? (error.stack ?? error.message) : error);
    if (!isOfStand(error)) return failed(what);
    const { failures } = failed(`${BROKE}: ${what}`);
    return { ...nothing, failures: failures.map((failure) => ({ ...failure, ofStand: true })) };
  } finally {
    clearTimeout(timer);
  }
}

/** No room, no rights, no more descriptors for the rung's own files: what the product meets it says in its own words. */
const STAND_CODES: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EMFILE", "ENFILE", "EACCES"]);

const isOfStand = (error: unknown): boolean =>
  error instanceof Error &&
  error.name === "Error" &&
  "syscall" in error &&
  STAND_CODES.has((error as NodeJS.ErrnoException).code);
