// `npm run bench [-- names…] [flags]`: asks the questions of this folder, progress on stderr, and leaves the results as JSON in
// bench/results/ and, when all were asked, as pages in docs/. `npm run bench -- report FILE…` makes the pages again.

import { mkdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { CHECK_HARD_SECONDS, CHECK_SECONDS, checkQuestions, countsLine, readRecorded, record } from "./check-run.js";
import { refuseMemory, UnfitStand } from "./lib/environment.js";
import type { Question } from "./lib/question.js";
import { markdown } from "./lib/report.js";
import { mergeResults, readResult } from "./lib/results.js";
import type { Stand } from "./lib/stand.js";
import { type ToolPaths, Tools } from "./lib/tools.js";
import { askPeers, fetchAll, peerNames } from "./peers.js";
import { checked, questions } from "./questions.js";
import { publish, writeHtml } from "./report/publish.js";
import { measureQuestion, runQuestions } from "./run.js";

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

function usage(): string {
  const names = questions.map(({ name, title }) => `  ${name.padEnd(20)} ${title}`);
  return [
    "npm run bench -- [names…] [--quick | --full] [--rounds N] [--dir DIRECTORY] [--no-report]",
    "npm run bench -- --check | --record [names…]",
    "npm run bench -- report FILE.json [MORE.json…]",
    `npm run bench -- peers [${peerNames.join("] [")}] [--fetch]`,
    "",
    "  --quick      fewer and shorter samples, fewer cases",
    "  --full       whole matrices: hours",
    "  --rounds N   samples of each side (7; 2 with --quick; 3 with --check and --record)",
    "  --dir        where data is written (.cache/bench/data); not in memory",
    "  --no-report  leaves docs/figures as they are",
    "  --check      what CI runs: quick, fails when a ratio to the floor is under a third of the recorded one",
    "  --record     writes the ratios of a quick run into bench/recorded-ratios.json",
    "  report       pages of results that there are; sections of later files take the place of those of earlier ones",
    "  peers        beside other brokers, into docs/peers.md; --fetch only gets them, into .cache/peers",
    "",
    ...names,
  ].join("\n");
}

const OPTIONS = {
  quick: { type: "boolean", default: false },
  full: { type: "boolean", default: false },
  check: { type: "boolean", default: false },
  record: { type: "boolean", default: false },
  rounds: { type: "string" },
  dir: { type: "string" },
  "no-report": { type: "boolean", default: false },
  fetch: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

export async function main(root: string, paths: ToolPaths, argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...argv], allowPositionals: true, options: OPTIONS });
  if (values.help) {
    say(usage());
    return 0;
  }
  if (positionals[0] === "report") return report(root, positionals.slice(1), values["no-report"]);
  const peers = positionals[0] === "peers";
  if (values.fetch) return peers ? fetchAll({ root, progress: say }) : refuse("--fetch: of peers only");

  const known = peers ? ["peers", ...peerNames] : questions.map(({ name }) => name);
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) return refuse(`there is no question ${unknown.join(", ")}`);
  const checks = values.check || values.record;
  const quick = values.quick || checks;
  const rounds = Number(values.rounds ?? (checks ? 3 : quick ? 2 : peers ? 5 : 7));
  if (!Number.isSafeInteger(rounds) || rounds < 1) return refuse(`--rounds: ${values.rounds}`);
  if (quick && values.full) return refuse("--full: not beside --quick, --check or --record");

  const directory = values.dir ?? join(root, ".cache", "bench", "data");
  await mkdir(directory, { recursive: true });
  await refuseMemory(directory);
  const tools = new Tools(paths);
  const stand: Stand = { tools, directory, root, quick, full: values.full, brief: checks, rounds, progress: say };
  if (peers) return askPeers(stand, positionals.slice(1), !values["no-report"]);
  const list = checks ? questions.filter(({ name }) => checked.includes(name)) : questions;
  const asked = list.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const recorded = join(root, "bench", "recorded-ratios.json");
  if (values.record) {
    for (const question of asked) await record(recorded, [await measureQuestion(stand, question)]);
    say(`recorded: ${relative(root, recorded)}`);
    return 0;
  }
  if (values.check) return check(stand, asked, recorded);

  const command = ["npm run bench --", ...argv].join(" ").replace(/ --$/, "");
  const { result, path } = await runQuestions(stand, asked, command);
  const page = path.replace(/\.json$/, ".html");
  await writeHtml(root, page, result);
  say(`\nresults: ${relative(root, path)}, ${relative(root, page)}`);
  // Pages about some questions must not take the place of those about all.
  if (values["no-report"] || asked.length < questions.length) process.stdout.write(markdown(result));
  else say(`report:  ${(await publish(root, result)).join(", ")}`);
  return 0;
}

function refuse(why: string): number {
  say(`${why}\n\n${usage()}`);
  return 2;
}

async function report(root: string, files: readonly string[], aside: boolean): Promise<number> {
  if (files.length === 0) return refuse("report: which FILE.json?");
  const results = await Promise.all(files.map(readResult));
  const names = questions.map(({ name }) => name);
  const merged = results.length === 1 ? results[0] : mergeResults(results, names);
  if (aside) {
    const page = files[0].replace(/\.json$/, ".html");
    await writeHtml(root, page, merged);
    process.stdout.write(markdown(merged));
    say(`report: ${page}`);
  } else {
    say(`report: ${(await publish(root, merged)).join(", ")}`);
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

/** Ends the process with 0, 1 (failed) or 2 (usage, or a stand that is not fit). */
export async function runMain(root: string, paths: ToolPaths, argv: readonly string[]): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  try {
    process.exitCode = await main(root, paths, argv);
  } catch (error) {
    say(error instanceof UnfitStand ? error.message : String(error instanceof Error ? error.stack : error));
    process.exitCode = error instanceof UnfitStand ? 2 : 1;
  }
}
