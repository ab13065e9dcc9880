// The script for fish.

import { ASK_TOPICS } from "./ask.js";
import type { OptionWords, Values, VerbWords } from "./words.js";

export function fishScript(verbs: readonly VerbWords[]): string {
  return [
    "# Completes millrace in fish: millrace completion fish > ~/.config/fish/completions/millrace.fish",
    "function __millrace_topics",
    "  set -l words (commandline -opc)",
    "  set -l broker (string match -- '--broker=*' $words)",
    "  if set -l at (contains -i -- --broker $words)",
    "    set broker --broker=$words[(math $at + 1)]",
    "  end",
    `  millrace ${ASK_TOPICS} $broker[1] 2>/dev/null`,
    "end",
    "complete -c millrace -f",
    "complete -c millrace -n __fish_use_subcommand -s h -l help -d 'show help'",
    "complete -c millrace -n __fish_use_subcommand -s V -l version -d 'print the version'",
    ...verbs.map(
      ({ name, summary }) => `complete -c millrace -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ),
    ...verbs.flatMap(verbLines),
    "",
  ].join("\n");
}

function verbLines({ name, options, argument }: VerbWords): string[] {
  const begin = `complete -c millrace -n '__fish_seen_subcommand_from ${name}'`;
  const lines = options.map((option) => `${begin} ${optionWords(option)}`);
  if (argument !== undefined && argument !== "unknown") lines.push(`${begin} ${valuesOf(argument)}`);
  return lines;
}

function optionWords({ long, short, description, values }: OptionWords): string {
  const value = values === undefined ? "" : ` -r ${valuesOf(values)}`;
  return `${short === undefined ? "" : `-s ${short.slice(1)} `}-l ${long.slice(2)}${value} -d ${quoted(description)}`;
}

function valuesOf(values: Values): string {
  switch (values) {
    case "unknown":
      return "-f";
    case "file":
      return "-F";
    case "directory":
      return "-f -a '(__fish_complete_directories)'";
    case "topic":
      return "-f -a '(__millrace_topics)'";
    default:
      return `-f -a ${quoted(values.join(" "))}`;
  }
}

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
