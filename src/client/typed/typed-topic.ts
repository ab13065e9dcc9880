// A topic whose records have values of one type: `client.topic<T>(name, { codec })`.

import { badArgument, badOptions } from "../../model/arguments.js";
import { MillraceError } from "../../model/errors.js";
import { badTopic } from "../checks.js";
import type { Codec } from "../codec/codec.js";
import { EnvelopeCodec } from "../codec/envelope.js";
import { badKey } from "../producer/calls.js";
import type { Producer } from "../producer/producer.js";
import type { AppendOptions, Payload, SendOptions, SentBatch, SentRecord } from "../producer/producer-options.js";
import type { FollowOptions, ReplayOptions } from "../subscription/options.js";
import type { Subscription } from "../subscription/subscription.js";
import type {
  EnvelopeAppendOptions,
  EnvelopeFields,
  EnvelopeSendOptions,
  EnvelopeTopicOptions,
  TypedTopicOptions,
} from "./topic-options.js";
import { type Decoding, TypedSubscription } from "./typed-subscription.js";

/** A typed topic whose values are in envelopes: its calls take `headers`, `timestampMs`, and a `key` beside a partition as well. */
export type EnvelopeTopic<T> = TypedTopic<T, EnvelopeSendOptions, EnvelopeAppendOptions>;

/** What a typed topic needs of a client. */
export interface TypedTopicHost {
  producer(): Producer;
  follow(topic: string, options?: FollowOptions): Subscription;
  replay(topic: string, options?: ReplayOptions): Subscription;
}

const OPTIONS = new Set(["codec", "keyOf", "onBad", "producer"]);
const FIELDS = ["headers", "timestampMs"] as const;
const SEND = new Set(["key", "partition", "signal", ...FIELDS]);
const APPEND = new Set([...SEND, "expectedOffset"]);

/** Values of a batch: an array, or what gives them one by one. Not text, which would be a record for each letter. */
type Values<T> = Iterable<T> & object;

/** A value that goes out with its key. */
interface Keyed<T> {
  readonly value: T;
  readonly key: Payload | undefined;
}

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
export class TypedTopic<T, Send extends object = SendOptions, Append extends object = AppendOptions> {
  private readonly codec: Codec<T> | EnvelopeCodec<T>;
  private readonly decoding: Decoding<T>;
  private producer: Producer | undefined;

  /** Throws BAD_ARGUMENT. {@link Client.topic} is the public way. */
  constructor(
    readonly name: string,
    private readonly options: TypedTopicOptions<T> | EnvelopeTopicOptions<T>,
    private readonly host: TypedTopicHost,
  ) {
    const bad = badTopic(name) ?? badOptions(options, OPTIONS, "a topic") ?? badTyped(options);
    if (bad !== undefined) throw bad;
    this.codec = options.codec;
    this.decoding = { codec: options.codec, onBad: options.onBad ?? "error" };
    this.producer = options.producer;
  }

  /**
   * Sends a value: as `Producer.send`, where a key beside a partition has a place in an envelope alone. A partition that is given beats the
   * one that `keyOf` leads to. Rejects as that and as the codec.
   */
  async send(value: T, options?: Send): Promise<SentRecord> {
    const given = this.checked(options, SEND, "send()");
    const keyed = this.keyed(value, given);
    return this.sender().send(
      this.name,
      this.payload(keyed, given),
      placeOf(given, () => keyed.key),
    );
  }

  /**
   * Sends values as one request to one partition, with adjacent offsets: as `Producer.batch`. Adjacent, not atomic. When `keyOf` leads to
   * several keys, say the partition or the key: else it rejects with BAD_ARGUMENT.
   */
  async batch(values: Values<T>, options?: Send): Promise<SentBatch> {
    const given = this.checked(options, SEND, "batch()");
    const one = given.partition === undefined ? new OneKey() : undefined;
    const payloads = this.payloads(values, given, one);
    try {
      // The first value's key says where the batch goes; how many there are behind it nobody knows.
      const first = payloads.next();
      const records = first.done ? [] : behind(first.value, payloads);
      return await this.sender().batch(
        this.name,
        records,
        placeOf(given, () => one?.key),
      );
    } finally {
      payloads.return();
    }
  }

  /**
   * Appends values as one request, if they get exactly the offsets from `expectedOffset` on: as `Producer.append`. Else nothing is
   * written and it rejects with {@link OffsetMismatchError}.
   */
  async append(values: Values<T>, options: Append): Promise<SentBatch> {
    const given = this.checked(options, APPEND, "append()");
    const { partition, expectedOffset, signal } = given as EnvelopeAppendOptions;
    return this.sender().append(this.name, this.payloads(values, given), { partition, expectedOffset, signal });
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

  /** What would be left out in silence is refused: it would be missed when it is too late. Throws BAD_ARGUMENT. */
  private checked(options: object = {}, known: ReadonlySet<string>, what: string): EnvelopeSendOptions {
    const bad = badOptions(options, known, what);
    if (bad !== undefined) throw bad;
    const given = options as EnvelopeSendOptions;
    if (this.codec instanceof EnvelopeCodec) return given;
    const names: readonly (keyof EnvelopeSendOptions)[] =
      given.partition === undefined && known === SEND ? FIELDS : [...FIELDS, "key"];
    const homeless = names.find((name) => given[name] !== undefined);
    if (homeless === undefined) return given;
    const beside = homeless === "key" ? " beside a partition" : "";
    const text = `${homeless}${beside}: the codec of ${this.name} has no place for it; put an envelope() around that`;
    throw new MillraceError("BAD_ARGUMENT", text);
  }

  private keyed(value: T, { key }: EnvelopeSendOptions): Keyed<T> {
    return { value, key: key ?? this.options.keyOf?.(value) };
  }

  private *payloads(values: Values<T>, given: EnvelopeSendOptions, one?: OneKey): Generator<Uint8Array, void> {
    // Each letter would be a record.
    if (typeof values === "string") throw badArgument("values", values, "an array of values");
    for (const value of values) {
      const keyed = this.keyed(value, given);
      one?.take(keyed.key);
      yield this.payload(keyed, given);
    }
  }

  private payload({ value, key }: Keyed<T>, { headers, timestampMs }: EnvelopeFields): Uint8Array {
    const { codec } = this;
    if (codec instanceof EnvelopeCodec) return codec.seal({ value, key, headers, timestampMs });
    const payload = codec.encode(value);
    if (payload instanceof Uint8Array && payload.length > 0) return payload;
    throw badArgument("what the codec made of the value", payload, "a Uint8Array of at least one byte");
  }
}

/** Where it goes: to the partition that was given, else where the key leads. */
function placeOf({ partition, signal }: EnvelopeSendOptions, key: () => Payload | undefined): SendOptions {
  return partition === undefined ? { key: key(), signal } : { partition, signal };
}

function* behind<Each>(first: Each, others: Iterable<Each>): Generator<Each, void> {
  yield first;
  yield* others;
}

/** The key that all values of a batch have. */
class OneKey {
  key: Payload | undefined;
  private bytes: Buffer | undefined;
  private taken = 0;

  /** Throws BAD_ARGUMENT for one that is none, or not the first one's. */
  take(key: Payload | undefined): void {
    const bad = badKey(key);
    if (bad !== undefined) throw bad;
    const bytes = key === undefined ? undefined : Buffer.from(key as string);
    if (this.taken++ === 0) {
      this.key = key;
      this.bytes = bytes;
      return;
    }
    if (bytes === undefined ? this.bytes === undefined : this.bytes?.equals(bytes)) return;
    const text =
      "the values of a batch have several keys, and a batch goes to one partition: say which, or send them one by one";
    throw new MillraceError("BAD_ARGUMENT", text);
  }
}

function badTyped<T>(options: TypedTopicOptions<T> | EnvelopeTopicOptions<T>): MillraceError | undefined {
  const { codec, keyOf, onBad } = options;
  const { encode, decode } = (codec ?? {}) as Partial<Codec<T>>;
  const isCodec = codec instanceof EnvelopeCodec || (typeof encode === "function" && typeof decode === "function");
  if (!isCodec) {
    return badArgument("codec", codec, "a codec, for instance json()");
  }
  if (keyOf !== undefined && typeof keyOf !== "function") return badArgument("keyOf", keyOf, "a function");
  if (onBad === undefined || onBad === "error" || typeof onBad === "function") return undefined;
  return badArgument("onBad", onBad, `"error" or a function`);
}
