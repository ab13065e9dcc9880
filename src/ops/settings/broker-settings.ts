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
  readonly "segment.mode"?: "MAPPED" | "FILE_CHANNEL" | undefined;
  readonly "segment.bytes"?: Bytes | undefined;
  readonly "segment.roll.ms"?: Millis | undefined;
  readonly "record.format"?: "crc32c" | "plain" | undefined;
  readonly visibility?: "written" | "durable" | undefined;
  readonly "flush.every.records"?: Count | undefined;
  readonly "flush.every.ms"?: Millis | undefined;
  readonly "retention.bytes"?: Bytes | undefined;
  readonly "retention.ms"?: Millis | undefined;
}

/** The others, but for `topics`. */
export interface OfBroker extends OfTopic {
  readonly "data.dir"?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: Count | undefined;
  readonly "socket.path"?: string | undefined;
  readonly "ops.enabled"?: YesNo | undefined;
  readonly "ops.host"?: string | undefined;
  readonly "ops.port"?: Count | undefined;
  readonly "ops.allowed.hosts"?: Names | undefined;
  readonly "index.interval.bytes"?: Bytes | undefined;
  readonly "retention.check.ms"?: Millis | undefined;
  readonly "disk.reserve.bytes"?: Bytes | undefined;
  readonly "fetch.mode"?: "ZERO_COPY" | "HEAP" | undefined;
  readonly "fetch.max.wait.ms"?: Millis | undefined;
  readonly "fetch.max.bytes"?: Bytes | undefined;
  readonly "max.frame.bytes"?: Bytes | undefined;
  readonly "connections.max"?: Count | undefined;
  readonly "connection.idle.ms"?: Millis | undefined;
  readonly "connection.requests.max"?: Count | undefined;
  readonly "connection.write.stall.ms"?: Millis | undefined;
  readonly "frame.timeout.ms"?: Millis | undefined;
  readonly "queued.bytes.max"?: Bytes | undefined;
  readonly "connection.queued.bytes.max"?: Bytes | undefined;
  readonly "populate.ahead.max"?: Bytes | undefined;
  readonly "index.cache.bytes"?: Bytes | undefined;
  readonly "stop.timeout.ms"?: Millis | undefined;
  readonly "log.level"?: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent" | undefined;
}

type Head<Key> = Key extends `${infer First}.${string}` ? First : never;
type Rest<Key, First extends string> = Key extends `${First}.${infer Others}` ? Others : never;

/** With the tables of the file as well: `{ segment: { bytes: 1 } }` is `{ "segment.bytes": 1 }`. */
type Tables<Flat> = Flat & {
  readonly [First in Head<keyof Flat>]?:
    | Tables<{ readonly [Others in Rest<keyof Flat, First>]?: Flat[`${First}.${Others}` & keyof Flat] }>
    | undefined;
};

/** Partitions of a topic, and the settings that it has for itself: as `[topics.orders]` in the file. */
export type TopicSettings = Tables<OfTopic> & { readonly partitions?: Count | undefined };

/**
 * Settings of a broker by their names, as the file has them: `{ "data.dir": "./log", port: 0, topics: "orders:3" }`. What each means and
 * takes, and its default, is in docs/settings.md. `"none"` switches off what may be off.
 */
export type BrokerSettings = Tables<OfBroker> & {
  /** `"orders:3,clicks:1"`, or a table for each topic. */
  readonly topics?: string | { readonly [topic: string]: TopicSettings } | undefined;
};
