// What the package exports: the client, the log in your own process, and a broker started from code. Nothing here has logic.

import "./native-walker.js";

export type { OperatorLog } from "./broker/options.js";
export * from "./client/index.js";
export { type OpenClientOptions, openClient } from "./embedded/open-client.js";
export { Log, type LogRead, openLog } from "./log/embedded.js";
export type {
  AppendOptions as LogAppendOptions,
  IterateOptions as LogIterateOptions,
  LogOptions,
  ReadOptions as LogReadOptions,
} from "./log/embedded-options.js";
export type { ReadResult } from "./log/log-reader.js";
export type { WaitOutcome } from "./log/read-waits.js";
export { DamagedRecordError, type LogRecord } from "./log/stored-records.js";
export type { BrokerSettings, TopicSettings } from "./ops/settings/broker-settings.js";
export { type RunningBroker, type StartBrokerOptions, startBroker } from "./ops/start-broker.js";
export type { BrokerStatistics } from "./ops/statistics.js";
export type { SegmentInfo } from "./storage/partition-log.js";
