// Every bound of millrace, with its reason. Defaults of settings are in ops/; these are what settings may be and what is fixed.

/** 2^53 − 1: offsets are JavaScript numbers; the wire's int64 is checked against it. */
export const OFFSET_MAX = Number.MAX_SAFE_INTEGER;

/** The largest segment: positions cross into native code as int32. */
export const SEGMENT_BYTES_MAX = 1024 * 1024 * 1024;

/** The longest topic name, so that `<topic>-<partition>` stays below the 255 bytes of a file name. */
export const TOPIC_NAME_MAX = 249;

/** Partitions of a topic: five digits keep directory names short and 99 999 is far beyond what one process serves. */
export const PARTITIONS_MAX = 99_999;
