// Logs by topic and partition: what an embedded client serves instead of a broker's catalog.

import { badTopic } from "../client/checks.js";
import { Log } from "../log/embedded.js";
import { LogGroup } from "../log/log-group.js";
import { badArgument } from "../model/arguments.js";
import { MillraceError } from "../model/errors.js";
import { partitionId } from "../model/ids.js";
import type { TopicMetadata } from "../protocol/metadata.js";

export class LogTopics {
  readonly group: LogGroup;
  /** Places in the group, by partition. */
  private readonly places = new Map<string, readonly number[]>();

  /** The logs of each topic, partition 0 first. Throws BAD_ARGUMENT. */
  constructor(topics: ReadonlyMap<string, readonly Log[]>) {
    const logs: Log[] = [];
    for (const [topic, partitions] of topics) {
      const bad = badTopic(topic) ?? badLogs(topic, partitions);
      if (bad !== undefined) throw bad;
      this.places.set(
        topic,
        partitions.map((log) => logs.push(log) - 1),
      );
    }
    if (new Set(logs).size < logs.length) {
      throw new MillraceError(
        "BAD_ARGUMENT",
        "topics: a log stands in two places, and would be two partitions at once",
      );
    }
    this.group = new LogGroup(logs);
    for (const [topic, places] of this.places) {
      const formats = new Set(places.map((place) => this.group.recordFormat(place)));
      // Metadata has one format for a topic, and whoever reads its partitions goes by that.
      if (formats.size === 1) continue;
      this.group.leave();
      const text = `topics.${topic}: its logs are of different record formats, ${[...formats].join(" and ")}`;
      throw new MillraceError("BAD_ARGUMENT", text);
    }
  }

  /** The place of a partition in the group; undefined: there is none. */
  place(topic: string, partition: number): number | undefined {
    return this.places.get(topic)?.[partition];
  }

  /** Sorted by name. Undefined: one that was named is not there. */
  describe(named: readonly string[]): TopicMetadata[] | undefined {
    const topics = [...new Set(named.length === 0 ? this.places.keys() : named)].sort();
    const found: TopicMetadata[] = [];
    for (const topic of topics) {
      const places = this.places.get(topic);
      if (places === undefined) return undefined;
      const partitions = places.map((place, number) => {
        const { epoch, logStartOffset, highWatermark, durableOffset, logEndOffset } = this.group.state(place);
        return { partition: partitionId(number), epoch, logStartOffset, highWatermark, durableOffset, logEndOffset };
      });
      found.push({ topic, recordFormat: this.group.recordFormat(places[0]), partitions });
    }
    return found;
  }

  /** Throws CLOSED when one of the logs of these topics (none: all) was closed. */
  throwIfClosed(topics: readonly string[]): void {
    for (const topic of topics.length === 0 ? this.places.keys() : topics) {
      for (const place of this.places.get(topic) ?? []) this.group.throwIfClosed(place);
    }
  }
}

function badLogs(topic: string, logs: readonly Log[]): MillraceError | undefined {
  if (logs.length === 0) return badArgument(`topics.${topic}`, logs, "at least one log");
  for (const log of logs) if (!(log instanceof Log)) return badArgument(`topics.${topic}`, log, "a log from openLog");
  return undefined;
}
