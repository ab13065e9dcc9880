// METADATA, apiKey 3
//
//   int32 topicCount (0 = all) | topicCount × string
//   → int32 topicCount | topicCount × (string topic | int32 partitionCount | partitionCount × P)
//      v1  P = int32 partition | int64 logStartOffset | int64 highWatermark
//      v2  topic is followed by int8 recordFormat (0 plain, 1 crc32c);
//          P = int32 partition | int32 epoch | int64 logStartOffset | int64 highWatermark | int64 durableOffset
//            | int64 logEndOffset      (a partition that refused to open has −1 in all of them)
//
// Topics come sorted by name, partitions by number. A named topic that does not exist fails the whole request. A topic that
// is named twice is answered once: the answer is a list of topics, and 8 MiB of one name would else be 80 MiB of answer.

import { type ErrorCode, ErrorCodes } from "../model/error-codes.js";
import { type Offset, offset, type PartitionId, partitionId } from "../model/ids.js";
import { METADATA_TOPICS_MAX } from "../model/limits.js";
import { RECORD_FORMATS, type RecordFormat } from "../model/record-format.js";
import { RequestKind } from "./api-keys.js";
import { decodeResponse } from "./bad-response.js";
import { LENGTH_BYTES } from "./frame.js";
import { Reader } from "./reader.js";
import { Writer } from "./writer.js";

export type MetadataVersion = 1 | 2;

export interface PartitionMetadata {
  readonly partition: PartitionId;
  /** −1 in this and the next four: the partition refused to open. */
  readonly epoch: number;
  readonly logStartOffset: Offset;
  readonly highWatermark: Offset;
  readonly durableOffset: Offset;
  readonly logEndOffset: Offset;
}

export interface TopicMetadata {
  readonly topic: string;
  readonly recordFormat: RecordFormat;
  readonly partitions: readonly PartitionMetadata[];
}

/** A string's length and its shortest name. */
const TOPIC_NAME_BYTES_MIN = 2 + 1;

export class MetadataRequest {
  /** What was named, each once. Empty: all topics. */
  topics: ReadonlySet<string> = new Set();
}

/** Decodes `[from, end)`, both versions. NONE or CORRUPT_REQUEST, the latter also above {@link METADATA_TOPICS_MAX} names. */
export function decodeMetadata(view: DataView, from: number, end: number, into: MetadataRequest): ErrorCode {
  const reader = new Reader(view, from, end);
  const topics = new Set<string>();
  const count = reader.count(TOPIC_NAME_BYTES_MIN);
  if (count > METADATA_TOPICS_MAX) return ErrorCodes.CORRUPT_REQUEST;
  for (let i = 0; i < count && reader.ok; i++) topics.add(reader.topicName());
  into.topics = topics;
  return reader.finished ? ErrorCodes.NONE : ErrorCodes.CORRUPT_REQUEST;
}

/** A whole request frame. */
export function encodeMetadataRequest(
  version: MetadataVersion,
  correlationId: number,
  topics: readonly string[],
): Uint8Array {
  const kind = version === 1 ? RequestKind.METADATA_V1 : RequestKind.METADATA_V2;
  const writer = new Writer();
  writer.int32(0).int32(kind).int32(correlationId).int32(topics.length);
  for (const topic of topics) writer.string(topic);
  writer.patchInt32(0, writer.length - LENGTH_BYTES);
  return writer.finish();
}

/** A whole response frame. */
export function encodeMetadataResponse(
  version: MetadataVersion,
  correlationId: number,
  topics: readonly TopicMetadata[],
): Uint8Array {
  const writer = new Writer(1024);
  writer.int32(0).int32(correlationId).int16(ErrorCodes.NONE).int32(topics.length);
  for (const { topic, recordFormat, partitions } of topics) {
    writer.string(topic);
    if (version === 2) writer.int8(RECORD_FORMATS.indexOf(recordFormat));
    writer.int32(partitions.length);
    for (const p of partitions) {
      writer.int32(p.partition);
      if (version === 2) writer.int32(p.epoch);
      writer.int64(p.logStartOffset).int64(p.highWatermark);
      if (version === 2) writer.int64(p.durableOffset).int64(p.logEndOffset);
    }
  }
  writer.patchInt32(0, writer.length - LENGTH_BYTES);
  return writer.finish();
}

/** Bytes of one partition, at the least of one topic: what a count is checked against. */
const PARTITION_BYTES = { 1: 4 + 8 + 8, 2: 4 + 4 + 8 + 8 + 8 + 8 } as const;
const TOPIC_BYTES_MIN = { 1: 2 + 1 + 4, 2: 2 + 1 + 1 + 4 } as const;

/** Throws BAD_RESPONSE. What v1 does not say: `crc32c`, epoch 0, and the high watermark for both ends. */
export function decodeMetadataResponse(
  version: MetadataVersion,
  view: DataView,
  from: number,
  end: number,
): TopicMetadata[] {
  return decodeResponse(`METADATA v${version}`, view, from, end, (reader) => {
    const topics: TopicMetadata[] = [];
    const count = reader.count(TOPIC_BYTES_MIN[version]);
    for (let i = 0; i < count && reader.ok; i++) topics.push(readTopic(reader, version));
    return topics;
  });
}

function readTopic(reader: Reader, version: MetadataVersion): TopicMetadata {
  const topic = reader.topicName();
  const recordFormat: RecordFormat | undefined = version === 2 ? RECORD_FORMATS[reader.int8()] : "crc32c";
  if (recordFormat === undefined) reader.fail();
  const partitions: PartitionMetadata[] = [];
  const count = reader.count(PARTITION_BYTES[version]);
  for (let i = 0; i < count && reader.ok; i++) partitions.push(readPartition(reader, version));
  return { topic, recordFormat: recordFormat ?? "crc32c", partitions };
}

function readPartition(reader: Reader, version: MetadataVersion): PartitionMetadata {
  const partition = partitionId(reader.int32());
  const epoch = version === 2 ? reader.int32() : 0;
  const logStartOffset = offset(reader.int64());
  const highWatermark = offset(reader.int64());
  const durableOffset = version === 2 ? offset(reader.int64()) : highWatermark;
  const logEndOffset = version === 2 ? offset(reader.int64()) : highWatermark;
  const offsetsFit = -1 <= logStartOffset && logStartOffset <= highWatermark && highWatermark <= logEndOffset;
  if (partition < 0 || epoch < -1 || durableOffset < -1 || !offsetsFit) reader.fail();
  return { partition, epoch, logStartOffset, highWatermark, durableOffset, logEndOffset };
}
