// How a run of a rung went, and where that is kept: .cache/faults/RUNG.json is the last run, .cache/faults/runs.jsonl has one line for each here, and
// faults/runs.jsonl one for each that docs/trust.md speaks of, wherever it was.

import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Environment, environment, LOCAL_CHANGES } from "../../bench/lib/environment.js";
import type { Failure, Skipped } from "./rung.js";

/** Of the environment what an oracle's word depends on. */
export type Where = Pick<Environment, "commit" | "kernel" | "fileSystem" | "mountOptions" | "node" | "cores">;

export interface Outcome {
  readonly rung: string;
  readonly date: string;
  readonly command: string;
  readonly seed: number;
  readonly took: number;
  readonly where: Where;
  readonly counts: Readonly<Record<string, number>>;
  readonly losses: number;
  readonly failures: readonly Failure[];
  readonly skipped: readonly Skipped[];
  readonly notes: readonly string[];
  /** So many runs added up, where only their sum was kept; `seed` is the last one's. Else it is one. */
  readonly runs?: number;
}

export async function whereOf(directory: string, root: string): Promise<Where> {
  const { commit, kernel, fileSystem, mountOptions, node, cores } = await environment(directory, root);
  return { commit, kernel, fileSystem, mountOptions, node, cores };
}

const directoryOf = (root: string): string => join(root, ".cache", "faults");

export async function writeOutcome(root: string, outcome: Outcome): Promise<void> {
  const directory = directoryOf(root);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${outcome.rung}.json`), `${JSON.stringify(outcome, null, 2)}\n`);
  await appendFile(join(directory, "runs.jsonl"), `${JSON.stringify(outcome)}\n`);
}

/**
 * Adds the runs of this checkout to those that were kept, and gives all of them, oldest first. Not those on files that nobody else has: they show nobody
 * anything.
 */
export async function keepOutcomes(root: string): Promise<Outcome[]> {
  const kept = join(root, "faults", "runs.jsonl");
  const here = (await readLines(join(directoryOf(root), "runs.jsonl")))
    .filter(({ where }) => !where.commit.includes(LOCAL_CHANGES))
    .map((outcome) => withoutThisMachine(outcome, root));
  const all = [...(await readLines(kept)), ...here].map((outcome) => JSON.stringify(outcome));
  const lines = [...new Set(all)].map((line) => JSON.parse(line) as Outcome);
  lines.sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0));
  await writeFile(kept, lines.map((outcome) => `${JSON.stringify(outcome)}\n`).join(""));
  return lines;
}

/** What a failure said is in the list of bugs, in words that need no paths. */
function withoutThisMachine(outcome: Outcome, root: string): Outcome {
  const command = outcome.command.replace(/ --(dir|product)[ =]\S+/g, "");
  const failures = outcome.failures.map(({ replay }) => ({ what: "see faults/bugs.md", replay }));
  const skipped = outcome.skipped.map(({ what, why }) => ({ what, why: why.replaceAll(root, "…") }));
  return { ...outcome, command, failures, skipped };
}

async function readLines(path: string): Promise<Outcome[]> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Outcome);
}
