// The names of the ways a record lies on disk. A format's number, on the wire and in the addon, is its place in this list.
// What a header looks like is known by the strategy tables alone: native/core for the broker, protocol/records.ts for clients.

export const RECORD_FORMATS = ["plain", "crc32c"] as const;

/** `plain`: int32 length | payload. `crc32c`: int32 length | int32 sum of the payload | payload. */
export type RecordFormat = (typeof RECORD_FORMATS)[number];
