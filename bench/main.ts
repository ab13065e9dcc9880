// `npm run bench [-- names…] [--quick] [--rounds N] [--dir D] [--no-report]`: asks the questions of this folder, progress on stderr, and leaves the
// results as JSON in bench/results/ and as a page in docs/figures.md.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { environment, refuseMemory, UnfitStand } from "./lib/environment.js";
import { type CaseResult, measureCase } from "./lib/figures.js";
import { markdown, type RunResult, type SectionResult } from "./lib/report.js";
import { replace, writeResult } from "./lib/results.js";
import type { Stand } from "./lib/stand.js";
import { type ToolPaths, Tools } from "./lib/tools.js";
import { questions } from "./questions.js";

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

/** How much memory is touched to find out what a fresh page costs here. */
const FRESH_MEMORY_BYTES = 1 << 30;

function usage(): string {
  const names = questions.map(({ name, title }) => `  ${name.padEnd(20)} ${title}`);
  return [
    "npm run bench -- [names…] [--quick] [--rounds N] [--dir DIRECTORY] [--no-report]",
    "",
    "  --quick      fewer and shorter samples: about a minute for all",
    "  --rounds N   samples of each side (7, or 2 with --quick)",
    "  --dir        where data is written (.cache/bench/data); not in memory",
    "  --no-report  leaves docs/figures.md as it is",
    "",
    ...names,
  ].join("\n");
}

export async function main(root: string, paths: ToolPaths, argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      dir: { type: "string" },
      "no-report": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    say(usage());
    return 0;
  }
  const unknown = positionals.filter((name) => !questions.some((question) => question.name === name));
  const rounds = Number(values.rounds ?? (values.quick ? 2 : 7));
  if (unknown.length > 0 || !Number.isSafeInteger(rounds) || rounds < 1) {
    say(unknown.length > 0 ? `there is no question ${unknown.join(", ")}\n\n${usage()}` : `--rounds: ${values.rounds}`);
    return 2;
  }

  const directory = values.dir ?? join(root, ".cache", "bench", "data");
  await mkdir(directory, { recursive: true });
  await refuseMemory(directory);
  const stand: Stand = { tools: new Tools(paths), directory, root, quick: values.quick, rounds, progress: say };
  const asked = questions.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const before = await environment(directory, root);
  const freshMemory = await lookAtMemory(stand);

  const sections: SectionResult[] = [];
  for (const { name, title, about, ask } of asked) {
    say(`\n${name}: ${title}`);
    const cases: CaseResult[] = [];
    await ask(stand, async (one) => {
      cases.push(await measureCase(one, rounds, (text) => say(`  ${text}`)));
    });
    sections.push({ name, title, about, cases });
  }
  const command = ["npm run bench --", ...argv].join(" ").replace(/ --$/, "");
  const result: RunResult = { environment: before, quick: values.quick, command, freshMemory, sections };
  say(`\nresults: ${await writeResult(join(root, "bench", "results"), result)}`);
  const page = markdown(result);
  // A page about some questions must not take the place of the one about all.
  if (values["no-report"] || asked.length < questions.length) {
    process.stdout.write(page);
  } else {
    await replace(join(root, "docs", "figures.md"), page);
    say("report:  docs/figures.md");
  }
  return 0;
}

async function lookAtMemory(stand: Stand): Promise<RunResult["freshMemory"]> {
  const { bytesPerSecond: cold } = await stand.tools.touch(FRESH_MEMORY_BYTES);
  const { bytesPerSecond: warm } = await stand.tools.touch(FRESH_MEMORY_BYTES);
  return { cold: cold / 1e9, warm: warm / 1e9 };
}

/** Ends the process with 0, 1 (failed) or 2 (usage, or a stand that is not fit). */
export async function runMain(root: string, paths: ToolPaths, argv: readonly string[]): Promise<void> {
  try {
    process.exitCode = await main(root, paths, argv);
  } catch (error) {
    say(error instanceof UnfitStand ? error.message : String(error instanceof Error ? error.stack : error));
    process.exitCode = error instanceof UnfitStand ? 2 : 1;
  }
}
