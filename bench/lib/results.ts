// Results as JSON, one file for each run, never overwritten: the report is made from it, and so is whatever compares two runs later.

import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RunResult } from "./report.js";

export async function writeResult(directory: string, result: RunResult): Promise<string> {
  const stamp = result.environment.date.replaceAll(/[^0-9]/g, "");
  const path = join(directory, `${stamp}-${process.pid}.json`);
  await replace(path, `${JSON.stringify(result, undefined, 2)}\n`);
  return path;
}

/** Whole or not at all. */
export async function replace(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.${process.pid}`, text);
  await rename(`${path}.${process.pid}`, path);
}
