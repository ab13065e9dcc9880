// Which partitions a topic has got since it was last looked at. A broker takes them up when it is restarted, so an outage comes before.
// For topics of more partitions than one subscription reads: a smaller one's finds them by itself.

import { setTimeout as sleep } from "node:timers/promises";
import type { CheckpointStore } from "../../client/checkpoint/store.js";
import type { Backend } from "../../client/link.js";
import { isRetriable } from "../../client/retriable.js";
import { knownStart } from "../../client/start-position.js";
import { CLIENT_RECONNECT_MS_MAX } from "../../model/limits.js";
import type { PartitionMetadata } from "../../protocol/metadata.js";

export class AddedPartitions {
  private readonly known: Set<number>;
  private readonly closing = new AbortController();
  private looking: Promise<readonly number[]> = Promise.resolve([]);

  constructor(
    private readonly backend: Backend,
    private readonly topic: string,
    partitions: readonly number[],
    /** Is told where they begin: they would not begin there the next time when that is to begin at the end. */
    private readonly store: CheckpointStore | undefined,
  ) {
    this.known = new Set(partitions);
  }

  /** Those that are open and were not known; one look after the other. Rejects with what another try does not put right. */
  look(): Promise<readonly number[]> {
    this.looking = this.looking.then(() => this.found());
    return this.looking;
  }

  close(): void {
    this.closing.abort();
  }

  private async found(): Promise<readonly number[]> {
    const { topic, known } = this;
    const added = (await this.partitions()).filter(
      ({ partition, highWatermark }) => highWatermark >= 0 && !known.has(partition),
    );
    if (added.length === 0) return [];
    await this.store?.save(
      added.map((each) => ({ topic, partition: each.partition, ...knownStart("earliest", each) })),
    );
    for (const { partition } of added) known.add(partition);
    return added.map(({ partition }) => partition);
  }

  /** None when it is closed meanwhile. */
  private async partitions(): Promise<readonly PartitionMetadata[]> {
    const { signal } = this.closing;
    while (!signal.aborted) {
      try {
        const link = await this.backend.connect();
        try {
          const [metadata] = await link.metadata([this.topic]);
          return metadata?.partitions ?? [];
        } finally {
          link.destroy();
        }
      } catch (error) {
        if (!isRetriable(error)) throw error;
        await sleep(CLIENT_RECONNECT_MS_MAX, undefined, { signal }).catch(() => undefined);
      }
    }
    return [];
  }
}
