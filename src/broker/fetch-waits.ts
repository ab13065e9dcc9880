// Fetches that wait, for all partitions of a broker: what happens to partitions in a turn is gathered, and at the turn's end
// those are looked at whom it may concern, each once. It knows neither requests nor connections.

import { PartitionNews } from "../log/waiting/partition-news.js";
import { Purgatory } from "../log/waiting/purgatory.js";
import { WaitedPartitions } from "../log/waiting/waited-partitions.js";
import type { WaitingFetch } from "../log/waiting/waiting-fetch.js";
import type { Timers } from "../model/clock.js";
import { LOOKS_PER_TURN } from "../model/limits.js";
import type { Partition } from "./topic.js";

export class FetchWaits {
  readonly purgatory: Purgatory;
  readonly partitions: WaitedPartitions;
  /** A wait is over, however it ended: the fetch is to be answered with what there is. */
  onCompleted: (fetch: WaitingFetch) => void = () => undefined;
  /** Asks whoever drives this to call `wake` soon. */
  onWork: () => void = () => undefined;
  private readonly news: PartitionNews;
  /** Places of partitions that something has happened to since the last `wake`, each once. */
  private readonly changedOnes: number[] = [];
  private readonly isChanged: Uint8Array;

  constructor(
    partitions: readonly Partition[],
    /** Milliseconds on a clock that never goes back. */
    readonly now: () => number,
    timers: Timers,
  ) {
    this.partitions = new WaitedPartitions(partitions);
    const completed = (fetch: WaitingFetch): void => this.onCompleted(fetch);
    this.purgatory = new Purgatory({ partitions: this.partitions, now, timers, completed });
    this.news = new PartitionNews(partitions, this.purgatory);
    this.isChanged = new Uint8Array(partitions.length);
    for (const { writer, index } of partitions) {
      if (writer !== undefined) writer.onPublished = () => this.changed(index);
    }
  }

  /** Something may have happened to the partition. Costs nothing while nobody waits. */
  changed(index: number): void {
    if (this.purgatory.waiting === 0 || this.isChanged[index] === 1) return;
    this.isChanged[index] = 1;
    this.changedOnes.push(index);
    this.onWork();
  }

  /** Ends the waits that the news of this turn end. True: there was too much of it for one turn. */
  wake(): boolean {
    const { purgatory, changedOnes } = this;
    // Most turns of a busy broker.
    if (changedOnes.length === 0 && !purgatory.hasMore) return false;
    purgatory.proceed(LOOKS_PER_TURN);
    for (const index of changedOnes) {
      this.isChanged[index] = 0;
      this.news.changed(index);
    }
    changedOnes.length = 0;
    return purgatory.hasMore;
  }
}
