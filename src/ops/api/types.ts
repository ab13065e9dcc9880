// The JSON of the side port's API, as docs/side-port.md describes it and the console reads it. Types alone: nothing here is
// code, so that a browser's bundle can import it.

/** Any answer with a status of 400 and above. */
export interface ApiError {
  /** A sentence for people. */
  readonly error: string;
  /** Stable: BAD_REQUEST, NOT_FOUND, NOT_READY, OVERLOADED, FORBIDDEN, or a code of millrace. */
  readonly code: string;
}

/** GET /api/broker */
export interface BrokerInfo {
  readonly name: string;
  readonly version: string;
  readonly node: string;
  readonly platform: string;
  readonly pid: number;
  readonly startedAtMs: number;
  readonly uptimeMs: number;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly opsHost: string;
  readonly opsPort: number;
  readonly socketPath: string | null;
  readonly topics: number;
  readonly partitions: number;
  readonly ready: boolean;
  /** It takes nothing new and will be gone soon. */
  readonly stopping: boolean;
  /** Why it is not ready, in sentences; the first hundred. */
  readonly reasons: readonly string[];
  readonly diskAvailableBytes: number;
  readonly diskMissingBytes: number;
  readonly settings: readonly SettingInfo[];
  /** What topics have for themselves, by their names; the first thousand. */
  readonly topicSettings: readonly TopicSettingInfo[];
  /** How many there are beyond those. */
  readonly topicSettingsLeftOut: number;
}

export interface SettingInfo {
  readonly key: string;
  /** As somebody would write it. */
  readonly value: string;
  /** "default", "flag --port", "environment MILLRACE_PORT", or the file. */
  readonly origin: string;
}

/** A setting that a topic has for itself, from its table. */
export interface TopicSettingInfo extends SettingInfo {
  readonly topic: string;
}

/** GET /api/topics?from=NAME&limit=N */
export interface TopicsPage {
  readonly topics: readonly TopicInfo[];
  /** Where the next page begins; null: this was the last one. */
  readonly next: string | null;
}

export interface TopicInfo {
  readonly name: string;
  readonly partitions: number;
  readonly recordFormat: "crc32c" | "plain";
  readonly visibility: "written" | "durable";
  readonly segmentMode: "MAPPED" | "FILE_CHANNEL";
  readonly segmentBytes: number;
  readonly retentionBytes: number | null;
  readonly retentionMs: number | null;
  /** Sums over the partitions that are open. */
  readonly records: number;
  readonly bytes: number;
  readonly refused: number;
  readonly poisoned: number;
}

/** GET /api/topics/TOPIC?from=PARTITION&limit=N */
export interface TopicPage {
  readonly topic: TopicInfo;
  readonly partitions: readonly PartitionInfo[];
  /** Where the next page begins; null: this was the last one. */
  readonly next: number | null;
}

export interface PartitionInfo {
  readonly partition: number;
  /** "refused": it did not open. "poisoned": it refuses writes since a write or a barrier failed. */
  readonly state: "open" | "refused" | "poisoned";
  /** Why it is refused or poisoned. */
  readonly reason: string | null;
  /** −1 in all of these when it is refused. */
  readonly epoch: number;
  readonly logStartOffset: number;
  readonly highWatermark: number;
  readonly durableOffset: number;
  readonly logEndOffset: number;
  /** Bytes of records. */
  readonly bytes: number;
  readonly segments: number;
}

/** GET /api/topics/TOPIC/partitions/N?from=OFFSET&limit=N */
export interface PartitionPage {
  readonly topic: string;
  readonly dir: string;
  readonly recordFormat: "crc32c" | "plain";
  readonly partition: PartitionInfo;
  readonly epochs: readonly { readonly epoch: number; readonly startOffset: number }[];
  /** Oldest first, from the one that holds `from` on. */
  readonly segments: readonly SegmentView[];
  /** `from` of the next page; null: this was the last one. */
  readonly next: number | null;
}

export interface SegmentView {
  readonly baseOffset: number;
  readonly endOffset: number;
  readonly bytes: number;
  readonly allocatedBytes: number;
  readonly sealed: boolean;
  readonly active: boolean;
  /** null: empty, or unknown. */
  readonly firstAppendMs: number | null;
  readonly lastAppendMs: number | null;
}

/** GET /api/topics/TOPIC/partitions/N/records?from=OFFSET&limit=N&bytes=N&payload=N */
export interface RecordsPage {
  readonly topic: string;
  readonly partition: number;
  readonly logStartOffset: number;
  readonly highWatermark: number;
  readonly records: readonly RecordView[];
  /** Where to read on. */
  readonly nextOffset: number;
  /** The record at `nextOffset` is damaged; what is known of it. */
  readonly damaged: string | null;
}

export interface RecordView {
  readonly offset: number;
  /** The whole payload's length. */
  readonly bytes: number;
  /** Base64 of its beginning. */
  readonly payload: string;
  /** `payload` is not all of it. */
  readonly cut: boolean;
  /** The sum was compared. Not in a topic without sums, and not when the record was larger than what was read. */
  readonly checked: boolean;
}

/** GET /api/topics/TOPIC/partitions/N/offset?time=TIME */
export interface OffsetAtTime {
  /** Where records of that time begin, never too late; the high watermark when all is older. */
  readonly offset: number;
  /** When what lies there was appended, to the index's accuracy; null: all is older. */
  readonly timestampMs: number | null;
}

/** The numbers of one second. null: there was nothing to measure. */
export interface RateColumns {
  readonly produceRequests: readonly number[];
  readonly produceRecords: readonly number[];
  readonly produceBytes: readonly number[];
  readonly fetchRequests: readonly number[];
  readonly fetchBytes: readonly number[];
  readonly errors: readonly number[];
  readonly barriers: readonly number[];
  readonly produceWrittenP50Ms: readonly (number | null)[];
  readonly produceWrittenP99Ms: readonly (number | null)[];
  readonly produceForcedP50Ms: readonly (number | null)[];
  readonly produceForcedP99Ms: readonly (number | null)[];
  readonly fetchP50Ms: readonly (number | null)[];
  readonly fetchP99Ms: readonly (number | null)[];
  readonly barrierP50Ms: readonly (number | null)[];
  readonly barrierP99Ms: readonly (number | null)[];
  readonly loopDelayP99Ms: readonly (number | null)[];
  readonly loopDelayMaxMs: readonly number[];
  /** Share of the second in which the event loop worked, 0 to 1. */
  readonly loopActive: readonly number[];
  readonly fetchesWaiting: readonly number[];
  readonly queuedBytes: readonly number[];
  readonly connections: readonly number[];
  readonly diskAvailableBytes: readonly number[];
  readonly residentBytes: readonly number[];
}

/** GET /api/rates?since=SEQUENCE */
export interface Rates {
  /** Between two samples. */
  readonly intervalMs: number;
  /** Of the first sample here. Samples are numbered from 0 since the start. */
  readonly first: number;
  /** Pass it as `since` to get only what is newer. */
  readonly next: number;
  /** When each sample was taken. */
  readonly atMs: readonly number[];
  readonly columns: RateColumns;
}

/** GET /api/topics/TOPIC/tail?partition=N,N&last=N&payload=N: an event stream; each `records` event carries this. */
export interface TailEvent {
  readonly records: readonly TailRecord[];
  /** Not every record that came is here. */
  readonly sampled: boolean;
  /** How many were left out since the event before. */
  readonly leftOut: number;
  /** Some of those are left out because a record before them is damaged; what is known of the first such record. */
  readonly damaged: string | null;
}

export interface TailRecord extends RecordView {
  readonly partition: number;
}

/** The tail's first event, `begin`: where it stands. */
export interface TailBegin {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number; readonly offset: number }[];
}
