// The script for bash.

import { ASK_TOPICS } from "./ask.js";
import type { OptionWords, Values, VerbWords } from "./words.js";

export function bashScript(verbs: readonly VerbWords[]): string {
  return [
    "# Completes millrace in bash. In ~/.bashrc: source <(millrace completion bash)",
    "_millrace() {",
    `  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} verb= broker= at`,
    "  for ((at = 1; at < COMP_CWORD; at++)); do",
    `    [[ -z $verb && \${COMP_WORDS[at]} != -* ]] && verb=\${COMP_WORDS[at]}`,
    `    [[ \${COMP_WORDS[at]} == --broker ]] || continue`,
    // A colon and an equals sign are words of their own to bash, so an address comes in three.
    `    [[ \${COMP_WORDS[at+1]} == = ]] && ((at++))`,
    `    broker=\${COMP_WORDS[at+1]}`,
    `    [[ \${COMP_WORDS[at+2]} == : ]] && broker+=:\${COMP_WORDS[at+3]}`,
    "  done",
    "  [[ $current == = ]] && current=",
    `  [[ $previous == = ]] && previous=\${COMP_WORDS[COMP_CWORD-2]}`,
    "  COMPREPLY=()",
    "  if [[ -z $verb ]]; then",
    `    ${offer([...verbs.map(({ name }) => name), "--help", "--version"])}`,
    "    return",
    "  fi",
    '  case "$verb $previous" in',
    ...verbs.flatMap(({ name, options }) => options.flatMap((option) => valueCase(name, option))),
    "  esac",
    '  case "$verb" in',
    ...verbs.map(verbCase),
    "  esac",
    "}",
    "complete -F _millrace millrace",
    "",
  ].join("\n");
}

const offer = (words: readonly string[]): string => `COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$current"))`;

function valueCase(verb: string, { long, values }: OptionWords): string[] {
  if (values === undefined) return [];
  return [`    "${verb} ${long}") ${valuesOf(values)}return ;;`];
}

function verbCase({ name, options, argument }: VerbWords): string {
  const words = options.flatMap(({ long, short }) => (short === undefined ? [long] : [long, short]));
  const rest = argument === undefined ? "" : ` else ${valuesOf(argument)}:;`;
  return `    ${name}) if [[ $current == -* ]]; then ${offer(words)};${rest} fi ;;`;
}

function valuesOf(values: Values): string {
  switch (values) {
    case "unknown":
      return "";
    case "file":
      return 'compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")); ';
    case "directory":
      return 'compopt -o filenames; COMPREPLY=($(compgen -d -- "$current")); ';
    case "topic":
      return `COMPREPLY=($(compgen -W "$(millrace ${ASK_TOPICS} \${broker:+--broker "$broker"} 2>/dev/null)" -- "$current")); `;
    default:
      return `${offer(values)}; `;
  }
}
