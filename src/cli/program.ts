// The command line: which verbs there are, and how each ends as an exit code. Verbs throw; only this file knows codes.

import { Command, CommanderError } from "commander";
import { packageVersion } from "../ops/version.js";
import { backupCommand } from "./backup/backup.js";
import { benchCommand } from "./bench/bench.js";
import { completionCommand } from "./completion/completion.js";
import { consumeCommand } from "./consume/consume.js";
import { dumpCommand } from "./dump.js";
import { Exit, exitOf, failureText, HELP_HINT, messageText } from "./failure.js";
import { fetchDemoCommand } from "./fetch-demo/fetch-demo.js";
import { healthCommand } from "./health.js";
import { HELP_COLUMNS, helpText } from "./help.js";
import type { Io } from "./io.js";
import { offsetsCommand } from "./offsets.js";
import { ClosedPipe } from "./output.js";
import { produceCommand } from "./produce/produce.js";
import { serveCommand } from "./serve.js";
import { StoppedBySignal } from "./stop.js";
import { topicsCommand } from "./topics.js";
import { verifyCommand } from "./verify.js";

const EXAMPLES = `
Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 and 143
stopped by ^C or SIGTERM.

A first minute:
  $ millrace serve --topics orders:3 &
  $ seq 1000 | millrace produce orders --batch-bytes 1KiB
  $ millrace consume orders --until-end | wc -l
  $ millrace topics orders

A batch goes to one partition as a whole. Without --batch-bytes those lines were one, and two partitions stayed empty.
`;

/** Runs one command line and resolves to its exit code. */
export async function runCli(args: readonly string[], io: Io): Promise<number> {
  // commander writes before it throws or returns; help is data that was asked for.
  let help = "";
  let code: number = Exit.OK;
  const program = new Command("millrace")
    .description("Append to and read from a millrace log broker.")
    .version(await packageVersion(), "-V, --version", "print the version")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .addHelpText("after", helpText(io, EXAMPLES))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        help += text;
      },
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(usageText(text, program)),
      getOutHelpWidth: () => io.stdoutColumns ?? HELP_COLUMNS,
      getErrHelpWidth: () => io.stderr.columns ?? HELP_COLUMNS,
    });
  produceCommand(program, io);
  consumeCommand(program, io);
  topicsCommand(program, io);
  offsetsCommand(program, io);
  healthCommand(program, io);
  verifyCommand(program, io);
  dumpCommand(program, io);
  backupCommand(program, io);
  benchCommand(program, io);
  fetchDemoCommand(program, io);
  completionCommand(program, io);
  serveCommand(
    program,
    (result) => {
      code = result;
    },
    io.env,
  );
  try {
    await program.parseAsync(wordsOf(args, program), { from: "user" });
  } catch (error) {
    code = codeOf(error, io);
  }
  try {
    await io.stdout.write(Buffer.from(help));
  } catch (error) {
    code = codeOf(error, io);
  }
  return code;
}

/** commander shows the list to whoever wants help with a verb that there is not; without the word `help` it says so. */
function wordsOf(args: readonly string[], program: Command): string[] {
  const [first, verb] = args;
  const isUnknown =
    first === "help" &&
    verb !== undefined &&
    verb !== "help" &&
    !verb.startsWith("-") &&
    !program.commands.some((command) => command.name() === verb);
  return args.slice(isUnknown ? 1 : 0);
}

/** commander's complaint as the others are told. It does not say what an option takes that came without a value. */
function usageText(complaint: string, program: Command): string {
  const [first = "", ...rest] = complaint
    .replace(/^error: /, "")
    .trimEnd()
    .split("\n");
  const [, flags] = /^option '(.+)' argument missing$/.exec(first) ?? [];
  const found = program.commands.flatMap(({ options }) => options).find((option) => option.flags === flags);
  const choices = found?.argChoices === undefined ? "" : ` (${found.argChoices.join(", ")})`;
  const takes = found === undefined ? "" : `: ${found.description}${choices}`;
  return messageText(first + takes, [...rest, HELP_HINT]);
}

function codeOf(error: unknown, io: Io): number {
  if (error instanceof ClosedPipe) return Exit.OK;
  // It has written what there is to say. Its own code for a wrong command line is 1.
  if (error instanceof CommanderError) return error.exitCode === 0 ? Exit.OK : Exit.USAGE;
  if (error instanceof StoppedBySignal) {
    if (error.lines.length > 0) io.stderr.write(messageText(error.message, error.lines));
    return error.exitCode;
  }
  io.stderr.write(failureText(error));
  return exitOf(error);
}
