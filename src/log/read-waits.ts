// Waiting reads of an embedded log, as promises, on the same purgatory as the broker's fetches. A read that waits holds
// nothing but its promise; a process whose only work is to wait for one stays alive. Knows nothing of how records are read.

import { holdProcess, systemTimers } from "../model/clock.js";
import type { PartitionLog } from "../storage/partition-log.js";
import type { PartitionWriter } from "./partition-writer.js";
import { Isolation } from "./waiting/isolation.js";
import { PartitionNews } from "./waiting/partition-news.js";
import { Purgatory } from "./waiting/purgatory.js";
import { WaitedPartitions } from "./waiting/waited-partitions.js";
import { WaitingFetch, WaitPart } from "./waiting/waiting-fetch.js";

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

/** There is one partition. */
const PARTITION = 0;
/** A reader that looks at its own log has seen no other epoch. */
const ANY_EPOCH = -1;

export class ReadWaits {
  readonly #log: PartitionLog;
  readonly #partitions: WaitedPartitions;
  readonly #purgatory: Purgatory;
  readonly #news: PartitionNews;
  readonly #ended = new Map<WaitingFetch, () => void>();
  /** Keeps the process while somebody waits: the timers of the log itself do not. */
  #letGo: (() => void) | undefined;

  constructor(writer: PartitionWriter<PartitionLog>) {
    this.#log = writer.log;
    this.#partitions = new WaitedPartitions([{ writer }]);
    this.#purgatory = new Purgatory({
      partitions: this.#partitions,
      now: () => performance.now(),
      timers: systemTimers,
      completed: (fetch) => this.#ended.get(fetch)?.(),
    });
    this.#news = new PartitionNews([{ writer }], this.#purgatory);
    writer.onPublished = () => this.changed();
  }

  /** To be called when retention has run; the writer tells of everything else. */
  changed(): void {
    this.#news.changed(PARTITION);
  }

  /**
   * Resolves when a read from `from` on would get what it asks for, when it would get no more by waiting (an older segment,
   * an error), when the time is over, or when all are let go. Rejects with the signal's reason.
   */
  async wait(from: number, { maxBytes, maxWaitMs, minBytes, minRecords, signal }: ReadWait): Promise<WaitOutcome> {
    signal?.throwIfAborted();
    const fetch = new WaitingFetch(0, minBytes, minRecords, maxBytes, performance.now() + maxWaitMs);
    const part = new WaitPart(fetch, PARTITION, Isolation.HIGH_WATERMARK, ANY_EPOCH, from, maxBytes);
    fetch.parts.push(part);
    while (!this.#partitions.locate(part)) await this.#log.load(from);
    signal?.throwIfAborted();
    if (this.#purgatory.park(fetch)) await this.#end(fetch, signal);
    return fetch;
  }

  /** Lets all go: each reads what there is. Nobody waits after that. */
  release(): void {
    this.#purgatory.releaseAll();
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
