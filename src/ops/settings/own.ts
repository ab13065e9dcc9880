// What a topic has for itself: the settings of its table, and where it is named. It judges nothing.

import { factsOf } from "./kinds.js";
import type { Resolved } from "./resolve.js";
import { perTopicKeys, rowOf } from "./table.js";

/** A setting that a topic has for itself. */
export interface OwnSetting {
  readonly topic: string;
  readonly key: string;
  /** As somebody would write it. */
  readonly value: string;
  readonly origin: string;
}

const found = new WeakMap<Resolved, readonly OwnSetting[]>();

/** Of all topics, by name and key. Found once: with ten thousand topics it takes longer than an answer may. */
export function ownSettings(resolved: Resolved): readonly OwnSetting[] {
  const before = found.get(resolved);
  if (before !== undefined) return before;
  const own = resolved.topics.flatMap((topic) =>
    perTopicKeys.flatMap((key) => {
      const origin = resolved.origin(`topics.${topic.name}.${key}`);
      if (origin === resolved.origin(key)) return [];
      return [
        { topic: topic.name, key, value: factsOf(rowOf(key).kind).show(topic[key as keyof typeof topic]), origin },
      ];
    }),
  );
  found.set(resolved, own);
  return own;
}

/** Where a topic and its number of partitions come from: its table, or the list. */
export function topicOrigin(resolved: Resolved, topic: string): string {
  const own = `topics.${topic}.partitions`;
  return resolved.isWritten(own) ? resolved.origin(own) : resolved.origin("topics");
}
