// Waiting reads of embedded logs, as promises, on the same purgatory as the broker's fetches. A read that waits holds
// nothing but its promise; a process whose only work is to wait for one stays alive. Knows nothing of how records are read.

import { holdProcess, systemTimers } from "../model/clock.js";
import { FETCH_LOADS_MAX } from "../model/limits.js";
import type { PartitionLog } from "../storage/partition-log.js";
import type { PartitionWriter } from "./partition-writer.js";
import type { Isolation } from "./waiting/isolation.js";
import { PartitionNews } from "./waiting/partition-news.js";
import { Purgatory } from "./waiting/purgatory.js";
import { WaitedPartitions } from "./waiting/waited-partitions.js";
import { WaitingFetch, WaitPart } from "./waiting/waiting-fetch.js";

/** From where in one log somebody waits to read. */
export interface ReadFrom {
  /** The log's place among the writers. */
  readonly place: number;
  readonly offset: number;
  readonly maxBytes: number;
  /** Under which the offset was got; −1: the reader has seen no other than this one. */
  readonly epoch: number;
  readonly isolation: Isolation;
}

export interface ReadWait {
  readonly maxBytes: number;
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly minRecords: number;
  readonly signal: AbortSignal | undefined;
}

/** How a wait went: two different facts. */
export interface WaitOutcome {
  /** The first look did not find enough, so it waited. */
  readonly parked: boolean;
  /** The time was over before there was enough. */
  readonly timedOut: boolean;
}

export class ReadWaits {
  readonly #writers: readonly PartitionWriter<PartitionLog>[];
  readonly #partitions: WaitedPartitions;
  readonly #purgatory: Purgatory;
  readonly #news: PartitionNews;
  readonly #ended = new Map<WaitingFetch, () => void>();
  readonly #gone = new Set<number>();
  /** Keeps the process while somebody waits: the timers of the log itself do not. */
  #letGo: (() => void) | undefined;

  constructor(writers: readonly PartitionWriter<PartitionLog>[]) {
    const partitions = writers.map((writer) => ({ writer }));
    this.#writers = writers;
    this.#partitions = new WaitedPartitions(partitions);
    this.#purgatory = new Purgatory({
      partitions: this.#partitions,
      now: () => performance.now(),
      timers: systemTimers,
      completed: (fetch) => this.#ended.get(fetch)?.(),
    });
    this.#news = new PartitionNews(partitions, this.#purgatory);
  }

  /** To be called when a writer has published something, and when retention has run. */
  changed(place: number): void {
    this.#news.changed(place);
  }

  /**
   * Resolves when a read would get what it asks for, when it would get no more by waiting (an older segment, an error), when
   * the time is over, or when it is let go. Rejects with the signal's reason.
   */
  async wait(
    from: readonly ReadFrom[],
    { maxBytes, maxWaitMs, minBytes, minRecords, signal }: ReadWait,
  ): Promise<WaitOutcome> {
    signal?.throwIfAborted();
    const fetch = new WaitingFetch(0, minBytes, minRecords, maxBytes, performance.now() + maxWaitMs);
    fetch.parts = from.map((each) => {
      return new WaitPart(fetch, each.place, each.isolation, each.epoch, each.offset, each.maxBytes);
    });
    for (let loads = 0; ; loads++) {
      const cold = fetch.parts.filter((part) => !this.#partitions.locate(part));
      if (cold.length === 0) break;
      // They push each other out of the caches: what is there is read without waiting.
      if (loads === FETCH_LOADS_MAX) return fetch;
      await Promise.all(cold.map(({ partition, offset }) => this.#writers[partition].log.load(offset)));
      signal?.throwIfAborted();
    }
    // Closed while the disk was read: nothing would end the wait.
    if (from.some(({ place }) => this.#gone.has(place))) return fetch;
    // In the same step as the last look: no record can come in between.
    if (this.#purgatory.park(fetch)) await this.#end(fetch, signal);
    return fetch;
  }

  /** Lets all go: each reads what there is. Nobody waits after that. */
  release(): void {
    this.#purgatory.releaseAll();
  }

  /** The same for those alone that wait for this one among others; nobody waits for it after that. */
  releaseFrom(place: number): void {
    this.#gone.add(place);
    for (const fetch of [...this.#ended.keys()]) {
      if (fetch.parts.some(({ partition }) => partition === place)) this.#purgatory.release(fetch);
    }
  }

  async #end(fetch: WaitingFetch, signal: AbortSignal | undefined): Promise<void> {
    let stop: (() => void) | undefined;
    this.#letGo ??= holdProcess();
    try {
      await new Promise<void>((resolve, reject) => {
        this.#ended.set(fetch, resolve);
        stop = () => {
          this.#purgatory.cancel(fetch);
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", stop, { once: true });
      });
    } finally {
      if (stop !== undefined) signal?.removeEventListener("abort", stop);
      this.#ended.delete(fetch);
      if (this.#ended.size === 0) {
        this.#letGo?.();
        this.#letGo = undefined;
      }
    }
  }
}
