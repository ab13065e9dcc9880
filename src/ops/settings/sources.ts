// Where settings come from: the file, the environment, the flags, or a caller's object. Each source is read into the same
// shape (key, what was written, where), and unknown names are refused here, where their spelling is known. No value is
// looked at.

import { lstatSync, readFileSync } from "node:fs";
import { parse as parseToml, TomlError } from "smol-toml";
import { nearest } from "./nearest.js";
import { flagOf, isPerTopic, isSettingKey, perTopicKeys, type SettingKey, settingKeys, variableOf } from "./table.js";

/** Something that somebody wrote. */
export interface Entry {
  readonly value: unknown;
  /** "flag --port", "environment MILLRACE_PORT", "./millrace.toml". */
  readonly from: string;
}

export interface Source {
  readonly entries: Map<SettingKey, Entry>;
  /** By topic: `partitions` and settings that a topic may have for itself. */
  readonly topics: Map<string, Map<string, Entry>>;
  /** Where the tables of topics stand, if it is a kind of source that has them. */
  readonly documentFrom?: string;
  readonly problems: string[];
}

/** What a command line asks for beside the settings. */
export interface CommandLine extends Source {
  readonly config: string | undefined;
  readonly help: boolean;
  readonly version: boolean;
  readonly printConfig: boolean;
}

export const DEFAULT_CONFIG_FILE = "./millrace.toml";

/** Variables with the prefix that belong to the client, to the command line and to the tests. */
const FOREIGN_VARIABLES = new Set([
  "MILLRACE_BROKER",
  "MILLRACE_VERIFICATION",
  "MILLRACE_PREBUILD",
  "MILLRACE_SEED",
  "MILLRACE_TEST_DIR",
  "MILLRACE_KEEP",
]);

const emptySource = (): Source => ({ entries: new Map(), topics: new Map(), problems: [] });

const meant = (name: string, known: readonly string[]): string => {
  const inside = known.filter((key) => key.startsWith(name) && /^[._-]/.test(key.slice(name.length)));
  const near = inside.length > 0 ? listed(inside) : nearest(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
};

const listed = (names: readonly string[]): string =>
  names.length === 1 ? names[0] : `${names.slice(0, -1).join(", ")} or ${names[names.length - 1]}`;

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** A heading under which nothing stands any more, as `[segment]`. */
const isHeading = (name: string): boolean => settingKeys.some((key) => key.startsWith(`${name}.`));

/**
 * `{segment: {bytes: 1}}` and `{"segment.bytes": 1}` are the same. An empty table is a value as any other unless it is a heading:
 * left out, `[retentoin]` and `port = {}` would be defaults in silence.
 */
function flatten(table: Record<string, unknown>, prefix: string, into: Map<string, unknown>): void {
  for (const [name, value] of Object.entries(table)) {
    const key = `${prefix}${name}`;
    if (isTable(value) && (Object.keys(value).length > 0 || isHeading(key))) flatten(value, `${key}.`, into);
    else if (value !== undefined) into.set(key, value);
  }
}

/** A document as a TOML file or a caller of `startBroker` writes it. */
export function fromDocument(document: Record<string, unknown>, from: string): Source {
  const source: Source = { ...emptySource(), documentFrom: from };
  const { topics, ...rest } = document;
  const flat = new Map<string, unknown>();
  flatten(rest, "", flat);
  if (isTable(topics)) {
    for (const [name, settings] of Object.entries(topics)) readTopic(source, name, settings, from);
  } else if (topics !== undefined) {
    flat.set("topics", topics);
  }
  for (const [key, value] of flat) {
    if (isSettingKey(key)) source.entries.set(key, { value, from });
    else source.problems.push(`${key}: no such setting (${from})${meant(key, settingKeys)}`);
  }
  return source;
}

function readTopic(source: Source, name: string, settings: unknown, from: string): void {
  if (!isTable(settings)) {
    source.problems.push(
      `topics.${name}: got ${JSON.stringify(settings)} (${from}); takes a table, as [topics.${name}] with partitions = 1`,
    );
    return;
  }
  const flat = new Map<string, unknown>();
  flatten(settings, "", flat);
  const entries = new Map<string, Entry>();
  const known = ["partitions", ...perTopicKeys];
  for (const [key, value] of flat) {
    if (key === "partitions" || (isSettingKey(key) && isPerTopic(key))) {
      entries.set(key, { value, from: `${from} [topics.${name}]` });
    } else if (isSettingKey(key)) {
      source.problems.push(`topics.${name}.${key}: ${key} cannot be set for one topic (${from})`);
    } else {
      source.problems.push(`topics.${name}.${key}: no such setting of a topic (${from})${meant(key, known)}`);
    }
  }
  source.topics.set(name, entries);
}

/** The file that `--config` names, which must be there, or the default one, which may be. */
export function fromFile(named: string | undefined): Source {
  if (named === undefined && isAbsent(DEFAULT_CONFIG_FILE)) return emptySource();
  const path = named ?? DEFAULT_CONFIG_FILE;
  const failed = (problem: string): Source => ({ ...emptySource(), problems: [problem] });
  if (path === "") return failed('--config: got ""; takes a file');
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch (error) {
    return failed(
      `${named === undefined ? "the file of settings" : "--config"}: cannot read ${path}: ${(error as Error).message}`,
    );
  }
  try {
    return fromDocument(parseToml(content), path);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split("\n", 1)[0].replace(/^Invalid TOML document: /, "");
    return failed(`${path}:${error.line}:${error.column}: not TOML: ${reason}`);
  }
}

/** A link that leads nowhere is there, and so is what cannot be looked at: somebody meant it to be read. */
function isAbsent(path: string): boolean {
  try {
    lstatSync(path);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

export function fromEnvironment(environment: Readonly<Record<string, string | undefined>>): Source {
  const source = emptySource();
  const keys = new Map(settingKeys.map((key) => [variableOf(key), key]));
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith("MILLRACE_") || FOREIGN_VARIABLES.has(name) || value === undefined) continue;
    const key = keys.get(name);
    if (key !== undefined) source.entries.set(key, { value, from: `environment ${name}` });
    else if (/^MILLRACE_CONFIG/.test(name)) {
      source.problems.push(
        `${name}: no such setting (environment); the file is named by --config, or is ${DEFAULT_CONFIG_FILE}`,
      );
    } else source.problems.push(`${name}: no such setting (environment)${meant(name, [...keys.keys()])}`);
  }
  return source;
}

/** `--port 4710` and `--port=4710`. */
export function fromFlags(args: readonly string[]): CommandLine {
  const source = emptySource();
  const asked = { config: undefined as string | undefined, help: false, version: false, printConfig: false };
  const keys = new Map<string, SettingKey>(settingKeys.map((key) => [flagOf(key), key]));
  const known = [...keys.keys(), "--config", "--help", "--version", "--print-config"];
  const seen = new Map<string, number>();
  for (let i = 0; i < args.length; i++) {
    const [, name, attached] = /^(--[^=]*|-[hv])(?:=([\s\S]*))?$/.exec(args[i]) ?? [];
    if (name === undefined) {
      source.problems.push(`${JSON.stringify(args[i])}: settings are given as --name value; see --help`);
      continue;
    }
    seen.set(name, (seen.get(name) ?? 0) + 1);
    if (name === "--help" || name === "-h") asked.help = true;
    else if (name === "--version" || name === "-v") asked.version = true;
    else if (name === "--print-config") asked.printConfig = true;
    else {
      // A value that looks like a flag is a value that was left out; --name=--value says that it is meant.
      const value = attached ?? (args[i + 1]?.startsWith("--") ? undefined : args[++i]);
      if (!known.includes(name)) {
        source.problems.push(`${name}: no such flag${meant(name, known)}`);
        continue;
      }
      const key = keys.get(name);
      if (value === undefined) source.problems.push(`${name}: takes a value and got none`);
      else if (key === undefined) asked.config = value;
      else source.entries.set(key, { value, from: `flag ${name}` });
    }
  }
  for (const [name, times] of seen) {
    if (times > 1) source.problems.push(`${name}: given ${times === 2 ? "twice" : `${times} times`}`);
  }
  return { ...source, ...asked };
}
