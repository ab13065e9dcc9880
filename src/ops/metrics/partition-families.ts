// Offsets and sizes of each partition. A line for each of 99 999 partitions and eight families would be 50 MB in every scrape,
// so only the first thousand partitions are shown, in the order of their names, and how many are left out is said. Which ones
// must not change from scrape to scrape, or a database would hold all of them in the end.

import type { Partition } from "../../broker/topic.js";
import { METRICS_PARTITIONS_MAX } from "../../model/limits.js";
import type { ServingSource } from "./families.js";
import { type Family, gauge, type Value } from "./family.js";

type Read = (partition: Partition) => number | undefined;

const family = (name: string, help: string, read: Read): Family<ServingSource> => ({
  name: `millrace_partition_${name}`,
  type: "gauge",
  help,
  labels: ["topic", "partition"],
  values: ({ broker }) => {
    const values: Value[] = [];
    for (const partition of broker.catalog.partitions.slice(0, METRICS_PARTITIONS_MAX)) {
      const value = read(partition);
      if (value === undefined) continue;
      values.push({ labels: { topic: partition.topic.name, partition: String(partition.id) }, value });
    }
    return values;
  },
});

export const partitionFamilies: readonly Family<ServingSource>[] = [
  {
    name: "millrace_partitions",
    type: "gauge",
    help: "Partitions: open, refused at the start, or poisoned since, which means that they take no writes.",
    labels: ["state"],
    values: ({ broker }) => {
      const { refused, poisoned } = broker.health();
      const open = broker.catalog.partitions.length - refused.length - poisoned.length;
      const byState = { open, refused: refused.length, poisoned: poisoned.length };
      return Object.entries(byState).map(([state, value]) => ({ labels: { state }, value }));
    },
  },
  gauge(
    "millrace_partitions_not_shown",
    `Partitions beyond the first ${METRICS_PARTITIONS_MAX}, of which nothing is said below.`,
    ({ broker }) => Math.max(0, broker.catalog.partitions.length - METRICS_PARTITIONS_MAX),
  ),
  family("log_start_offset", "The first offset that is there.", ({ log }) => log?.logStartOffset),
  family("high_watermark", "Up to where consumers may read.", ({ writer }) => writer?.highWatermark),
  family("durable_offset", "Up to where the log is forced to disk.", ({ log }) => log?.durableOffset),
  family("log_end_offset", "Up to where the log is written.", ({ log }) => log?.logEndOffset),
  family("epoch", "How often records may have been lost at a restart.", ({ log }) => log?.epoch),
  family("size_bytes", "Bytes of records in all segments.", ({ log }) => log?.bytes),
  family("segments", "Segments, the active one included.", ({ log }) => log?.segmentCount),
  family("writable", "1; 0 when it was refused or is poisoned.", ({ log }) =>
    Number(log !== undefined && log.poisoned === undefined),
  ),
];
