// `npm run bench [-- names…] [flags]`: asks the questions of this folder, progress on stderr, and leaves the results as JSON in
// bench/results/ and, when all were asked, as pages in docs/. `npm run bench -- report FILE…` makes the pages again. Flags: command-line.mjs.

import { join, relative } from "node:path";
import { CHECK_HARD_SECONDS, CHECK_SECONDS, checkQuestions, countsLine, readRecorded, record } from "./check-run.js";
import { HINT, parseCommandLine, type RunCommand, UsageError, usage } from "./command-line.mjs";
import { UnfitStand } from "./lib/environment.js";
import type { Question } from "./lib/question.js";
import { markdown } from "./lib/report.js";
import { mergeResults, NoResult, readResult } from "./lib/results.js";
import { leaveDirectory, takeDirectory } from "./lib/run-directory.js";
import { endBySignals } from "./lib/signals.js";
import type { Stand } from "./lib/stand.js";
import { type ToolPaths, Tools } from "./lib/tools.js";
import { askPeers, fetchAll } from "./peers.js";
import { checked, questions } from "./questions.js";
import { missingFrom, publish, writeHtml } from "./report/publish.js";
import { measureQuestion, runQuestions } from "./run.js";

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

const names = questions.map(({ name }) => name);

/** `paths`: undefined for what measures nothing. Resolves to the exit code. */
export async function main(root: string, paths: ToolPaths | undefined, argv: readonly string[]): Promise<number> {
  const asked = parseCommandLine(argv);
  switch (asked.command) {
    case "help":
      process.stdout.write(`${usage()}\n`);
      return 0;
    case "report":
      return report(root, asked.files, asked.report);
    case "fetch":
      return fetchAll({ root, progress: say });
    case "peers":
    case "run": {
      if (paths === undefined) throw new Error("the tools are not built");
      const { quick, rounds } = asked;
      const directory = await takeDirectory(asked.directory ?? join(root, ".cache", "bench", "data"));
      const stand: Stand = { tools: new Tools(paths), directory, root, quick, rounds, progress: say };
      try {
        return await (asked.command === "peers"
          ? askPeers(stand, asked.names, asked.report)
          : run({ ...stand, full: asked.full, brief: asked.check || asked.record }, asked, argv));
      } finally {
        await leaveDirectory(directory);
      }
    }
  }
}

async function run(stand: Stand, asked: RunCommand, argv: readonly string[]): Promise<number> {
  const { root } = stand;
  const list = questions.filter(({ name }) => asked.names.includes(name));
  const recorded = join(root, "bench", "recorded-ratios.json");
  if (asked.check || asked.record) {
    const compared = list.filter(({ name }) => checked.includes(name));
    if (asked.check) return check(stand, compared, recorded);
    for (const question of compared) await record(recorded, [await measureQuestion(stand, question)]);
    say(`recorded: ${relative(root, recorded)}`);
    return 0;
  }
  const command = ["npm run bench --", ...argv].join(" ").replace(/ --$/, "");
  const { result, path } = await runQuestions(stand, list, command);
  const page = path.replace(/\.json$/, ".html");
  await writeHtml(root, page, result);
  say(`\nresults: ${relative(root, path)}, ${relative(root, page)}`);
  // Pages about some questions must not take the place of those about all.
  if (!asked.report || missingFrom(result, names).length > 0) process.stdout.write(markdown(result));
  else say(`report:  ${(await publish(root, result)).join(", ")}`);
  return 0;
}

async function report(root: string, files: readonly string[], wanted: boolean): Promise<number> {
  const results = await Promise.all(files.map(readResult));
  const merged = results.length === 1 ? results[0] : mergeResults(results, names);
  const missing = missingFrom(merged, names);
  if (wanted && missing.length === 0) {
    say(`report: ${(await publish(root, merged)).join(", ")}`);
    return 0;
  }
  const page = files[0].replace(/(\.json)?$/, ".html");
  await writeHtml(root, page, merged);
  process.stdout.write(markdown(merged));
  say(`report: ${page}`);
  if (wanted) {
    say(`docs/ stays as it is, since these results have nothing about ${missing.join(", ")}.`);
    say(`To publish them give a file about all before them: npm run bench -- report ALL.json ${files.join(" ")}`);
  }
  return 0;
}

async function check(stand: Stand, asked: readonly Question[], path: string): Promise<number> {
  const recorded = await readRecorded(path);
  const late = setTimeout(() => {
    say(`failed: not done after ${CHECK_HARD_SECONDS} s`);
    process.stdout.write("0 passed, 1 failed\n");
    process.exit(1);
  }, CHECK_HARD_SECONDS * 1000);
  const counts = await checkQuestions(stand, asked, recorded, performance.now() + CHECK_SECONDS * 1000);
  clearTimeout(late);
  process.stdout.write(`${countsLine(counts)}\n`);
  return counts.failed === 0 ? 0 : 1;
}

/** Ends the process with 0, 1 (failed), 2 (it cannot be done so), or by the shell's convention when a signal ended it. */
export async function runMain(root: string, paths: ToolPaths | undefined, argv: readonly string[]): Promise<void> {
  endBySignals();
  try {
    process.exitCode = await main(root, paths, argv);
  } catch (error) {
    const why = refusal(error);
    say(why ?? String(error instanceof Error ? error.stack : error));
    process.exitCode = why === undefined ? 1 : 2;
  }
}

/** In a line, where it is no failure of the bench. */
function refusal(error: unknown): string | undefined {
  if (error instanceof UsageError) return `${error.message}\n${HINT}`;
  if (error instanceof UnfitStand || error instanceof NoResult) return error.message;
  // Tools and servers say it in their own words.
  return /ENOSPC|No space left/.test(String(error)) ? "no room is left where the data is written" : undefined;
}
