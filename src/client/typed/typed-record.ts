// A record whose payload is decoded when it is first asked for, and a batch of them.

import type { Offset, PartitionId } from "../../model/ids.js";
import type { Codec } from "../codec/codec.js";
import { EnvelopeCodec, type EnvelopeHead, type RecordHeaders } from "../codec/envelope.js";
import { PayloadError } from "../codec/payload-error.js";
import type { RecordBatch } from "../record-batch.js";

/** What to do with a record that its codec does not take. */
export type OnBad<T> = "error" | ((error: PayloadError, record: TypedRecord<T>) => void);

const NO_HEADERS: RecordHeaders = new Map();
const keyDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** One record of a typed topic. */
export class TypedRecord<T> {
  private decoded: { readonly value: T } | undefined;
  private opened: (EnvelopeHead & { readonly valueBytes: Uint8Array }) | undefined;

  constructor(
    private readonly codec: Codec<T> | EnvelopeCodec<T>,
    private readonly batch: RecordBatch,
    private readonly index: number,
  ) {}

  get topic(): string {
    return this.batch.topic;
  }

  get partition(): PartitionId {
    return this.batch.partition;
  }

  get offset(): Offset {
    return (this.batch.baseOffset + this.index) as Offset;
  }

  /** Where the partition ended for readers when the answer was made. */
  get highWatermark(): Offset {
    return this.batch.highWatermark;
  }

  /** The bytes as they were appended. A view: copy it to keep it without the rest of its answer. */
  get payload(): Uint8Array {
    return this.batch.at(this.index);
  }

  /** Decoded when it is first asked for. Throws {@link PayloadError}. */
  get value(): T {
    this.decoded ??= { value: this.decode() };
    return this.decoded.value;
  }

  /** With an envelope: the key that it was sent with. Throws {@link PayloadError}. */
  get key(): Uint8Array | undefined {
    return this.head?.key;
  }

  /** The key as text. A key that is no UTF-8 is shown with U+FFFD where it is not. Throws {@link PayloadError}. */
  get keyText(): string | undefined {
    const { key } = this;
    return key === undefined ? undefined : keyDecoder.decode(key);
  }

  /** With an envelope: its headers. Without: none. Throws {@link PayloadError}. */
  get headers(): RecordHeaders {
    return this.head?.headers ?? NO_HEADERS;
  }

  /** With an envelope: when it was made, in milliseconds since 1970. Throws {@link PayloadError}. */
  get timestampMs(): number | undefined {
    return this.head?.timestampMs;
  }

  private get head(): (EnvelopeHead & { readonly valueBytes: Uint8Array }) | undefined {
    const { codec } = this;
    if (!(codec instanceof EnvelopeCodec)) return undefined;
    // Also for what was opened already: in memory that was released since, its key and its value would be empty.
    const { payload } = this;
    this.opened ??= this.guarded(() => codec.openHead(payload));
    return this.opened;
  }

  private decode(): T {
    const { codec, head } = this;
    if (head === undefined || !(codec instanceof EnvelopeCodec)) {
      return this.guarded(() => (codec as Codec<T>).decode(this.payload));
    }
    return this.guarded(() => codec.valueOf(head.valueBytes));
  }

  private guarded<R>(work: () => R): R {
    try {
      return work();
    } catch (cause) {
      throw new PayloadError(this.topic, this.partition, this.offset, this.payload, cause);
    }
  }
}

/** Records of one partition that came together. Iterating it decodes nothing that is not asked for, unless `onBad` is a function. */
export class TypedBatch<T> implements Iterable<TypedRecord<T>> {
  constructor(
    /** What came, with the payloads as they are. */
    readonly raw: RecordBatch,
    private readonly codec: Codec<T> | EnvelopeCodec<T>,
    private readonly onBad: OnBad<T>,
  ) {}

  get topic(): string {
    return this.raw.topic;
  }

  get partition(): PartitionId {
    return this.raw.partition;
  }

  /** The first record's offset. */
  get baseOffset(): Offset {
    return this.raw.baseOffset;
  }

  /** Where to read on. */
  get nextOffset(): Offset {
    return this.raw.nextOffset;
  }

  /** Where the partition ended for readers when the answer was made. */
  get highWatermark(): Offset {
    return this.raw.highWatermark;
  }

  /** How many records there are behind this batch, as far as the answer knew. */
  get lag(): number {
    return this.raw.lag;
  }

  /** As `RecordBatch.epoch`. */
  get epoch(): number {
    return this.raw.epoch;
  }

  /** How many records came, those included that the codec does not take. */
  get length(): number {
    return this.raw.length;
  }

  *[Symbol.iterator](): Generator<TypedRecord<T>, void> {
    for (let index = 0; index < this.raw.length; index++) {
      const record = this.take(index);
      if (record !== undefined) yield record;
    }
  }

  /** The record at `index` of `raw`; undefined: the codec does not take it, and `onBad` was told. */
  take(index: number): TypedRecord<T> | undefined {
    const record = new TypedRecord(this.codec, this.raw, index);
    if (this.onBad === "error") return record;
    try {
      void record.value;
    } catch (error) {
      if (!(error instanceof PayloadError)) throw error;
      this.onBad(error, record);
      return undefined;
    }
    return record;
  }
}
