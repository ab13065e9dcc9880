// docs/trust.md: what was tried to break the product, and what came of it, out of the runs that were kept.

import type { Outcome } from "./outcome.js";
import type { Rung } from "./rung.js";

const SEEDS_SHOWN = 8;

const number = (value: number): string => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, " ");

const unique = <T>(all: readonly T[]): T[] => [...new Set(all)];

/** Runs of one rung, added up. A run that failed says something about the product as it was then: the bugs tell. */
interface Sum {
  readonly runs: number;
  readonly failed: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly losses: number;
  readonly seconds: number;
}

function sumOf(outcomes: readonly Outcome[]): Sum {
  const green = outcomes.filter(judged);
  const counts = new Map<string, number>();
  for (const outcome of green) {
    for (const [what, count] of Object.entries(outcome.counts)) counts.set(what, (counts.get(what) ?? 0) + count);
  }
  return {
    runs: green.reduce((sum, { runs = 1 }) => sum + runs, 0),
    failed: outcomes.filter(({ failures }) => failures.length > 0).length,
    counts,
    losses: green.reduce((sum, { losses }) => sum + losses, 0),
    seconds: green.reduce((sum, { took }) => sum + took, 0),
  };
}

const hours = (seconds: number): string =>
  seconds < 5400 ? `${Math.max(1, Math.round(seconds / 60))} min` : `${(seconds / 3600).toFixed(1)} h`;

/** `first` come first; with `only` nothing else comes. */
function counted({ counts }: Sum, first: readonly string[] = [], only = false): string {
  const named = [...new Set([...first, ...(only && first.length > 0 ? [] : counts.keys())])];
  return (
    named.flatMap((what) => (counts.has(what) ? `${number(counts.get(what) ?? 0)} ${what}` : [])).join(", ") || "–"
  );
}

/** It ran, and its oracle had something to judge. */
const judged = ({ counts, failures, skipped, rung }: Outcome): boolean =>
  failures.length === 0 && Object.keys(counts).length > 0 && !skipped.some(({ what }) => what === rung);

function table(
  rungs: readonly Rung[],
  by: (rung: Rung) => readonly Outcome[],
  sums: ReadonlyMap<string, Sum>,
): string[] {
  const rows = rungs.map((rung) => {
    const sum = sums.get(rung.name)!;
    const ran = sum.runs === 0 ? "not run" : `${sum.runs} in ${hours(sum.seconds)}`;
    const cells = [
      `[${rung.name}](#${rung.name})`,
      ran,
      rung.notesOf?.(by(rung))[0] ?? counted(sum, rung.headline, true),
      sum.runs === 0 ? "" : sum.losses,
      sum.failed || "",
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| rung | runs that found nothing | tried in them | losses | runs that found something |",
    "|---|---|---|--:|--:|",
    ...rows,
  ];
}

function section(rung: Rung, outcomes: readonly Outcome[], sum: Sum): string[] {
  const green = outcomes.filter(judged);
  const last = green.at(-1);
  const seeds = unique(green.map(({ seed }) => seed));
  // Where it never ran, why not.
  const skipped = (last ?? outcomes.at(-1))?.skipped ?? [];
  const lines = [
    `## ${rung.name}`,
    "",
    `${rung.title[0].toUpperCase()}${rung.title.slice(1)}.`,
    "",
    rung.about.trim(),
    "",
  ];
  if (sum.runs > 0) {
    // What says it of all runs says it below.
    if (rung.notesOf === undefined) lines.push(`Tried: ${counted(sum, rung.headline)}. Losses: ${sum.losses}.`, "");
    const more = seeds.length > SEEDS_SHOWN ? `, and ${seeds.length - SEEDS_SHOWN} more` : "";
    lines.push(
      `Seeds, ${seeds.length} of them: ${seeds.slice(-SEEDS_SHOWN).join(", ")}${more}. The last run: \`${last?.command}\`.`,
      "",
    );
  }
  const notes = rung.notesOf?.(outcomes) ?? last?.notes ?? [];
  if (notes.length > 0) lines.push(...notes, "");
  if (skipped.length > 0) lines.push(...skipped.map(({ what, why }) => `- Skipped: ${what}: ${why}`), "");
  return lines;
}

/** The places of the runs: what was cut, on what. */
function places(outcomes: readonly Outcome[]): string {
  const ran = outcomes.filter(({ counts }) => Object.keys(counts).length > 0);
  const of = (value: (outcome: Outcome) => string): string => unique(ran.map(value)).join(", ");
  if (ran.length === 0) return "No runs were kept.";
  const commits = unique(ran.map(({ where }) => where.commit));
  const which = commits.length === 1 ? commits[0] : `${commits[0]} … ${commits.at(-1)}, ${commits.length} of them`;
  const cores = of(({ where }) => String(where.cores));
  const disk = of(({ where }) => `${where.fileSystem} (${where.mountOptions})`);
  const kernel = of(({ where }) => where.kernel);
  return `Commits ${which}; Linux ${kernel}; Node ${of(({ where }) => where.node)}; ${cores} cores; data on ${disk} unless a rung says otherwise.`;
}

export function trustPage(rungs: readonly Rung[], outcomes: readonly Outcome[], bugs: string): string {
  const by = (rung: Rung): Outcome[] => outcomes.filter((outcome) => outcome.rung === rung.name);
  const sums = new Map(rungs.map((rung) => [rung.name, sumOf(by(rung))]));
  const lines = [
    "# Trust",
    "",
    "<!-- Made by `npm run faults -- --report` out of the runs that were kept. Do not edit. -->",
    "",
    "What was done to break millrace, and what came of it. What is promised is in [promises.md](promises.md). Each rung below is a command,",
    "`npm run faults -- RUNG`; it prints its seed, and `--seed N` makes the same choices again, so far as they do not depend on when something happens. All of them run, bounded, in continuous",
    "integration, and for longer by hand. What is added up here are the runs that found nothing. What the others found in the product is in the",
    "[list of bugs](#bugs-that-it-found), each with the test that keeps it mended; what they found in the ladder itself was mended there.",
    "",
    places(outcomes),
    "",
    ...table(rungs, by, sums),
    "",
    ...rungs.flatMap((rung) => section(rung, by(rung), sums.get(rung.name)!)),
    "## Bugs that it found",
    "",
    bugs.replace(/<!--.*?-->\s*/s, "").trim(),
    "",
  ];
  return lines.join("\n");
}
