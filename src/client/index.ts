/**
 * The client of millrace.
 *
 * ```ts
 * import { connect } from "millrace/client";
 *
 * const client = await connect({ broker: "127.0.0.1:4710" });
 *
 * // Resolves when the record is on the disk. Records without a key go to the partitions in turn.
 * const producer = client.producer();
 * await producer.send("orders", "first", { key: "fruit" });
 * await producer.send("orders", "second", { key: "fruit" });
 *
 * // Everything up to now; follow() goes on. The broker keeps no position: read again from anywhere, as often as you like.
 * for await (const batch of client.replay("orders", { from: "earliest" })) {
 *   for (const record of batch.records) console.log(Buffer.from(record).toString());
 * }
 *
 * await client.close();
 * ```
 *
 * @packageDocumentation
 */

export { type AckName, AckPolicy } from "../model/ack-policy.js";
export type { ErrorName } from "../model/error-codes.js";
export { MillraceError, type MillraceErrorCode } from "../model/errors.js";
export { type Offset, offset, type PartitionId, partitionId } from "../model/ids.js";
export type { RecordFormat } from "../model/record-format.js";
export type { HelloResult } from "../protocol/hello.js";
export type { ListOffsetsResult } from "../protocol/list-offsets.js";
export type { PartitionMetadata, TopicMetadata } from "../protocol/metadata.js";
export type { ProduceResult } from "../protocol/produce.js";
export { type BrokerAddress, DEFAULT_BROKER, parseBrokerAddress } from "./address.js";
export { fileCheckpoints } from "./checkpoint/file.js";
export { memoryCheckpoints } from "./checkpoint/memory.js";
export type { CheckpointPosition, CheckpointStore } from "./checkpoint/store.js";
export { type AskOptions, Client, type ClientOptions, type PartitionOffset } from "./client.js";
export type { Codec, ValueOf } from "./codec/codec.js";
export {
  type Envelope,
  EnvelopeCodec,
  type EnvelopeHead,
  type EnvelopeInput,
  envelope,
  type RecordHeaders,
  type RecordHeadersInput,
} from "./codec/envelope.js";
export { PayloadError } from "./codec/payload-error.js";
export { bytes, json, text } from "./codec/plain-codecs.js";
export { brokerBackend, type ConnectOptions, connect } from "./connect.js";
export { Connection } from "./connection.js";
export type {
  ConnectionOptions,
  FetchManyOptions,
  FetchPosition,
  ListedPlace,
  ProduceOptions,
  RequestOptions,
  UnacknowledgedOptions,
  WaitOptions,
} from "./connection-options.js";
export { Consumer, type ConsumerOptions } from "./consumer.js";
export {
  BrokerError,
  CorruptRecordError,
  LogTruncatedError,
  OffsetMismatchError,
  OffsetOutOfRangeError,
  RecordExceedsMaxBytesError,
} from "./errors.js";
export type { Backend, Link } from "./link.js";
export { fnv1a, partitionOfKey, RoundRobin } from "./partitioner.js";
export { Producer } from "./producer/producer.js";
export type {
  AppendOptions,
  Payload,
  ProducerOptions,
  Records,
  SendByKey,
  SendOptions,
  SendToPartition,
  SentBatch,
  SentRecord,
} from "./producer/producer-options.js";
export { TopicProducer } from "./producer/topic-producer.js";
export type { ReadBounds } from "./read-bounds.js";
export { RecordBatch } from "./record-batch.js";
export { type RecordRegion, RegionBuilder, recordRegion } from "./record-region.js";
export type { FetchAnswer, MultiFetchAnswer, RequestTime } from "./request-queue.js";
export type { StartPosition } from "./start-position.js";
export { CheckpointedSubscription, type CheckpointOptions } from "./subscription/checkpointed.js";
export type {
  FollowOptions,
  ReplayOptions,
  Restart,
  StartPositions,
  SubscriptionOptions,
} from "./subscription/options.js";
export type { SubscriptionRecord } from "./subscription/records.js";
export { Subscription } from "./subscription/subscription.js";
export type {
  EnvelopeAppendOptions,
  EnvelopeSendOptions,
  EnvelopeTopicOptions,
  TypedTopicOptions,
} from "./typed/topic-options.js";
export { type OnBad, TypedBatch, TypedRecord } from "./typed/typed-record.js";
export { TypedCheckpointedSubscription, TypedSubscription } from "./typed/typed-subscription.js";
export { type EnvelopeTopic, TypedTopic } from "./typed/typed-topic.js";
export { type Verification, verification } from "./verification.js";
