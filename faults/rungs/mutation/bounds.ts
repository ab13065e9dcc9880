// Bounds that are taken away: of lengths, counts and ends that come from outside. The rung `input` notices them.

import { alike, type Mutant } from "./mutant.js";

/** Enough for its decoders, its broker and the corpus of its fuzzers. */
const SECONDS = 30;

export const bound = alike({ safeguard: "bound", rung: "input", seconds: SECONDS });

export const bounds: readonly Mutant[] = [
  bound(
    "the longest frame",
    "native/core/frame_cutter.cc",
    "if (length - 1 >= max_frame_bytes) return",
    "if (length - 1 >= max_frame_bytes && length == 0) return",
  ),
  bound(
    "a received record ends where its bytes end",
    "native/core/record_walk.cc",
    "if (entry > left) {",
    "if (length > left) {",
  ),
  bound(
    "a received record ends where its bytes end, in JavaScript",
    "src/protocol/records.ts",
    "if (payloadEnd > this.end) {",
    "if (payloadEnd > this.end + length) {",
  ),
  bound(
    "a record of a PRODUCE ends where its request ends",
    "native/core/region_check.cc",
    "if (size - 1 >= bounds.max_payload || size > bytes - at - kWireHeader) break;",
    "if (size - 1 >= bounds.max_payload) break;",
  ),
  bound(
    "a record of a PRODUCE fits a segment",
    "native/core/region_check.cc",
    "if (size - 1 >= bounds.max_payload || size > bytes - at - kWireHeader) break;",
    "if (size == 0 || size > bytes - at - kWireHeader) break;",
  ),
  bound(
    "a stored record ends where the segment ends, in a scan",
    "native/core/segment_scan.cc",
    "if (length > limit - payload) {",
    "if (length > limit) {",
  ),
  bound(
    "a stored record ends where the log ends, in a walk",
    "native/core/stored_walk.cc",
    "length > INT32_MAX || entry > limit - at) return",
    "length > INT32_MAX || entry > limit) return",
  ),
  bound(
    "queued.bytes.max",
    "native/core/selector_bounds.cc",
    "if (!paused_ && !gathers_full_) return Receives::kAll;",
    "if (c.alive() || (!paused_ && !gathers_full_)) return Receives::kAll;",
  ),
  bound(
    "open requests of a connection",
    "native/core/intake.cc",
    "std::min(requests_max_ - c.open, rows_max_ - rows_)",
    "std::min(requests_max_, rows_max_ - rows_)",
  ),
  bound(
    "the count of records in a PRODUCE",
    "src/protocol/produce.ts",
    "records <= 0 || records > regionBytes / RECORD_BYTES_MIN",
    "records <= 0",
  ),
  bound(
    "the count of partitions in a FETCH v3",
    "src/protocol/fetch-multi.ts",
    "count < 1 || count > FETCH_PARTITIONS_MAX",
    "count < 1",
  ),
  bound("the count of topics in a METADATA", "src/protocol/metadata.ts", "count > METADATA_TOPICS_MAX", "count < 0"),
  bound(
    "the length of a topic's name",
    "src/model/topic-name.ts",
    "bytes === 0 || bytes > TOPIC_NAME_MAX",
    "bytes === 0",
  ),
  bound(
    "the end of a body, for what reads from it",
    "src/protocol/reader.ts",
    "bytes < 0 || bytes > this.end - this.at",
    "bytes < 0",
  ),
  bound(
    "the longest answer that a client takes",
    "src/client/answer-cutter.ts",
    "if (length >= RESPONSE_HEADER_BYTES && length <= max) return length;",
    "if (length >= RESPONSE_HEADER_BYTES && max > 0) return length;",
  ),
  bound(
    "the end of an envelope, for what reads from it",
    "src/client/codec/envelope.ts",
    "if (length < 0 || length > left) {",
    "if (length < 0 && left >= 0) {",
  ),
];
