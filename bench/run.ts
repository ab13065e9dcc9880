// Asks questions one after the other and makes one result of it. What was measured is written after each question: a run of an hour that
// fails in its last minute has not been for nothing.

import { join } from "node:path";
import { environment } from "./lib/environment.js";
import { type CaseResult, measureCase } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import type { RunResult, SectionResult } from "./lib/report.js";
import { resultPath, writeResult } from "./lib/results.js";
import type { Stand } from "./lib/stand.js";

/** How much memory is touched to find out what a fresh page costs here. */
const FRESH_MEMORY_BYTES = 1 << 30;

export interface Run {
  readonly result: RunResult;
  readonly path: string;
}

export async function runQuestions(stand: Stand, asked: readonly Question[], command: string): Promise<Run> {
  const { quick, full = false, root } = stand;
  const before = await environment(stand.directory, root);
  const freshMemory = await lookAtMemory(stand);
  const sections: SectionResult[] = [];
  const names = asked.map(({ name }) => name);
  const result: RunResult = { environment: before, quick, full, command, asked: names, freshMemory, sections };
  const path = resultPath(join(root, "bench", "results"), result);
  for (const question of asked) {
    sections.push(await measureQuestion(stand, question));
    await writeResult(path, result);
  }
  return { result, path };
}

export async function measureQuestion(stand: Stand, question: Question): Promise<SectionResult> {
  const { name, title, about, ask } = question;
  stand.progress(`\n${name}: ${title}`);
  const cases: CaseResult[] = [];
  await ask(stand, async (one) => {
    cases.push(await measureCase(one, stand.rounds, (text) => stand.progress(`  ${text}`)));
  });
  return { name, title, about, cases };
}

async function lookAtMemory({ tools }: Stand): Promise<RunResult["freshMemory"]> {
  const { bytesPerSecond: cold } = await tools.touch(FRESH_MEMORY_BYTES);
  const { bytesPerSecond: warm } = await tools.touch(FRESH_MEMORY_BYTES);
  return { cold: cold / 1e9, warm: warm / 1e9 };
}
