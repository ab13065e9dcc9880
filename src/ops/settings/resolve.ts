// From what the sources say to the settings of a broker: every value that is written is checked by its kind, also where a
// source of higher rank has another one, which then wins; topics get their own settings, and contradictions are found. It collects every problem instead of stopping at the first, so that one
// run shows all that must be changed. It starts nothing.

import * as v from "valibot";
import { isTopicName, TOPIC_NAME_RULE } from "../../model/topic-name.js";
import { contradictions } from "./contradictions.js";
import { factsOf, type Kind, whyNotTaken } from "./kinds.js";
import type { Entry, Source } from "./sources.js";
import { perTopicKeys, rowOf, type SettingKey, type Settings, settingKeys, type TopicKey } from "./table.js";
import { partitionCount, type TopicCount } from "./topic-list.js";

export type TopicSettings = { readonly [K in TopicKey]: Settings[K] } & {
  readonly name: string;
  readonly partitions: number;
};

export interface Resolved {
  readonly settings: Settings;
  readonly topics: readonly TopicSettings[];
  /** Where a value came from: a key of the table, or `topics.x.key`. */
  origin(key: string): string;
  /** False when nobody wrote it. */
  isWritten(key: string): boolean;
}

export type Resolution =
  | { readonly resolved: Resolved; readonly problems?: undefined }
  | { readonly resolved?: undefined; readonly problems: readonly string[] };

const DEFAULT = "default";

/** As it was written: JSON has no word for what TOML calls nan and inf. */
const shown = (value: unknown): string => (typeof value === "number" ? String(value) : JSON.stringify(value));

/** Sources in the order of their rank, highest first. */
export function resolve(sources: readonly Source[]): Resolution {
  const problems = sources.flatMap((source) => source.problems);
  const origins = new Map<string, string>();

  const check = <T>(name: string, kind: Kind<T>, entry: Entry): T | undefined => {
    const result = v.safeParse(kind, entry.value);
    if (result.success) return result.output;
    const why = whyNotTaken(result.issues);
    const got = `${name}: got ${shown(entry.value)} (${entry.from})${why === undefined ? "" : `, and ${why}`}`;
    problems.push(`${got}; takes ${factsOf(kind).takes}`);
    return undefined;
  };

  const values: Partial<Record<SettingKey, unknown>> = {};
  for (const key of settingKeys) {
    const written = sources.flatMap(({ entries }) => entries.get(key) ?? []);
    const entries = written.length > 0 ? written : [{ value: rowOf(key).default, from: DEFAULT }];
    origins.set(key, (entries[0] as Entry).from);
    // All of them: whoever takes the flag away should not find out then that the file was wrong.
    values[key] = entries.map((entry) => check(key, rowOf(key).kind, entry))[0];
  }

  const tables = new Map<string, Map<string, Entry>>();
  /** What the entries of tables were found to say. */
  const tabled = new Map<Entry, unknown>();
  for (const { topics } of sources) {
    for (const [name, table] of topics) {
      if (!tables.has(name)) tables.set(name, table);
      for (const key of ["partitions", ...perTopicKeys] as const) {
        const entry = table.get(key);
        if (entry === undefined) continue;
        tabled.set(
          entry,
          check(`topics.${name}.${key}`, key === "partitions" ? partitionCount : rowOf(key).kind, entry),
        );
      }
    }
  }
  const partitionsIn = (name: string, entry: Entry): number | undefined => {
    origins.set(`topics.${name}.partitions`, entry.from);
    return tabled.get(entry) as number | undefined;
  };
  const list = values.topics as readonly TopicCount[] | undefined;
  const listed = namesAndCounts(sources, list, tables, partitionsIn, problems);

  const topics: TopicSettings[] = [];
  for (const { name, partitions } of listed) {
    const own: Record<string, unknown> = { name, partitions };
    for (const key of perTopicKeys) {
      const entry = tables.get(name)?.get(key);
      own[key] = entry === undefined ? values[key] : tabled.get(entry);
      origins.set(`topics.${name}.${key}`, entry?.from ?? origins.get(key) ?? DEFAULT);
    }
    topics.push(own as unknown as TopicSettings);
  }
  if (problems.length > 0) return { problems };

  const resolved: Resolved = {
    settings: values as Settings,
    topics: topics.sort((a, b) => (a.name < b.name ? -1 : 1)),
    origin: (key) => origins.get(key) ?? DEFAULT,
    isWritten: (key) => (origins.get(key) ?? DEFAULT) !== DEFAULT,
  };
  const found = contradictions(resolved);
  return found.length > 0 ? { problems: found } : { resolved };
}

const tableOrigin = (sources: readonly Source[], topic: string): string =>
  sources.find(({ topics }) => topics.has(topic))?.documentFrom ?? DEFAULT;

/**
 * Which topics there are. A list of higher rank than the file's tables says which and how many, and the tables still give
 * the topics in it their settings; without a list the tables are the list.
 */
function namesAndCounts(
  sources: readonly Source[],
  list: readonly TopicCount[] | undefined,
  tables: ReadonlyMap<string, Map<string, Entry>>,
  partitionsIn: (name: string, entry: Entry) => number | undefined,
  problems: string[],
): readonly TopicCount[] {
  for (const name of tables.keys()) {
    if (isTopicName(name)) continue;
    problems.push(`topics.${name}: not the name of a topic (${tableOrigin(sources, name)}); takes ${TOPIC_NAME_RULE}`);
  }
  if (tables.size === 0 || sources.some((source) => source.entries.has("topics"))) return list ?? [];
  const counts: TopicCount[] = [];
  for (const [name, table] of tables) {
    const entry = table.get("partitions");
    if (entry === undefined) {
      problems.push(
        `topics.${name}.partitions: missing (${tableOrigin(sources, name)}); takes ${factsOf(partitionCount).takes}`,
      );
      continue;
    }
    const partitions = partitionsIn(name, entry);
    if (partitions !== undefined) counts.push({ name, partitions });
  }
  return counts;
}
