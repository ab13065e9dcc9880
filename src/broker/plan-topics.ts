// Compares the topics that are configured with the partitions that lie in the data directory, before anything is made or
// opened: what may not be (fewer partitions than before, names that differ only by case) is a refusal to start.

import { MillraceError } from "../model/errors.js";
import { counted } from "../model/plural.js";
import type { Catalog } from "./catalog.js";
import type { OperatorLog } from "./options.js";
import type { Partition } from "./topic.js";

export interface TopicPlan {
  /** There already, opened first: a topic's record format is theirs. */
  readonly existing: readonly Partition[];
  /** To be made, in this order. */
  readonly added: readonly Partition[];
  /** Their directory is gone while later ones of the topic are there: somebody removed it. An empty one in its place would hide that. */
  readonly missing: readonly Partition[];
}

/** Throws BAD_CONFIG. */
export function planTopics(
  catalog: Catalog,
  onDisk: ReadonlyMap<string, readonly number[]>,
  log: OperatorLog,
): TopicPlan {
  const plan = { existing: [] as Partition[], added: [] as Partition[], missing: [] as Partition[] };
  const byLowerCase = new Map([...onDisk.keys()].map((name) => [name.toLowerCase(), name]));
  for (const topic of catalog.topics) {
    const numbers = onDisk.get(topic.name) ?? [];
    const sameButCase = byLowerCase.get(topic.name.toLowerCase());
    if (numbers.length === 0 && sameButCase !== undefined) {
      throw new MillraceError(
        "BAD_CONFIG",
        `topics: ${topic.name} differs only by case from ${sameButCase}, which lies in the data directory, and would be ` +
          "one directory with it on some file systems",
      );
    }
    const count = (numbers.at(-1) ?? -1) + 1;
    if (count > topic.partitions.length) {
      throw new MillraceError(
        "BAD_CONFIG",
        `topics: got ${topic.name}:${topic.partitions.length}, and ${topic.name} has ${counted(count, "partition")} in the data ` +
          `directory; takes ${count} or more (partitions are added, never taken away)`,
      );
    }
    const there = new Set(numbers);
    for (const partition of topic.partitions) {
      if (there.has(partition.id)) plan.existing.push(partition);
      else if (partition.id < count) plan.missing.push(partition);
      else plan.added.push(partition);
    }
  }
  for (const [name, numbers] of onDisk) {
    if (catalog.named(name) !== undefined) continue;
    log.info(
      { kind: "topic.not-configured", topic: name, partitions: numbers.length },
      `${name} is not configured: left alone`,
    );
  }
  return plan;
}
