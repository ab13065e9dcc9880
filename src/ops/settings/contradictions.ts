// Settings that are sound one by one and cannot hold together. Each sentence names both keys, both values and both origins.

import { factsOf } from "./kinds.js";
import { topicOrigin } from "./own.js";
import type { Resolved } from "./resolve.js";
import { rowOf, type SettingKey } from "./table.js";

type SizeKey = {
  [K in SettingKey]: Resolved["settings"][K] extends number ? K : never;
}[SettingKey];

export function contradictions(resolved: Resolved): string[] {
  const { settings, topics } = resolved;
  const found: string[] = [];
  const told = (key: string, value: unknown, of: SettingKey): string =>
    `${key} = ${factsOf(rowOf(of).kind).show(value)} (${resolved.origin(key)})`;
  const atLeast = (large: SizeKey, small: SizeKey, why: string): void => {
    if (settings[large] >= settings[small]) return;
    found.push(
      `${told(large, settings[large], large)} is below ${told(small, settings[small], small)}: ${why}; ` +
        `${large} takes at least ${small}`,
    );
  };

  atLeast("fetch.max.bytes", "max.frame.bytes", "a record of the largest request could not be fetched");
  atLeast("connection.queued.bytes.max", "max.frame.bytes", "the largest request could not be gathered");
  atLeast("queued.bytes.max", "connection.queued.bytes.max", "no connection could reach its own bound");

  const frame = settings["max.frame.bytes"];
  for (const topic of topics) {
    const key = topicKey(resolved, topic.name, "segment.bytes");
    if (topic["segment.bytes"] <= frame) {
      found.push(
        `${told(key, topic["segment.bytes"], "segment.bytes")} is not larger than ` +
          `${told("max.frame.bytes", frame, "max.frame.bytes")}: a segment must be larger than the largest request`,
      );
    }
    if (topic["segment.bytes"] <= settings["index.interval.bytes"]) {
      found.push(
        `${told("index.interval.bytes", settings["index.interval.bytes"], "index.interval.bytes")} is not below ` +
          `${told(key, topic["segment.bytes"], "segment.bytes")}: a segment would have no index`,
      );
    }
    const other = topics.find((one) => one !== topic && one.name.toLowerCase() === topic.name.toLowerCase());
    if (other !== undefined && topic.name < other.name) {
      found.push(
        `topics: ${bothWithOrigins(resolved, topic.name, other.name)} differ only by case, ` +
          "and would be one directory on some file systems",
      );
    }
  }
  if (settings["ops.enabled"] && settings.port !== 0 && settings.port === settings["ops.port"]) {
    found.push(
      `${told("port", settings.port, "port")} is also ${told("ops.port", settings["ops.port"], "ops.port")}: ` +
        "both cannot listen there",
    );
  }
  return [...new Set(found)];
}

/** Each with where it is named, once when that is the same place. */
function bothWithOrigins(resolved: Resolved, one: string, other: string): string {
  const origins = [topicOrigin(resolved, one), topicOrigin(resolved, other)];
  return origins[0] === origins[1]
    ? `${one} and ${other} (${origins[0]})`
    : `${one} (${origins[0]}) and ${other} (${origins[1]})`;
}

/** The topic's own key when its table has one, else the general one. */
function topicKey(resolved: Resolved, topic: string, key: SettingKey): string {
  const own = `topics.${topic}.${key}`;
  return resolved.origin(own) === resolved.origin(key) ? key : own;
}
