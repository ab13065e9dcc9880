// Every bound of millrace, with its reason. Defaults of settings are in ops/; these are what settings may be and what is fixed.

/** 2^53 − 1: offsets are JavaScript numbers; the wire's int64 is checked against it. */
export const OFFSET_MAX = Number.MAX_SAFE_INTEGER;

/** The largest segment: positions cross into native code as int32. */
export const SEGMENT_BYTES_MAX = 1024 * 1024 * 1024;

/** The longest topic name, so that `<topic>-<partition>` stays below the 255 bytes of a file name. */
export const TOPIC_NAME_MAX = 249;

/** Partitions of a topic: five digits keep directory names short and 99 999 is far beyond what one process serves. */
export const PARTITIONS_MAX = 99_999;

/** Batches waiting in one partition's mailbox: more than a turn of the selector brings, at about 60 bytes for each. */
export const MAILBOX_ENTRIES_MAX = 262_144;
/** What an idle partition's mailbox has room for: ten thousand partitions are then a few megabytes. */
export const MAILBOX_ENTRIES_FIRST = 16;
/** What an idle partition has room for of batches that wait for a barrier. Their number is bounded by open requests. */
export const WAITERS_FIRST = 16;

/** How long a run of the log's scheduler may hold the event loop: a tenth of what a person notices. */
export const RUN_MAX_MS = 5;
/** A run looks at the clock once in so many bytes (about 0.1 ms of copying): reading it costs as much as a small batch. */
export const RUN_CLOCK_BYTES = 256 * 1024;
/** A partition's least share of a round, so that thousands of ready partitions do not write a batch at a time. */
export const WRITER_SHARE_MIN = 64 * 1024;

/** Staging is handed out and reused in such chunks: large enough for one copy, small enough to be shared fairly. */
export const STAGING_CHUNK_BYTES = 256 * 1024;
/** Staging kept for the next time. What a worse hour needed beyond it goes back to the system. */
export const STAGING_POOL_BYTES = 8 * 1024 * 1024;

/** How often a partition that is written to is looked after (roll by time, populate window, checkpoint). */
export const UPKEEP_INTERVAL_MS = 200;

/** Names in one METADATA request. Each becomes a string on the event loop: 10 000 cost about a millisecond, 8 MiB of them 300. */
export const METADATA_TOPICS_MAX = 10_000;
