// The script for zsh.

import { ASK_TOPICS } from "./ask.js";
import type { OptionWords, Values, VerbWords } from "./words.js";

export function zshScript(verbs: readonly VerbWords[]): string {
  return [
    "#compdef millrace",
    "# Completes millrace in zsh. As _millrace in a directory of $fpath: millrace completion zsh > ~/.zfunc/_millrace",
    "_millrace_topics() {",
    "  local -a topics",
    `  topics=(\${(f)"$(millrace ${ASK_TOPICS} \${opt_args[--broker]:+--broker=\${opt_args[--broker]//\\\\:/:}} 2>/dev/null)"})`,
    "  (( $#topics )) && compadd -a topics",
    "}",
    "_millrace() {",
    "  local context state line",
    "  typeset -A opt_args",
    "  _arguments -C '(- *)'{-h,--help}'[show help]' '(- *)'{-V,--version}'[print the version]' '1:verb:->verb' '*::argument:->argument'",
    "  case $state in",
    "    verb)",
    "      local -a verbs",
    `      verbs=(${verbs.map(({ name, summary }) => quoted(`${name}:${summary.replaceAll(":", "\\:")}`)).join(" ")})`,
    "      _describe verb verbs",
    "      ;;",
    "    argument)",
    "      case $words[1] in",
    ...verbs.map(verbCase),
    "      esac",
    "      ;;",
    "  esac",
    "}",
    'if [ "$funcstack[1]" = _millrace ]; then _millrace "$@"; else compdef _millrace millrace; fi',
    "",
  ].join("\n");
}

function verbCase({ name, options, argument }: VerbWords): string {
  const words = options.map(optionSpec);
  if (argument !== undefined) words.push(quoted(`1:argument:${action(argument)}`));
  return `        ${name}) _arguments ${words.join(" ")} ;;`;
}

function optionSpec({ long, short, description, values }: OptionWords): string {
  const text = `[${description.replaceAll(/[[\]:\\]/g, (character) => `\\${character}`)}]`;
  const value = values === undefined ? "" : `:value:${action(values)}`;
  // With the sign its value may follow as a word of its own or behind the sign.
  const takes = values === undefined ? "" : "=";
  return short === undefined
    ? quoted(`${long}${takes}${text}${value}`)
    : `${quoted(`(${short} ${long})`)}{${short},${long}${takes}}${quoted(text + value)}`;
}

function action(values: Values): string {
  switch (values) {
    case "unknown":
      return " ";
    case "file":
      return "_files";
    case "directory":
      return "_files -/";
    case "topic":
      return "_millrace_topics";
    default:
      return `(${values.join(" ")})`;
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
