// Results as JSON, one file for each run, never overwritten by another: the report is made from it, and so is whatever compares two runs later.

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RunResult, SectionResult } from "./report.js";

export function resultPath(directory: string, { environment }: Pick<RunResult, "environment">): string {
  return join(directory, `${environment.date.replaceAll(/[^0-9]/g, "")}-${process.pid}.json`);
}

export const writeResult = (path: string, result: RunResult): Promise<void> =>
  replace(path, `${JSON.stringify(result, undefined, 2)}\n`);

/** A file that was asked for, and is none of the bench's. */
export class NoResult extends Error {
  override readonly name = "NoResult";
}

/** Throws {@link NoResult}. */
export async function readResult(path: string): Promise<RunResult> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new NoResult(error.code === "ENOENT" ? `there is no ${path}` : `${path} cannot be read: ${error.code}`);
  });
  try {
    const result = JSON.parse(text) as RunResult;
    if (isResult(result)) return result;
  } catch {
    // no JSON
  }
  throw new NoResult(`${path} is not a result of this bench`);
}

const isResult = ({ environment, freshMemory, sections }: Partial<RunResult>): boolean =>
  [environment?.date, environment?.commit].every((fact) => typeof fact === "string") &&
  freshMemory !== undefined &&
  Array.isArray(sections) &&
  sections.every(({ name, cases }: Partial<SectionResult>) => typeof name === "string" && Array.isArray(cases));

/**
 * One result out of several runs. A later one's sections take the place of those of the same name, others are added in the order of
 * `names`; each says out of which run it is. Ratios stay honest: both of their sides are in one section.
 */
export function mergeResults(results: readonly RunResult[], names: readonly string[]): RunResult {
  const sections = new Map<string, SectionResult>();
  for (const result of results) {
    const { date, commit, load } = result.environment;
    for (const section of result.sections) {
      sections.set(section.name, { run: { date, commit, load, command: result.command }, ...section });
    }
  }
  const order = (name: string): number => (names.includes(name) ? names.indexOf(name) : names.length);
  const sorted = [...sections.values()].sort((a, b) => order(a.name) - order(b.name));
  const asked = [...new Set(results.flatMap((one) => one.asked ?? one.sections.map(({ name }) => name)))];
  return { ...results[0], quick: results.some(({ quick }) => quick), asked, sections: sorted };
}

/** Whole or not at all. */
export async function replace(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.${process.pid}`, text);
  await rename(`${path}.${process.pid}`, path);
}
