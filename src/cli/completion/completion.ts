// `millrace completion`: a script that a shell reads, made of the verbs and options that there are.

import { Argument, type Command } from "commander";
import { helpText } from "../help.js";
import type { Io } from "../io.js";
import { askTopicsCommand } from "./ask.js";
import { bashScript } from "./bash.js";
import { fishScript } from "./fish.js";
import { verbsOf } from "./words.js";
import { zshScript } from "./zsh.js";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

const EXAMPLES = `
It completes verbs, options, values that are one of a few, files, and topics: those of the broker that --broker or MILLRACE_BROKER says,
when it answers within half a second.

Examples:
  $ source <(millrace completion bash)
  $ millrace completion zsh > ~/.zfunc/_millrace
  $ millrace completion fish > ~/.config/fish/completions/millrace.fish
`;

export function completionCommand(program: Command, io: Io): void {
  program
    .command("completion")
    .summary("complete command lines in a shell")
    .description("Print a script for a shell that completes this command's verbs, options and topics.")
    .addArgument(new Argument("<shell>", "which one").choices(Object.keys(SCRIPTS)))
    .addHelpText("after", helpText(io, EXAMPLES))
    .action(async (shell: keyof typeof SCRIPTS) => {
      await io.stdout.write(Buffer.from(SCRIPTS[shell](verbsOf(program))));
    });
  askTopicsCommand(program, io);
}
