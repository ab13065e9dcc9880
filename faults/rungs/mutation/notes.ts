// Which mutants were noticed, by what, for the page: of one run, and of all that were kept.

import type { RungResult } from "../../lib/rung.js";
import type { Mutant } from "./mutant.js";
import type { Tried } from "./mutation.js";

const HEAD = ["| safeguard | taken away | noticed by |", "|---|---|---|"];

const rowOf = ({ mutant: { safeguard, name, rung, covered }, noticed, seconds }: Tried): string =>
  `| ${safeguard} | ${name} | ${noticed === undefined ? `not noticed: ${covered ?? "nobody knows why"}` : `${rung}, after ${seconds} s`} |`;

export function notesOf(ran: readonly Tried[]): string[] {
  return ran.length === 0 ? [] : [...HEAD, ...ran.map(rowOf).sort()];
}

/** The last word on each mutant that there is today; those that no run has tried are named. */
export function notesOfAll(runs: readonly Pick<RungResult, "notes">[], mutants: readonly Mutant[]): string[] {
  const last = new Map<string, string>();
  for (const row of runs.flatMap(({ notes = [] }) => notes)) {
    const [, name] = /^\| [^|]+ \| ([^|]+) \| [^|]+ \|$/.exec(row) ?? [];
    if (name !== undefined) last.set(name, row);
  }
  const tried = mutants.filter(({ name }) => last.has(name));
  const silent = tried.filter(({ name }) => last.get(name)?.includes("| not noticed:"));
  const open = mutants.filter(({ name }) => !last.has(name)).map(({ name }) => name);
  return [
    `Of ${mutants.length} mutants ${tried.length} were tried: ${tried.length - silent.length} were noticed, and ${silent.length} cannot be on the systems at hand, each for a reason that stands below.`,
    ...(open.length === 0 ? [] : [`Not tried: ${open.join("; ")}.`]),
    "",
    ...HEAD,
    ...tried.map(({ name }) => last.get(name) ?? "").sort(),
  ];
}
