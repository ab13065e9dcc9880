// Which topics there are, found by the bytes of a name as they lie in a request: no string is made for a lookup. The set is
// fixed while the broker runs. It opens nothing.

import { invariant } from "../model/invariant.js";
import type { TopicOptions } from "./options.js";
import { Partition, Topic } from "./topic.js";

/** FNV-1a over the bytes of a name. */
function hash(bytes: Uint8Array, from: number, length: number): number {
  let h = 0x811c9dc5 | 0;
  for (let at = from; at < from + length; at++) h = Math.imul(h ^ bytes[at], 0x01000193);
  return h;
}

export function isNameOf(topic: Topic, bytes: Uint8Array, from: number, length: number): boolean {
  const name = topic.nameBytes;
  if (name.length !== length) return false;
  for (let i = 0; i < length; i++) if (name[i] !== bytes[from + i]) return false;
  return true;
}

export class Catalog {
  /** Sorted by name. */
  readonly topics: readonly Topic[];
  /** Every partition of every topic, by {@link Partition.index}. */
  readonly partitions: readonly Partition[];
  /** Open addressing: place in `topics` plus one, 0 for a free cell. At most half full, so a search ends soon. */
  private readonly cells: Int32Array;
  private readonly byName: ReadonlyMap<string, Topic>;

  constructor(options: readonly TopicOptions[], directoryOf: (topic: string, partition: number) => string) {
    const partitions: Partition[] = [];
    this.topics = [...options]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((topicOptions) => {
        const topic = new Topic(topicOptions);
        for (let id = 0; id < topicOptions.partitions; id++) {
          const partition = new Partition(topic, id, partitions.length, directoryOf(topic.name, id));
          topic.partitions.push(partition);
          partitions.push(partition);
        }
        return topic;
      });
    this.partitions = partitions;
    this.byName = new Map(this.topics.map((topic) => [topic.name, topic]));
    this.cells = new Int32Array(2 ** Math.ceil(Math.log2(this.topics.length * 2 + 2)));
    this.topics.forEach((topic, place) => {
      let cell = hash(topic.nameBytes, 0, topic.nameBytes.length) & (this.cells.length - 1);
      while (this.cells[cell] !== 0) cell = (cell + 1) & (this.cells.length - 1);
      this.cells[cell] = place + 1;
    });
    invariant(this.topics.length < this.cells.length, "the table of topics has a free cell where a search ends");
  }

  /** The topic whose name lies at `from`, or undefined. */
  find(bytes: Uint8Array, from: number, length: number): Topic | undefined {
    const mask = this.cells.length - 1;
    for (let cell = hash(bytes, from, length) & mask; ; cell = (cell + 1) & mask) {
      const place = this.cells[cell];
      if (place === 0) return undefined;
      const topic = this.topics[place - 1];
      if (isNameOf(topic, bytes, from, length)) return topic;
    }
  }

  /** For names that are strings already. */
  named(name: string): Topic | undefined {
    return this.byName.get(name);
  }

  /** A set of topics in the order of the catalog. */
  sorted(topics: ReadonlySet<Topic>): readonly Topic[] {
    return this.topics.filter((topic) => topics.has(topic));
  }
}
