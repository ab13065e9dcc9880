// Opens all partitions of a catalog, several at a time. One that refuses is kept with its reason and does not keep the
// others from serving; what concerns the configuration is thrown. It must not know connections.

import { mkdir } from "node:fs/promises";
import { PartitionWriter } from "../log/partition-writer.js";
import type { Scheduler } from "../log/scheduler.js";
import type { Timers } from "../model/clock.js";
import { MillraceError } from "../model/errors.js";
import { OPEN_PARTITIONS_AT_ONCE } from "../model/limits.js";
import type { RecordFormat } from "../model/record-format.js";
import { native } from "../native/binding.js";
import { IS_MISSING } from "../storage/missing-partitions.js";
import type { StorageDeps } from "../storage/options.js";
import { PartitionLog } from "../storage/partition-log.js";
import { foreseen } from "./foreseen.js";
import type { BrokerOptions, OperatorLog, TopicOptions } from "./options.js";
import type { TopicPlan } from "./plan-topics.js";
import type { Partition, Topic } from "./topic.js";

export interface OpenDeps {
  readonly storage: StorageDeps;
  readonly scheduler: Scheduler;
  readonly timers: Timers;
  readonly log: OperatorLog;
}

/** Runs `action` over all items, `atOnce` of them at a time. The first rejection ends it when those that run have ended. */
export async function forEachBounded<T>(items: readonly T[], atOnce: number, action: (item: T) => Promise<void>) {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) await action(items[next++]);
  };
  const results = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

/** Every partition of the plan has its writer or its refusal afterwards. Throws BAD_CONFIG; the caller closes what is open then. */
export async function openPartitions(plan: TopicPlan, options: BrokerOptions, deps: OpenDeps): Promise<void> {
  for (const partition of plan.missing) {
    refuse(partition, new MillraceError("PARTITION_DAMAGED", `${partition.dir} ${IS_MISSING}`), deps);
  }
  const open = (partition: Partition, format: RecordFormat | undefined): Promise<void> =>
    openPartition(partition, format, options, deps);
  await forEachBounded(plan.existing, OPEN_PARTITIONS_AT_ONCE, (partition) =>
    open(partition, partition.topic.options.recordFormat),
  );
  const formats = settleFormats(plan.existing);
  for (const partition of plan.existing) await refuseOtherFormat(partition, formats, deps);

  const added: Partition[] = [];
  for (const partition of plan.added) {
    const { topic } = partition;
    if (!formats.has(topic) && plan.existing.some((other) => other.topic === topic)) {
      const reason = `${partition.dir} takes the record format of the topic's other partitions, and none of them opens`;
      refuse(partition, new MillraceError("PARTITION_DAMAGED", reason), deps);
      continue;
    }
    // One after the other, so that a start that is cut off leaves no gap in the numbers, which would look like a loss.
    await mkdir(partition.dir, { recursive: true });
    added.push(partition);
  }
  if (added.length > 0) await native.syncDirectory(options.dataDir);
  await forEachBounded(added, OPEN_PARTITIONS_AT_ONCE, (partition) =>
    open(partition, formats.get(partition.topic) ?? partition.topic.recordFormat),
  );
}

async function openPartition(
  partition: Partition,
  recordFormat: RecordFormat | undefined,
  options: BrokerOptions,
  deps: OpenDeps,
): Promise<void> {
  const topic = partition.topic.options;
  try {
    const log = await PartitionLog.open(
      partition.dir,
      {
        mode: topic.segmentMode,
        segmentBytes: topic.segmentBytes,
        recordFormat,
        indexIntervalBytes: options.indexIntervalBytes,
        segmentRollMs: topic.segmentRollMs,
        retentionBytes: topic.retentionBytes,
        retentionMs: topic.retentionMs,
      },
      deps.storage,
    );
    const policy = {
      visibility: topic.visibility,
      flushEveryRecords: topic.flushEveryRecords,
      flushEveryMs: topic.flushEveryMs,
      segmentRollMs: topic.segmentRollMs,
      mailboxBytes: options.queuedBytesMax,
    };
    partition.log = log;
    partition.writer = new PartitionWriter(log, deps.scheduler, policy, deps.timers);
  } catch (error) {
    if (error instanceof MillraceError && error.code === "BAD_CONFIG") throw withSetting(error, topic);
    refuse(partition, error as Error, deps);
  }
}

/** The record format is the one setting that a partition itself refuses. */
function withSetting(error: MillraceError, { recordFormat, recordFormatFrom }: TopicOptions): MillraceError {
  const got = `record.format: got ${JSON.stringify(recordFormat)} (${recordFormatFrom ?? "the caller"})`;
  const takes = "takes the format that the topic has, or nothing: an existing topic keeps its own";
  return new MillraceError("BAD_CONFIG", `${got}, and ${error.message}; ${takes}`, { cause: error });
}

function refuse(partition: Partition, reason: Error, { log }: OpenDeps): void {
  partition.refusal = reason;
  partition.writer = undefined;
  partition.log = undefined;
  const { name, dir } = partition;
  log.error(
    { kind: "partition.refused", partition: name, dir, err: foreseen(reason) },
    `${name} refuses to open: ${reason.message}`,
  );
}

/** The record format belongs to the topic: it is that of its first partition that opened. */
function settleFormats(existing: readonly Partition[]): ReadonlyMap<Topic, RecordFormat> {
  const formats = new Map<Topic, RecordFormat>();
  for (const { topic, log } of existing) {
    if (log === undefined || formats.has(topic)) continue;
    formats.set(topic, log.recordFormat);
    topic.recordFormat = log.recordFormat;
  }
  return formats;
}

/** METADATA tells clients one format for the topic; records in another would be torn apart by them. */
async function refuseOtherFormat(
  partition: Partition,
  formats: ReadonlyMap<Topic, RecordFormat>,
  deps: OpenDeps,
): Promise<void> {
  const { log, writer, topic } = partition;
  if (log === undefined || log.recordFormat === formats.get(topic)) return;
  await writer?.close();
  const reason = `${partition.dir} has records in ${log.recordFormat}, and the topic's are in ${formats.get(topic)}`;
  refuse(partition, new MillraceError("PARTITION_DAMAGED", reason), deps);
}
