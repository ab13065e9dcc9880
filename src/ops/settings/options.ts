// From settings, by their names in the file, to what the broker and the server are told, in their own words.

import { resolve as resolvePath } from "node:path";
import type { BrokerOptions, TopicOptions } from "../../broker/options.js";
import type { ServerOptions } from "../../server/options.js";
import type { DescriptorPlan } from "../descriptors.js";
import type { Resolved, TopicSettings } from "./resolve.js";

function topicOptions(resolved: Resolved, topic: TopicSettings): TopicOptions {
  const formatKey = `topics.${topic.name}.record.format`;
  return {
    name: topic.name,
    partitions: topic.partitions,
    segmentMode: topic["segment.mode"],
    segmentBytes: topic["segment.bytes"],
    segmentRollMs: topic["segment.roll.ms"],
    // The default is for new topics alone: an existing one keeps its own unless somebody wrote another.
    recordFormat: resolved.isWritten(formatKey) ? topic["record.format"] : undefined,
    recordFormatFrom: resolved.origin(formatKey),
    visibility: topic.visibility,
    flushEveryRecords: topic["flush.every.records"],
    flushEveryMs: topic["flush.every.ms"],
    retentionBytes: topic["retention.bytes"],
    retentionMs: topic["retention.ms"],
  };
}

export function brokerOptions(resolved: Resolved, descriptors: DescriptorPlan): BrokerOptions {
  const { settings } = resolved;
  return {
    // Once for all who use it: with `..` in it a directory that is missing could be made under one name and looked for under another.
    dataDir: resolvePath(settings["data.dir"]),
    topics: resolved.topics.map((topic) => topicOptions(resolved, topic)),
    indexIntervalBytes: settings["index.interval.bytes"],
    retentionCheckMs: settings["retention.check.ms"],
    diskReserveBytes: settings["disk.reserve.bytes"],
    fetchMaxBytes: settings["fetch.max.bytes"],
    fetchMaxWaitMs: settings["fetch.max.wait.ms"],
    queuedBytesMax: settings["queued.bytes.max"],
    populateAheadMax: settings["populate.ahead.max"],
    indexCacheBytes: settings["index.cache.bytes"],
    sealedFilesMax: descriptors.sealedFiles,
  };
}

export function serverOptions(resolved: Resolved, descriptors: DescriptorPlan, version: string): ServerOptions {
  const { settings } = resolved;
  return {
    host: settings.host,
    port: settings.port,
    socketPath: settings["socket.path"],
    maxFrameBytes: settings["max.frame.bytes"],
    connectionsMax: descriptors.connections,
    requestsMax: settings["connection.requests.max"],
    queuedBytesMax: settings["queued.bytes.max"],
    connectionQueuedBytesMax: settings["connection.queued.bytes.max"],
    frameTimeoutMs: settings["frame.timeout.ms"],
    writeStallMs: settings["connection.write.stall.ms"],
    idleMs: settings["connection.idle.ms"],
    zeroCopy: settings["fetch.mode"] === "ZERO_COPY",
    // The other half is for forcing and closing the log.
    stopSendMs: settings["stop.timeout.ms"] / 2,
    brokerName: "millrace",
    brokerVersion: version,
  };
}
