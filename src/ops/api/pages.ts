// What the API says of the broker, its topics and their partitions. Read when it is asked, a page at a time, so that an answer
// is made in a millisecond however many there are.

import { resolve as resolvePath } from "node:path";
import type { Broker } from "../../broker/broker.js";
import type { Partition, Topic } from "../../broker/topic.js";
import { native } from "../../native/binding.js";
import type { OpsSource } from "../ops-source.js";
import { factsOf } from "../settings/kinds.js";
import { ownSettings } from "../settings/own.js";
import { rowOf, settingKeys } from "../settings/table.js";
import { readiness } from "../side-port-health.js";
import { ApiFailure } from "./failure.js";
import { refusalOf } from "./read-records.js";
import type {
  BrokerInfo,
  PartitionInfo,
  PartitionPage,
  SegmentView,
  TopicInfo,
  TopicPage,
  TopicsPage,
} from "./types.js";

const REASONS_MAX = 100;
/** Of ten thousand topics some hundred kilobytes; more than a person reads. */
const TOPIC_SETTINGS_MAX = 1000;

export function brokerInfo(source: OpsSource, broker: Broker): BrokerInfo {
  const { resolved, version } = source;
  const { settings } = resolved;
  const health = broker.health();
  const { ready, reasons } = readiness(health, source.stopping());
  const uptimeMs = Math.round(process.uptime() * 1000);
  return {
    name: "millrace",
    version,
    node: process.version,
    platform: native.platform,
    pid: process.pid,
    startedAtMs: Math.round(performance.timeOrigin),
    uptimeMs,
    // Whoever reads it elsewhere does not know the broker's working directory.
    dataDir: resolvePath(settings["data.dir"]),
    host: settings.host,
    port: source.server()?.port ?? settings.port,
    opsHost: settings["ops.host"],
    opsPort: source.opsPort(),
    socketPath: settings["socket.path"] ?? null,
    topics: broker.catalog.topics.length,
    partitions: broker.catalog.partitions.length,
    ready,
    stopping: source.stopping(),
    reasons: reasons.slice(0, REASONS_MAX),
    diskAvailableBytes: health.diskAvailableBytes,
    diskMissingBytes: health.diskMissingBytes,
    settings: settingKeys
      .filter((key) => key !== "topics")
      .map((key) => ({ key, value: factsOf(rowOf(key).kind).show(settings[key]), origin: resolved.origin(key) })),
    topicSettings: ownSettings(resolved).slice(0, TOPIC_SETTINGS_MAX),
    topicSettingsLeftOut: Math.max(0, ownSettings(resolved).length - TOPIC_SETTINGS_MAX),
  };
}

/** Topics from a name on, in the order of names. */
export function topicsPage(broker: Broker, from: string, limit: number): TopicsPage {
  const { topics } = broker.catalog;
  let first = 0;
  while (first < topics.length && topics[first].name < from) first++;
  // Counted by partitions: a topic is summed up over all of its own.
  let last = first;
  for (let left = limit; last < topics.length && left > 0; last++)
    left -= Math.max(1, topics[last].partitions.length / 10);
  return { topics: topics.slice(first, last).map(topicInfo), next: topics[last]?.name ?? null };
}

function topicInfo(topic: Topic): TopicInfo {
  const { options, name, recordFormat } = topic;
  let records = 0;
  let bytes = 0;
  let refused = 0;
  let poisoned = 0;
  for (const { log } of topic.partitions) {
    if (log === undefined) {
      refused++;
      continue;
    }
    if (log.poisoned !== undefined) poisoned++;
    records += log.logEndOffset - log.logStartOffset;
    bytes += log.bytes;
  }
  return {
    name,
    partitions: topic.partitions.length,
    recordFormat,
    visibility: options.visibility,
    segmentMode: options.segmentMode,
    segmentBytes: options.segmentBytes,
    retentionBytes: options.retentionBytes ?? null,
    retentionMs: options.retentionMs ?? null,
    records,
    bytes,
    refused,
    poisoned,
  };
}

export function topicPage(topic: Topic, from: number, limit: number): TopicPage {
  const end = Math.min(topic.partitions.length, from + limit);
  return {
    topic: topicInfo(topic),
    partitions: topic.partitions.slice(from, end).map(partitionInfo),
    next: end < topic.partitions.length ? end : null,
  };
}

function partitionInfo({ id, log, writer, refusal }: Partition): PartitionInfo {
  if (log === undefined || writer === undefined) {
    return {
      partition: id,
      state: "refused",
      reason: refusal?.message ?? null,
      epoch: -1,
      logStartOffset: -1,
      highWatermark: -1,
      durableOffset: -1,
      logEndOffset: -1,
      bytes: -1,
      segments: -1,
    };
  }
  return {
    partition: id,
    state: log.poisoned === undefined ? "open" : "poisoned",
    reason: log.poisoned?.message ?? null,
    epoch: log.epoch,
    logStartOffset: log.logStartOffset,
    highWatermark: writer.highWatermark,
    durableOffset: log.durableOffset,
    logEndOffset: log.logEndOffset,
    bytes: log.bytes,
    segments: log.segmentCount,
  };
}

/** Segments from the one that holds an offset on. */
export function partitionPage(partition: Partition, from: number, limit: number): PartitionPage {
  const { log, topic, dir } = partition;
  const info = partitionInfo(partition);
  const shared = { topic: topic.name, dir, recordFormat: topic.recordFormat, partition: info };
  if (log === undefined) return { ...shared, epochs: [], segments: [], next: null };
  const all = log.segments();
  const holds = all.findIndex(({ endOffset }) => endOffset > from);
  // Behind the end of the log, or at it, there is the active one.
  const first = holds < 0 ? all.length - 1 : holds;
  const segments = all.slice(first, first + limit).map((segment): SegmentView => {
    const { baseOffset, endOffset, bytes, allocatedBytes, sealed } = segment;
    const active = segment === all[all.length - 1];
    // An unknown time is 0.
    const firstAppendMs = segment.firstAppendMs || null;
    const lastAppendMs = segment.lastAppendMs || null;
    return { baseOffset, endOffset, bytes, allocatedBytes, sealed, active, firstAppendMs, lastAppendMs };
  });
  const epochs = log.epochs.map(({ epoch, start }) => ({ epoch, startOffset: start }));
  return { ...shared, epochs, segments, next: all[first + limit]?.baseOffset ?? null };
}

export function openPartition(broker: Broker, name: string, id: number): Partition {
  const partition = partitionOf(broker, name, id);
  if (partition.log === undefined) throw refusalOf(partition);
  return partition;
}

export function partitionOf(broker: Broker, name: string, id: number): Partition {
  const partition = topicOf(broker, name).partitions[id];
  if (partition === undefined) throw new ApiFailure("NOT_FOUND", `topic ${name} has no partition ${id}`);
  return partition;
}

export function topicOf(broker: Broker, name: string): Topic {
  const topic = broker.catalog.named(name);
  if (topic === undefined) throw new ApiFailure("NOT_FOUND", `there is no topic ${JSON.stringify(name)}`);
  return topic;
}
