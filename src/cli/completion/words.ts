// What can stand on a command line, as commander knows it: for the scripts that complete it. It knows no shell.

import type { Argument, Command, Option } from "commander";
import { factsOf } from "../../ops/settings/kinds.js";
import { flagOf, rowOf, type SettingKey, settingKeys } from "../../ops/settings/table.js";

/** What a value is, as far as a shell can help with it. */
export type Values = "file" | "directory" | "topic" | "unknown" | readonly string[];

export interface OptionWords {
  /** `--ack`. */
  readonly long: string;
  /** `-h`. */
  readonly short: string | undefined;
  readonly description: string;
  /** Undefined: it takes none. */
  readonly values: Values | undefined;
}

export interface VerbWords {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OptionWords[];
  readonly argument: Values | undefined;
}

export function verbsOf(program: Command): VerbWords[] {
  const help = program.createHelp();
  return help.visibleCommands(program).map((command) => ({
    name: command.name(),
    summary: command.summary() || command.description(),
    options: command.name() === "serve" ? SERVE : help.visibleOptions(command).map(optionWords),
    argument: argumentValues(command, program),
  }));
}

function optionWords(option: Option): OptionWords {
  const { long, short, description, argChoices, required, optional } = option;
  const takes = required || optional;
  return {
    long: long ?? "",
    short,
    description,
    values: takes ? (argChoices ?? OPTION_VALUES[option.name()] ?? "unknown") : undefined,
  };
}

const OPTION_VALUES: Readonly<Record<string, Values>> = {
  "data-dir": "directory",
  dir: "directory",
  checkpoint: "file",
  topic: "topic",
  // Or an offset, or a time.
  from: ["earliest", "latest"],
};

const ARGUMENT_VALUES: Readonly<Record<string, Values>> = { topic: "topic", dir: "directory", "file|dir": "file" };

function argumentValues(command: Command, program: Command): Values | undefined {
  if (command.name() === "help") {
    const verbs = program.createHelp().visibleCommands(program);
    return verbs.map((each) => each.name()).filter((name) => name !== "help");
  }
  const [argument]: (Argument | undefined)[] = [...command.registeredArguments];
  if (argument === undefined || command.name() === "serve") return undefined;
  return argument.argChoices ?? ARGUMENT_VALUES[argument.name()] ?? "unknown";
}

const SETTING_VALUES: Readonly<Partial<Record<SettingKey, Values>>> = {
  "data.dir": "directory",
  "socket.path": "file",
};

/** The broker reads its own. */
const SERVE: readonly OptionWords[] = [
  { long: "--config", short: undefined, description: "settings from this TOML file", values: "file" },
  {
    long: "--print-config",
    short: undefined,
    description: "print each setting and where it came from",
    values: undefined,
  },
  { long: "--help", short: "-h", description: "list all settings", values: undefined },
  ...settingKeys.map((key) => ({
    long: flagOf(key),
    short: undefined,
    description: rowOf(key).help,
    values: SETTING_VALUES[key] ?? factsOf(rowOf(key).kind).choices ?? ("unknown" as const),
  })),
];
