// Each partition to where it ended at the start, one after the other.

import type { Connection } from "../../client/connection.js";
import { Consumer } from "../../client/consumer.js";
import type { ReadBounds } from "../../client/read-bounds.js";
import type { RecordBatch } from "../../client/record-batch.js";
import { type Start, type StartPosition, startOf } from "../../client/start-position.js";
import type { PartitionMetadata, TopicMetadata } from "../../protocol/metadata.js";
import type { Printer } from "./printer.js";

/** What is read of one partition, and from where on. */
export interface Part {
  readonly metadata: PartitionMetadata;
  readonly start: Start;
}

/** `kept`: where partitions were left; the others begin at `from`. */
export function partsOf(
  connection: Connection,
  topic: string,
  partitions: readonly PartitionMetadata[],
  from: StartPosition,
  kept: ReadonlyMap<number, Start>,
): Promise<Part[]> {
  return Promise.all(
    partitions.map(async (metadata) => {
      const start = kept.get(metadata.partition) ?? (await startOf(from, topic, metadata, connection));
      return { metadata, start };
    }),
  );
}

/** How many records there are in all of them. */
export const recordsIn = (parts: readonly Part[]): number =>
  parts.reduce((sum, { metadata, start }) => sum + Math.max(0, metadata.highWatermark - start.offset), 0);

export function consumersOf(
  connection: Connection,
  { topic, recordFormat }: TopicMetadata,
  parts: readonly Part[],
  bounds: ReadBounds,
): Consumer[] {
  return parts.map(({ metadata, start }) => {
    const options = { topic, partition: metadata.partition, ...bounds };
    return new Consumer(connection, options, recordFormat, metadata, start);
  });
}

/** `isResumed`: the positions are from another time, and whether they can be is asked also where nothing is left to read. */
export async function printUntilEnd(
  consumers: readonly Consumer[],
  printer: Printer,
  isResumed: boolean,
): Promise<void> {
  for (const consumer of consumers) {
    const end = consumer.highWatermark;
    if (consumer.position >= end && !isResumed) continue;
    let next = pollAhead(consumer);
    while (!printer.isDone) {
      const batch = await next;
      const more = consumer.position < end;
      // The next answer is on its way while this one is printed.
      if (more) next = pollAhead(consumer);
      await printer.print(batch, end);
      if (!more) break;
    }
  }
}

/** A poll that may be left behind: when printing fails, nobody waits for it any more. */
function pollAhead(consumer: Consumer): Promise<RecordBatch> {
  const batch = consumer.poll();
  batch.catch(() => undefined);
  return batch;
}
