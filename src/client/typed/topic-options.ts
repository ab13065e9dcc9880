// What a typed topic and its calls may be told: with an envelope around the values more than without.

import type { Codec } from "../codec/codec.js";
import type { EnvelopeCodec, RecordHeadersInput } from "../codec/envelope.js";
import type { Producer } from "../producer/producer.js";
import type { AppendOptions, Payload } from "../producer/producer-options.js";
import type { OnBad } from "./typed-record.js";

/** What a typed topic may be told, whatever its codec is. */
interface TopicOptions<T> {
  /** The key of a value that is sent without one. Undefined: none. */
  readonly keyOf?: ((value: T) => Payload | undefined) | undefined;
  /**
   * What readers do with a record that the codec does not take. `"error"` (default): asking such a record for its value throws
   * {@link PayloadError}; nothing is decoded that nobody asks for. A function: it is told, and the record is left out; for that each
   * is decoded as it comes. What the function throws ends the iteration.
   */
  readonly onBad?: OnBad<T> | undefined;
  /** What sends. Default: a producer of its own, made for the first record and closed with the client. */
  readonly producer?: Producer | undefined;
}

/** What a typed topic may be told. */
export interface TypedTopicOptions<T> extends TopicOptions<T> {
  /** Makes payloads of values and values of payloads: `json<Order>()`, `text()`, … or one of your own. */
  readonly codec: Codec<T>;
}

/** The same with an envelope around the values. */
export interface EnvelopeTopicOptions<T> extends TopicOptions<T> {
  /** As `envelope(json<Order>())`. */
  readonly codec: EnvelopeCodec<T>;
}

/** What an envelope has a place for, beside its key. */
export interface EnvelopeFields {
  readonly headers?: RecordHeadersInput | undefined;
  /** In milliseconds since 1970. Default: now. */
  readonly timestampMs?: number | undefined;
}

/** What belongs to a value that is sent in an envelope. */
export interface EnvelopeSendOptions extends EnvelopeFields {
  /** Is in the payload, and chooses the partition unless that is given. Default: as `keyOf` says. */
  readonly key?: Payload | undefined;
  /** The partition itself. */
  readonly partition?: number | undefined;
  /** Rejects with the signal's reason. What has left by then is written nevertheless. */
  readonly signal?: AbortSignal | undefined;
}

/** What belongs to values that are appended in envelopes. */
export interface EnvelopeAppendOptions extends AppendOptions, EnvelopeFields {
  /** Is in the payload. Default: as `keyOf` says. */
  readonly key?: Payload | undefined;
}
