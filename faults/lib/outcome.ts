// How a run of a rung went, and where that is kept: .cache/faults/RUNG.json is the last run, .cache/faults/runs.jsonl has one line for each.

import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Environment, environment } from "../../bench/lib/environment.js";
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

/** All runs that were kept, oldest first. */
export async function readOutcomes(root: string): Promise<Outcome[]> {
  const text = await readFile(join(directoryOf(root), "runs.jsonl"), "utf8").catch(() => "");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Outcome);
}
