// What a broker is told, in the broker's own words. The settings' schema (ops/) makes this; nothing here is checked again.

import type { RecordFormat } from "../model/record-format.js";

export type SegmentMode = "MAPPED" | "FILE_CHANNEL";
export type Visibility = "written" | "durable";

export interface TopicOptions {
  readonly name: string;
  readonly partitions: number;
  readonly segmentMode: SegmentMode;
  readonly segmentBytes: number;
  readonly segmentRollMs: number | undefined;
  /** Undefined: nobody wrote one, so an existing topic keeps its own. */
  readonly recordFormat: RecordFormat | undefined;
  /** Where that was written, for a refusal. */
  readonly recordFormatFrom?: string | undefined;
  readonly visibility: Visibility;
  readonly flushEveryRecords: number | undefined;
  readonly flushEveryMs: number | undefined;
  readonly retentionBytes: number | undefined;
  readonly retentionMs: number | undefined;
}

export interface BrokerOptions {
  readonly dataDir: string;
  /** Sorted by name. */
  readonly topics: readonly TopicOptions[];
  readonly indexIntervalBytes: number;
  readonly retentionCheckMs: number;
  readonly diskReserveBytes: number;
  readonly fetchMaxBytes: number;
  /** The longest that a fetch may wait. */
  readonly fetchMaxWaitMs: number;
  readonly queuedBytesMax: number;
  readonly populateAheadMax: number;
  readonly indexCacheBytes: number;
  /** Descriptors of sealed segments that stay open. */
  readonly sealedFilesMax: number;
}

/** Lines for the operator. A pino logger is one. Never called for each request. */
export interface OperatorLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
