// From what the sources say to the settings of a broker: the higher rank wins, each value is checked by its kind, topics get
// their own settings, and contradictions are found. It collects every problem instead of stopping at the first, so that one
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

/** Sources in the order of their rank, highest first. */
export function resolve(sources: readonly Source[]): Resolution {
  const problems = sources.flatMap((source) => source.problems);
  const origins = new Map<string, string>();

  const check = <T>(name: string, kind: Kind<T>, entry: Entry): T | undefined => {
    const result = v.safeParse(kind, entry.value);
    origins.set(name, entry.from);
    if (result.success) return result.output;
    const why = whyNotTaken(result.issues);
    const got = `${name}: got ${JSON.stringify(entry.value)} (${entry.from})${why === undefined ? "" : `, and ${why}`}`;
    problems.push(`${got}; takes ${factsOf(kind).takes}`);
    return undefined;
  };

  const values: Partial<Record<SettingKey, unknown>> = {};
  for (const key of settingKeys) {
    const entry = sources.find((source) => source.entries.has(key))?.entries.get(key);
    values[key] = check(key, rowOf(key).kind, entry ?? { value: rowOf(key).default, from: DEFAULT });
  }

  const tables = new Map<string, Map<string, Entry>>();
  for (const source of sources)
    for (const [name, table] of source.topics) if (!tables.has(name)) tables.set(name, table);
  const listed = namesAndCounts(sources, values.topics as readonly TopicCount[] | undefined, tables, check, problems);

  const topics: TopicSettings[] = [];
  for (const { name, partitions } of listed) {
    const own: Record<string, unknown> = { name, partitions };
    for (const key of perTopicKeys) {
      const entry = tables.get(name)?.get(key);
      own[key] = entry === undefined ? values[key] : check(`topics.${name}.${key}`, rowOf(key).kind, entry);
      if (entry === undefined) origins.set(`topics.${name}.${key}`, origins.get(key) ?? DEFAULT);
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
  check: <T>(name: string, kind: Kind<T>, entry: Entry) => T | undefined,
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
    const partitions = check(`topics.${name}.partitions`, partitionCount, entry);
    if (partitions !== undefined) counts.push({ name, partitions });
  }
  return counts;
}
