// `npm run faults [-- RUNG…]`: runs rungs one after the other, says with which seed, and ends with `N passed, N failed[, N skipped]`. Progress goes
// to stderr. Each run is kept in .cache/faults; --report makes docs/trust.md out of them.

import { existsSync } from "node:fs";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { UnfitStand } from "../bench/lib/environment.js";
import { endBySignals } from "../bench/lib/signals.js";
import { type Asked, parseArguments, UsageError, usage } from "./lib/arguments.js";
import { keepOutcomes, type Outcome, writeOutcome } from "./lib/outcome.js";
import { productOf } from "./lib/product.js";
import { trustPage } from "./lib/report.js";
import { type RunOptions, runRung } from "./lib/run-rung.js";
import { type Product, type Rung, replayOf } from "./lib/rung.js";
import { prepareData } from "./lib/work-dir.js";
import { rungs } from "./rungs.js";

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** With --ci a rung that takes longer hangs: three times what the longest may take. */
const CI_LIMIT_SECONDS = 900;

export async function main(root: string, argv: readonly string[], all: readonly Rung[] = rungs): Promise<number> {
  let asked: Asked;
  try {
    asked = parseArguments(argv, all);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    say(`${error.message}\n\n${usage(all)}`);
    return 2;
  }
  if (asked.help) {
    print(usage(all));
    return 0;
  }
  if (asked.list) {
    for (const line of await listed(all)) print(line);
    return 0;
  }
  const data = resolve(asked.directory ?? join(root, ".cache", "faults", "data"));
  const built = productOf(asked.product === undefined ? root : resolve(asked.product));
  try {
    if (!existsSync(join(built.dist, "broker.js"))) throw new UsageError(`no product: ${built.dist} has no broker.js`);
    await prepareData(data);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof UnfitStand)) throw error;
    say(error.message);
    return 2;
  }
  const outcomes = await runAll(root, argv, asked, built, data);
  if (asked.report) await writeReport(root, all);
  if (asked.rungs.length > 0 || !asked.report) print(summary(outcomes));
  return outcomes.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

const listed = (all: readonly Rung[]): Promise<string[]> =>
  Promise.all(
    all.map(async ({ name, title, unfit }) => {
      const why = await unfit();
      return `${name.padEnd(14)} ${title}${why === undefined ? "" : ` (not here: ${why})`}`;
    }),
  );

async function runAll(
  root: string,
  argv: readonly string[],
  asked: Asked,
  built: Product,
  data: string,
): Promise<Outcome[]> {
  const { seed, rounds, seconds, part, only, ci, product } = asked;
  const command = ["npm run faults --", ...argv].join(" ").replace(/ --$/, "");
  const options: RunOptions = {
    root,
    product: built,
    seed,
    rounds,
    seconds,
    part,
    only,
    data,
    limitSeconds: ci ? CI_LIMIT_SECONDS : undefined,
    command,
    now: () => new Date(),
    say,
  };
  const outcomes: Outcome[] = [];
  for (const rung of asked.rungs) {
    say(`\n${rung.name}: ${rung.title}\n  ${replayOf(rung.name, asked)}`);
    const outcome = await runRung(rung, options);
    for (const line of told(outcome)) say(`  ${line}`);
    outcomes.push(outcome);
    // What a broken build does is no word about this one.
    const ofStand = outcome.failures.length > 0 && outcome.failures.every((failure) => failure.ofStand === true);
    if (product === undefined && !ofStand) await writeOutcome(root, outcome);
  }
  return outcomes;
}

function told({ counts, losses, failures, skipped, took }: Outcome): string[] {
  const counted = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  return [
    ...skipped.map(({ what, why }) => `skipped: ${what}: ${why}`),
    ...failures.flatMap(({ what, replay }) => [`FAILED: ${what}`, `  ${replay}`]),
    `${[...counted, `${losses} losses`].join(", ")} in ${took} s`,
  ];
}

/** The line in which every run of tests of this project ends. A rung that ran and found nothing has passed. */
export function summary(outcomes: readonly Outcome[]): string {
  const ran = outcomes.filter(({ rung, skipped }) => !skipped.some(({ what }) => what === rung));
  const passed = ran.filter(({ failures }) => failures.length === 0).length;
  const failed = outcomes.reduce((sum, { failures }) => sum + failures.length, 0);
  const skipped = outcomes.reduce((sum, outcome) => sum + outcome.skipped.length, 0);
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

async function writeReport(root: string, all: readonly Rung[]): Promise<void> {
  const bugs = await readFile(join(root, "faults", "bugs.md"), "utf8");
  const path = join(root, "docs", "trust.md");
  const outcomes = await keepOutcomes(root);
  await writeFile(path, trustPage(all, outcomes, bugs));
  // The pictures that notes of rungs show lie beside the page.
  for (const picture of new Set(outcomes.flatMap(({ notes }) => notes.flatMap(picturesIn)))) {
    const drawn = join(root, ".cache", "faults", picture);
    if (existsSync(drawn)) await copyFile(drawn, join(root, "docs", picture));
    else say(`docs/${picture} stays as it is: the run that drew it was elsewhere`);
  }
  say("report: docs/trust.md");
}

const picturesIn = (line: string): string[] =>
  [...line.matchAll(/!\[[^\]]*\]\(([\w-]+\.svg)\)/g)].map(([, name]) => name);

/** Ends the process with 0, 1 (a failure) or 2 (usage). */
export async function runMain(root: string, argv: readonly string[]): Promise<void> {
  // By an exit, so that what runs for a rung ends with it (broker-process.ts).
  endBySignals();
  try {
    process.exitCode = await main(root, argv);
  } catch (error) {
    say(String(error instanceof Error ? error.stack : error));
    process.exitCode = 1;
  }
  // A rung that hung may have left timers and sockets.
  process.exit();
}
