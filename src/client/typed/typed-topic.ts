// A topic whose records have values of one type: `client.topic<T>(name, { codec })`.

import { badArgument, badOptions } from "../../model/arguments.js";
import { MillraceError } from "../../model/errors.js";
import type { Offset } from "../../model/ids.js";
import { badTopic } from "../checks.js";
import type { Codec } from "../codec/codec.js";
import { EnvelopeCodec, type RecordHeadersInput } from "../codec/envelope.js";
import type { Producer } from "../producer/producer.js";
import type { Payload, SendOptions, SentBatch, SentRecord } from "../producer/producer-options.js";
import type { FollowOptions, ReplayOptions } from "../subscription/options.js";
import type { Subscription } from "../subscription/subscription.js";
import type { OnBad } from "./typed-record.js";
import { type Decoding, TypedSubscription } from "./typed-subscription.js";

/** What a typed topic may be told. */
export interface TypedTopicOptions<T> {
  /** Makes payloads of values and values of payloads: `json<Order>()`, `envelope(json<Order>())`, `text()`, … or one of your own. */
  readonly codec: Codec<T> | EnvelopeCodec<T>;
  /** The key of a value that is sent without one. Undefined: none. */
  readonly keyOf?: (value: T) => Payload | undefined;
  /**
   * What readers do with a record that the codec does not take. `"error"` (default): asking such a record for its value throws
   * {@link PayloadError}; nothing is decoded that nobody asks for. A function: it is told, and the record is left out; for that each
   * is decoded as it comes. What the function throws ends the iteration.
   */
  readonly onBad?: OnBad<T>;
  /** What sends. Default: a producer of its own, made for the first record and closed with the client. */
  readonly producer?: Producer;
}

/** What belongs to a value that is sent. */
export interface TypedSendOptions {
  /** Chooses the partition: equal keys, equal partition. With an envelope it is in the payload, too. Default: as `keyOf` says. */
  readonly key?: Payload;
  /** The partition itself. */
  readonly partition?: number;
  /** With an envelope only. */
  readonly headers?: RecordHeadersInput;
  /** In milliseconds since 1970; with an envelope only. Default: now. */
  readonly timestampMs?: number;
  /** Rejects with the signal's reason. What has left by then is written nevertheless. */
  readonly signal?: AbortSignal;
}

/** As {@link TypedSendOptions}, where the log must end at a place. */
export interface TypedAppendOptions extends Omit<TypedSendOptions, "partition"> {
  readonly partition: number;
  /** Where the log must end: the offset that the first record gets. */
  readonly expectedOffset: Offset | number;
}

/** What a typed topic needs of a client. */
export interface TypedTopicHost {
  producer(): Producer;
  follow(topic: string, options?: FollowOptions): Subscription;
  replay(topic: string, options?: ReplayOptions): Subscription;
}

const OPTIONS = new Set(["codec", "keyOf", "onBad", "producer"]);
const SEND = new Set(["key", "partition", "headers", "timestampMs", "signal"]);
const APPEND = new Set([...SEND, "expectedOffset"]);

/**
 * A topic of values.
 *
 * ```ts
 * import { json } from "millrace/client";
 *
 * interface Order { readonly id: string; readonly apples: number }
 * const orders = client.topic("orders", {
 *   codec: json<Order>(),
 *   keyOf: ({ id }) => id,
 *   onBad: ({ topic, partition, offset }) => console.log(`skipped ${topic}-${partition} ${offset}`),
 * });
 *
 * const { partition, offset } = await orders.send({ id: "a1", apples: 3 });
 * await client.producer().send("orders", "no JSON", { partition });
 * for await (const { value } of orders.replay({ from: offset }).records()) console.log(value.id, value.apples);
 * ```
 */
export class TypedTopic<T> {
  private readonly codec: Codec<T> | EnvelopeCodec<T>;
  private readonly decoding: Decoding<T>;
  private producer: Producer | undefined;

  /** Throws BAD_ARGUMENT. */
  constructor(
    readonly name: string,
    private readonly options: TypedTopicOptions<T>,
    private readonly host: TypedTopicHost,
  ) {
    const bad = badTopic(name) ?? badOptions(options, OPTIONS, "a topic") ?? badTyped(options);
    if (bad !== undefined) throw bad;
    this.codec = options.codec;
    this.decoding = { codec: options.codec, onBad: options.onBad ?? "error" };
    this.producer = options.producer;
  }

  /** Sends a value: as `Producer.send`. Rejects as that and as the codec. */
  async send(value: T, options: TypedSendOptions = {}): Promise<SentRecord> {
    this.check(options, SEND, "send()");
    const key = this.keyFor(value, options);
    const { partition, signal } = options;
    return this.sender().send(this.name, this.payload(value, key, options), { key, partition, signal } as SendOptions);
  }

  /**
   * Sends values as one request to one partition, with adjacent offsets: as `Producer.batch`. Adjacent, not atomic. When `keyOf` leads to
   * several keys, say the partition or the key: else it rejects with BAD_ARGUMENT.
   */
  async batch(values: Iterable<T>, options: TypedSendOptions = {}): Promise<SentBatch> {
    this.check(options, SEND, "batch()");
    const { partition, signal } = options;
    const keyed = this.keyed(values, options);
    const key = partition === undefined ? oneKey(keyed.map(({ key: own }) => own)) : undefined;
    return this.sender().batch(this.name, this.payloads(keyed, options), { key, partition, signal } as SendOptions);
  }

  /**
   * Appends values as one request, if they get exactly the offsets from `expectedOffset` on: as `Producer.append`. Else nothing is
   * written and it rejects with OFFSET_MISMATCH.
   */
  async append(values: Iterable<T>, options: TypedAppendOptions): Promise<SentBatch> {
    this.check(options, APPEND, "append()");
    const { partition, expectedOffset, signal } = options;
    const keyed = this.keyed(values, options);
    return this.sender().append(this.name, this.payloads(keyed, options), { partition, expectedOffset, signal });
  }

  /** The values from where the options say, on and on: as `Client.follow`. */
  follow(options?: FollowOptions): TypedSubscription<T> {
    return new TypedSubscription(this.host.follow(this.name, options), this.decoding);
  }

  /** The values up to where each partition ends now: as `Client.replay`. */
  replay(options?: ReplayOptions): TypedSubscription<T> {
    return new TypedSubscription(this.host.replay(this.name, options), this.decoding);
  }

  private sender(): Producer {
    this.producer ??= this.host.producer();
    return this.producer;
  }

  private check(options: TypedSendOptions, known: ReadonlySet<string>, what: string): void {
    const bad = badOptions(options, known, what);
    if (bad !== undefined) throw bad;
    if (this.codec instanceof EnvelopeCodec) return;
    for (const name of ["headers", "timestampMs"] as const) {
      if (options[name] === undefined) continue;
      // Left out in silence they would be missed when it is too late.
      const text = `${name}: the codec of ${this.name} has no place for it; put an envelope() around that`;
      throw new MillraceError("BAD_ARGUMENT", text);
    }
  }

  private keyFor(value: T, { key }: TypedSendOptions): Payload | undefined {
    return key ?? this.options.keyOf?.(value);
  }

  private keyed(values: Iterable<T>, options: TypedSendOptions): { value: T; key: Payload | undefined }[] {
    return Array.from(values, (value) => ({ value, key: this.keyFor(value, options) }));
  }

  private payloads(keyed: readonly { value: T; key: Payload | undefined }[], options: TypedSendOptions): Uint8Array[] {
    return keyed.map(({ value, key }) => this.payload(value, key, options));
  }

  private payload(value: T, key: Payload | undefined, { headers, timestampMs }: TypedSendOptions): Uint8Array {
    const { codec } = this;
    if (codec instanceof EnvelopeCodec) return codec.seal({ value, key, headers, timestampMs });
    const payload = codec.encode(value);
    if (payload instanceof Uint8Array && payload.length > 0) return payload;
    throw badArgument("what the codec made of the value", payload, "a Uint8Array of at least one byte");
  }
}

/** The key of all of them. Throws BAD_ARGUMENT when there are several. */
function oneKey(keys: readonly (Payload | undefined)[]): Payload | undefined {
  const [first] = keys;
  const bytesOf = (key: Payload | undefined): string | undefined =>
    key === undefined ? undefined : Buffer.from(key as string).toString("latin1");
  const same = bytesOf(first);
  if (keys.every((key) => bytesOf(key) === same)) return first;
  const text =
    "the values of a batch have several keys, and a batch goes to one partition: say which, or send them one by one";
  throw new MillraceError("BAD_ARGUMENT", text);
}

function badTyped<T>({ codec, keyOf, onBad }: TypedTopicOptions<T>): MillraceError | undefined {
  const { encode, decode } = (codec ?? {}) as Partial<Codec<T>>;
  const isCodec = codec instanceof EnvelopeCodec || (typeof encode === "function" && typeof decode === "function");
  if (!isCodec) {
    return badArgument("codec", codec, "a codec, for instance json()");
  }
  if (keyOf !== undefined && typeof keyOf !== "function") return badArgument("keyOf", keyOf, "a function");
  if (onBad === undefined || onBad === "error" || typeof onBad === "function") return undefined;
  return badArgument("onBad", onBad, `"error" or a function`);
}
