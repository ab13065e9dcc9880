// What --help and --print-config print, and the table of the documentation: all from the one table of settings.

import { factsOf } from "./kinds.js";
import { topicOrigin } from "./own.js";
import type { Resolved } from "./resolve.js";
import { flagOf, isPerTopic, perTopicKeys, rowOf, type SettingKey, settingKeys } from "./table.js";

const WIDTH = 100;

function wrap(text: string, indent: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent + line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].map((one) => " ".repeat(indent) + one).join("\n");
}

export function helpText(): string {
  const lines = [
    "Usage: millrace serve [--config FILE] [--print-config] [settings]",
    "",
    "A log broker: producers append batches to partitions, consumers read on from an offset that they name.",
    "When it can take connections it prints one line on stdout; everything else goes to stderr as JSON lines.",
    "",
    "  --config FILE     settings from this TOML file instead of ./millrace.toml, which is read if it is there",
    "  --print-config    print each setting and where it came from, and exit",
    "  --help, --version",
    "",
    "Every setting is a flag, an environment variable and a key of the file: --data-dir, MILLRACE_DATA_DIR, data.dir.",
    "A flag beats the environment, the environment beats the file, the file beats the default. Settings marked * may",
    "also stand in [topics.NAME] of the file, beside partitions = N.",
    "",
  ];
  for (const key of settingKeys) {
    const row = rowOf(key);
    lines.push(`  ${flagOf(key)} (${row.default})${isPerTopic(key) ? " *" : ""}`);
    lines.push(wrap(row.help, 6), wrap(`takes ${factsOf(row.kind).takes}`, 6));
  }
  lines.push(
    "",
    "Exit codes: 0 stopped cleanly, 2 bad configuration or usage, 3 data directory in use, 4 data directory",
  );
  lines.push("unusable or no partition opens, 1 anything else.", "");
  return lines.join("\n");
}

/** A row for each setting, for the documentation. */
export function markdownTable(): string {
  const rows = settingKeys.map((key) => {
    const row = rowOf(key);
    const marked = isPerTopic(key) ? " *" : "";
    return `| \`${key}\`${marked} | \`${row.default}\` | ${row.help}; takes ${factsOf(row.kind).takes} |`;
  });
  return ["| key | default | |", "|---|---|---|", ...rows, ""].join("\n");
}

/** A TOML document that says the same, each line with where it came from. Defaults are comments: read back they must not count as written. */
export function printConfig(resolved: Resolved): string {
  const lines: string[] = [];
  for (const key of settingKeys) {
    if (key === "topics") continue;
    const mark = resolved.isWritten(key) ? "" : "# ";
    lines.push(`${mark}${key} = ${tomlValue(key, resolved.settings[key])}  # ${comment(resolved.origin(key))}`);
  }
  for (const topic of resolved.topics) {
    lines.push("", `[topics.${JSON.stringify(topic.name)}]`);
    lines.push(`partitions = ${topic.partitions}  # ${comment(topicOrigin(resolved, topic.name))}`);
    for (const key of perTopicKeys) {
      const own = `topics.${topic.name}.${key}`;
      if (resolved.origin(own) === resolved.origin(key)) continue;
      lines.push(`${key} = ${tomlValue(key, topic[key as keyof typeof topic])}  # ${comment(resolved.origin(own))}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what TOML takes nowhere as they are.
const CONTROL = /[\u0000-\u001f\u007f]/g;

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The name of a file may have line ends in it. */
const comment = (text: string): string => text.replace(CONTROL, escaped);

/** JSON escapes all that TOML does, but for U+007F. */
const quoted = (text: string): string => JSON.stringify(text).replace(CONTROL, escaped);

function tomlValue(key: SettingKey, value: unknown): string {
  const shown = factsOf(rowOf(key).kind).show(value);
  return typeof value === "boolean" || (typeof value === "number" && /^\d+$/.test(shown)) ? shown : quoted(shown);
}
