// Opens the logs of topics in a directory as a broker lays them out, under the same lock, so that the two never have it both.

import { resolve } from "node:path";
import { Catalog } from "../broker/catalog.js";
import { type DataDir, openDataDir, partitionDirectory } from "../broker/data-dir.js";
import { planTopics } from "../broker/plan-topics.js";
import { badTopic } from "../client/checks.js";
import { type Log, openLog } from "../log/embedded.js";
import { type CheckedLogOptions, checkOptions, type LogOptions } from "../log/embedded-options.js";
import { badArgument } from "../model/arguments.js";
import { MillraceError } from "../model/errors.js";
import { OPEN_PARTITIONS_AT_ONCE, PARTITIONS_MAX } from "../model/limits.js";

export interface OpenedTopics {
  readonly logs: ReadonlyMap<string, readonly Log[]>;
  close(): Promise<void>;
}

export function badPartitionCount(topic: string, value: unknown): MillraceError | undefined {
  const bad = badTopic(topic);
  if (bad !== undefined) return bad;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= PARTITIONS_MAX) return undefined;
  return badArgument(`topics.${topic}`, value, `a number of partitions from 1 to ${PARTITIONS_MAX}, a log, or logs`);
}

/** Rejects as `openClient`; nothing stays open then. */
export async function openTopics(
  dir: string,
  counts: ReadonlyMap<string, number>,
  options: LogOptions,
): Promise<OpenedTopics> {
  const checked = checkOptions(options);
  const bad = namesThatClash([...counts.keys()]);
  if (bad !== undefined) throw bad;
  const path = resolve(dir);
  const dataDir = await openDataDir(path, SILENT);
  const logs = new Map<string, Log[]>();
  const close = async (): Promise<void> => {
    const closed = await Promise.allSettled([...logs.values()].flat().map((log) => log.close()));
    dataDir.release();
    for (const each of closed) if (each.status === "rejected") throw each.reason;
  };
  try {
    refuseOthers(path, counts, dataDir, checked);
    for (const [topic, count] of counts) {
      const opened: Log[] = [];
      logs.set(topic, opened);
      await openPartitions(path, topic, count, options, opened);
    }
    return { logs, close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

async function openPartitions(
  path: string,
  topic: string,
  count: number,
  options: LogOptions,
  opened: Log[],
): Promise<void> {
  const open = async (partition: number, more: LogOptions): Promise<void> => {
    opened[partition] = await openLog(partitionDirectory(path, topic, partition), { ...options, ...more });
  };
  // The format belongs to the topic: what is added has that of the first.
  await open(0, {});
  const recordFormat = opened[0].recordFormat;
  for (let next = 1; next < count; next += OPEN_PARTITIONS_AT_ONCE) {
    const few = Array.from({ length: Math.min(OPEN_PARTITIONS_AT_ONCE, count - next) }, (_, i) => next + i);
    const results = await Promise.allSettled(few.map((partition) => open(partition, { recordFormat })));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}

/** The broker's own look at what lies there: throws BAD_CONFIG for fewer partitions than there are, or for one that is gone. */
function refuseOthers(
  path: string,
  counts: ReadonlyMap<string, number>,
  dataDir: DataDir,
  { mode, segmentBytes, visibility, recordFormat }: CheckedLogOptions,
): void {
  const rest = { segmentRollMs: undefined, flushEveryRecords: undefined, flushEveryMs: undefined };
  const retention = { retentionBytes: undefined, retentionMs: undefined };
  const topics = [...counts].map(([name, partitions]) => {
    return { name, partitions, segmentMode: mode, segmentBytes, visibility, recordFormat, ...rest, ...retention };
  });
  const catalog = new Catalog(topics, (topic, partition) => partitionDirectory(path, topic, partition));
  const [missing] = planTopics(catalog, dataDir.partitions, SILENT).missing;
  if (missing === undefined) return;
  const text = `${missing.dir} is gone, and later partitions of ${missing.topic.name} are there: an empty one in its place would hide that`;
  throw new MillraceError("BAD_CONFIG", text);
}

/** As a broker refuses them: on some file systems they would share a directory. */
function namesThatClash(topics: readonly string[]): MillraceError | undefined {
  const seen = new Map<string, string>();
  for (const topic of topics) {
    const other = seen.get(topic.toLowerCase());
    if (other !== undefined) return badArgument("topics", `${other}, ${topic}`, "names that differ by more than case");
    seen.set(topic.toLowerCase(), topic);
  }
  return undefined;
}

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
