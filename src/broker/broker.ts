// The broker without its sockets: the data directory, the partitions in it, and what is done with them besides requests
// (retention, the space on the disk, health). A server, or several that speak different protocols, stand on top.

import { Scheduler } from "../log/scheduler.js";
import type { Clock, Timers } from "../model/clock.js";
import { MillraceError } from "../model/errors.js";
import { APPEND_TURN_BYTES, APPEND_TURN_ROWS, DISK_CHECK_MS, OPEN_PARTITIONS_AT_ONCE } from "../model/limits.js";
import { AppendTurn } from "../storage/append-turn.js";
import { FileSystemSpace } from "../storage/disk-space.js";
import { FilePool } from "../storage/file-pool.js";
import { IndexCache } from "../storage/index-cache.js";
import type { PartitionLog } from "../storage/partition-log.js";
import { PopulateBudget } from "../storage/populate-window.js";
import { Catalog } from "./catalog.js";
import { ClosingTrouble } from "./closing-trouble.js";
import { Counters } from "./counters.js";
import { type DataDir, partitionDirectory } from "./data-dir.js";
import { DiskWatch } from "./disk-watch.js";
import { FetchWaits } from "./fetch-waits.js";
import { foreseen } from "./foreseen.js";
import { forEachBounded, openPartitions } from "./open-partitions.js";
import type { BrokerOptions, OperatorLog } from "./options.js";
import { planTopics } from "./plan-topics.js";
import { Presence } from "./presence.js";
import { storageEvents } from "./storage-events.js";
import type { Partition } from "./topic.js";
import { UnacknowledgedErrors } from "./unacknowledged.js";

export interface BrokerDeps {
  readonly clock: Clock;
  /** Milliseconds on a clock that never goes back: for deadlines. */
  readonly monotonicNow: () => number;
  readonly timers: Timers;
  readonly log: OperatorLog;
}

export interface PartitionTrouble {
  readonly partition: string;
  readonly dir: string;
  readonly reason: string;
}

export interface BrokerHealth {
  /** Partitions that refused to open. */
  readonly refused: readonly PartitionTrouble[];
  /** Partitions that opened and refuse writes since a write or a barrier failed. */
  readonly poisoned: readonly PartitionTrouble[];
  /** Produces get LOG_FULL. */
  readonly diskFull: boolean;
  /** What may still be written before produces get LOG_FULL, and what would have to become free before they do not. */
  readonly diskAvailableBytes: number;
  readonly diskMissingBytes: number;
}

export class Broker {
  readonly unacknowledged: UnacknowledgedErrors;
  readonly waits: FetchWaits;
  private readonly cancels = new Set<() => void>();
  private readonly disk: DiskWatch;
  private readonly presence: Presence;
  private closing = false;

  private constructor(
    readonly options: BrokerOptions,
    readonly catalog: Catalog,
    readonly scheduler: Scheduler,
    private readonly dataDir: DataDir,
    space: FileSystemSpace,
    private readonly trouble: ClosingTrouble,
    readonly counters: Counters,
    private readonly deps: BrokerDeps,
  ) {
    this.disk = new DiskWatch(space, options.dataDir, options.diskReserveBytes, deps.log);
    this.presence = new Presence(options.dataDir, catalog.partitions);
    this.waits = new FetchWaits(catalog.partitions, deps.monotonicNow, deps.timers);
    this.unacknowledged = new UnacknowledgedErrors(
      this.counters,
      deps.timers,
      deps.log,
      (index) => catalog.partitions[index].name,
    );
  }

  /** Takes the directory over. Throws BAD_CONFIG or, when no partition opens, DATA_DIR_UNUSABLE; nothing stays open then. */
  static async open(options: BrokerOptions, dataDir: DataDir, deps: BrokerDeps): Promise<Broker> {
    const catalog = new Catalog(options.topics, (topic, partition) =>
      partitionDirectory(options.dataDir, topic, partition),
    );
    const trouble = new ClosingTrouble();
    const counters = new Counters();
    try {
      const plan = planTopics(catalog, dataDir.partitions, deps.log);
      const space = await FileSystemSpace.open(options.dataDir, options.diskReserveBytes, deps.clock);
      const scheduler = new Scheduler(
        { turnBytes: APPEND_TURN_BYTES, queuedBytesMax: options.queuedBytesMax },
        new AppendTurn(APPEND_TURN_ROWS, deps.clock),
      );
      const storage = {
        clock: deps.clock,
        indexCache: new IndexCache(options.indexCacheBytes),
        files: new FilePool(options.sealedFilesMax),
        space,
        populate: new PopulateBudget(options.populateAheadMax),
        log: trouble.hears(storageEvents(deps.log, counters)),
      };
      await openPartitions(plan, options, { storage, scheduler, timers: deps.timers, log: deps.log });
      const first = catalog.partitions.find(({ refusal }) => refusal !== undefined);
      if (catalog.partitions.every(({ writer }) => writer === undefined)) {
        throw new MillraceError("DATA_DIR_UNUSABLE", `no partition opens; ${first?.name}: ${first?.refusal?.message}`, {
          cause: first?.refusal,
        });
      }
      const broker = new Broker(options, catalog, scheduler, dataDir, space, trouble, counters, deps);
      broker.watch();
      return broker;
    } catch (error) {
      await closePartitions(catalog.partitions, trouble, deps.log);
      dataDir.release();
      throw error;
    }
  }

  health(): BrokerHealth {
    const refused: PartitionTrouble[] = [];
    const poisoned: PartitionTrouble[] = [];
    for (const { name, dir, refusal, log } of this.catalog.partitions) {
      if (refusal !== undefined) refused.push({ partition: name, dir, reason: refusal.message });
      else if (log?.poisoned !== undefined) poisoned.push({ partition: name, dir, reason: log.poisoned.message });
    }
    const { isFull, availableBytes, missingBytes } = this.disk;
    return { refused, poisoned, diskFull: isFull, diskAvailableBytes: availableBytes, diskMissingBytes: missingBytes };
  }

  /** What may still be written before produces get LOG_FULL. */
  get diskAvailableBytes(): number {
    return this.disk.availableBytes;
  }

  /** A read of the disk for a fetch failed. The reader is told STORAGE_FAILURE; here is why. */
  readFailed(log: PartitionLog, cause: unknown): void {
    this.deps.log.error({ kind: "fetch.read-failed", dir: log.dir, err: foreseen(cause) }, "a read for a fetch failed");
  }

  /** Resolves when everything that was offered is forced and answered. A poisoned partition has answered already. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.catalog.partitions.map(({ writer }) => writer?.force()));
  }

  /** Closes every partition, so that the next start has nothing to recover. False when one could not be closed cleanly. */
  async close(): Promise<boolean> {
    this.closing = true;
    for (const cancel of this.cancels) cancel();
    this.cancels.clear();
    // The last chance to notice: closing what is gone would succeed in part.
    await this.presence.lookAtAll();
    const clean = await closePartitions(this.catalog.partitions, this.trouble, this.deps.log);
    this.dataDir.release();
    return clean;
  }

  private watch(): void {
    this.disk.begin();
    for (const { writer } of this.catalog.partitions)
      if (writer !== undefined) writer.onFull = (neededBytes) => this.disk.refused(neededBytes);
    this.repeat(this.options.retentionCheckMs, () => this.applyRetention());
    this.repeat(DISK_CHECK_MS, () => this.disk.look());
    this.repeat(DISK_CHECK_MS, () => this.presence.look());
  }

  private async applyRetention(): Promise<void> {
    for (const { log, name, index } of this.catalog.partitions) {
      if (log === undefined || this.closing) continue;
      try {
        await log.applyRetention();
        // A writer knows nothing of it, and a fetch may wait for what is gone.
        this.waits.changed(index);
      } catch (error) {
        this.deps.log.error(
          { kind: "retention.failed", partition: name, err: foreseen(error) },
          `retention of ${name} failed`,
        );
      }
    }
  }

  /** Calls `action` every `ms`, counted from its end, until the broker closes. `action` does not reject. */
  private repeat(ms: number, action: () => Promise<void>): void {
    const cancel = this.deps.timers.after(ms, () => {
      this.cancels.delete(cancel);
      void action().then(() => {
        if (!this.closing) this.repeat(ms, action);
      });
    });
    this.cancels.add(cancel);
  }
}

async function closePartitions(
  partitions: readonly Partition[],
  trouble: ClosingTrouble,
  log: OperatorLog,
): Promise<boolean> {
  let clean = true;
  trouble.begin();
  await forEachBounded(partitions, OPEN_PARTITIONS_AT_ONCE, async ({ writer, name }) => {
    if (writer === undefined) return;
    try {
      await writer.close();
      // It closes without a word then: what waited was told when it failed.
      if (writer.log.poisoned !== undefined) throw writer.log.poisoned;
      trouble.throwFor(writer.log.dir);
    } catch (error) {
      clean = false;
      log.error(
        { kind: "partition.close-failed", partition: name, err: foreseen(error) },
        `${name} could not be closed cleanly`,
      );
    }
  });
  return clean;
}
