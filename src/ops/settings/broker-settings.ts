// The settings as types, for programs that start a broker. Written out beside the table: types inferred from its kinds would ask
// every program that compiles against the package for valibot. The compiler compares the two where the table is.

/** In bytes, or text with a unit: `"64MiB"`. */
type Bytes = number | string;
/** In milliseconds, or text with a unit: `"30s"`. */
type Millis = number | string;
type Count = number | string;
/** Text, or several of them separated by commas. */
type Names = string;
type YesNo = boolean | "true" | "false";

/** By their whole names: what a topic may have for itself. */
export interface OfTopic {
  readonly "segment.mode"?: "MAPPED" | "FILE_CHANNEL";
  readonly "segment.bytes"?: Bytes;
  readonly "segment.roll.ms"?: Millis;
  readonly "record.format"?: "crc32c" | "plain";
  readonly visibility?: "written" | "durable";
  readonly "flush.every.records"?: Count;
  readonly "flush.every.ms"?: Millis;
  readonly "retention.bytes"?: Bytes;
  readonly "retention.ms"?: Millis;
}

/** The others, but for `topics`. */
export interface OfBroker extends OfTopic {
  readonly "data.dir"?: string;
  readonly host?: string;
  readonly port?: Count;
  readonly "socket.path"?: string;
  readonly "ops.enabled"?: YesNo;
  readonly "ops.host"?: string;
  readonly "ops.port"?: Count;
  readonly "ops.allowed.hosts"?: Names;
  readonly "index.interval.bytes"?: Bytes;
  readonly "retention.check.ms"?: Millis;
  readonly "disk.reserve.bytes"?: Bytes;
  readonly "fetch.mode"?: "ZERO_COPY" | "HEAP";
  readonly "fetch.max.wait.ms"?: Millis;
  readonly "fetch.max.bytes"?: Bytes;
  readonly "max.frame.bytes"?: Bytes;
  readonly "connections.max"?: Count;
  readonly "connection.idle.ms"?: Millis;
  readonly "connection.requests.max"?: Count;
  readonly "connection.write.stall.ms"?: Millis;
  readonly "frame.timeout.ms"?: Millis;
  readonly "queued.bytes.max"?: Bytes;
  readonly "connection.queued.bytes.max"?: Bytes;
  readonly "populate.ahead.max"?: Bytes;
  readonly "index.cache.bytes"?: Bytes;
  readonly "stop.timeout.ms"?: Millis;
  readonly "log.level"?: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
}

type Head<Key> = Key extends `${infer First}.${string}` ? First : never;
type Rest<Key, First extends string> = Key extends `${First}.${infer Others}` ? Others : never;

/** With the tables of the file as well: `{ segment: { bytes: 1 } }` is `{ "segment.bytes": 1 }`. */
type Tables<Flat> = Flat & {
  readonly [First in Head<keyof Flat>]?: Tables<{
    readonly [Others in Rest<keyof Flat, First>]?: Flat[`${First}.${Others}` & keyof Flat];
  }>;
};

/** Partitions of a topic, and the settings that it has for itself: as `[topics.orders]` in the file. */
export type TopicSettings = Tables<OfTopic> & { readonly partitions?: Count };

/**
 * Settings of a broker by their names, as the file has them: `{ "data.dir": "./log", port: 0, topics: "orders:3" }`. What each means and
 * takes, and its default, is in docs/settings.md. `"none"` switches off what may be off.
 */
export type BrokerSettings = Tables<OfBroker> & {
  /** `"orders:3,clicks:1"`, or a table for each topic. */
  readonly topics?: string | { readonly [topic: string]: TopicSettings };
};
