// Every setting of the broker: one row gives the key of the file, the name of the environment variable, the flag, --help,
// the validation, --print-config and the table in the documentation. A key that is not here is a refusal to start.

import { isIP } from "node:net";
import type * as v from "valibot";
import { PARTITIONS_MAX, SEGMENT_BYTES_MAX } from "../../model/limits.js";
import type { OfBroker, OfTopic } from "./broker-settings.js";
import { choice, duration, integer, type Kind, list, optional, size, text, yesNo } from "./kinds.js";
import { topicList } from "./topic-list.js";

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
const TiB = 1024 * GiB;
const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;
/** A hundred years: no time span of a log is longer, and sums of two stay exact. */
const CENTURY = 36_500 * DAY;

/** An address, or what a resolver may know. What ends in a number is an address or nothing: 256.1.1.1 is no name. */
const isHost = (host: string): boolean =>
  isIP(host) !== 0 ||
  (host.length <= 253 && /^[\p{L}\p{N}_-]+(\.[\p{L}\p{N}_-]+)*\.?$/u.test(host) && !/(^|\.)\d+\.?$/.test(host));

interface Row {
  readonly kind: Kind<unknown>;
  /** As somebody would write it, and checked like anything that is written. */
  readonly default: string;
  readonly help: string;
  /** May also stand in `[topics.x]` of the file. */
  readonly perTopic?: true;
}

const row = <K extends Kind<unknown>>(kind: K, fallback: string, help: string) => ({ kind, default: fallback, help });
/** May also stand in `[topics.x]` of the file. */
const topicRow = <K extends Kind<unknown>>(kind: K, fallback: string, help: string) => {
  return { ...row(kind, fallback, help), perTopic: true as const };
};

export const settingsTable = {
  "data.dir": row(text("a directory"), "./millrace-data", "where the log lies"),
  host: row(
    text("an address or a name to listen on", isHost),
    "127.0.0.1",
    "where clients connect; there is no authentication",
  ),
  port: row(integer(0, 65_535), "4710", "0 takes any free one; the ready line says which"),
  "socket.path": row(
    optional(text("a path of at most 100 bytes", (path) => Buffer.byteLength(path) <= 100)),
    "none",
    "a Unix-domain socket beside it, mode 0600",
  ),
  "ops.enabled": row(yesNo, "true", "the HTTP side port: health, metrics, API and console"),
  "ops.host": row(text("an address or a name to listen on", isHost), "127.0.0.1", "where the side port listens"),
  "ops.port": row(integer(0, 65_535), "4711", "0 takes any free one"),
  "ops.allowed.hosts": row(
    optional(list("names separated by commas", (name) => /^[A-Za-z0-9.:[\]-]+$/.test(name))),
    "none",
    "names other than its own address under which the side port may be asked",
  ),
  topics: row(topicList, "default:1", `topics and their partitions (1 to ${PARTITIONS_MAX}), as orders:3,clicks:1`),
  "segment.mode": topicRow(choice("MAPPED", "FILE_CHANNEL"), "MAPPED", "how segments are written"),
  "segment.bytes": topicRow(size(4 * KiB, SEGMENT_BYTES_MAX), "128MiB", "capacity of a segment"),
  "segment.roll.ms": topicRow(optional(duration(1, CENTURY)), "none", "roll a segment that is this old"),
  "record.format": topicRow(
    choice("crc32c", "plain"),
    "crc32c",
    "with or without a checksum for each record; an existing topic keeps its own",
  ),
  visibility: topicRow(
    choice("written", "durable"),
    "written",
    "what consumers see: records that are written, or only those that are forced to disk",
  ),
  "index.interval.bytes": row(size(64, SEGMENT_BYTES_MAX), "4KiB", "log between two entries of the offset index"),
  "flush.every.records": topicRow(
    optional(integer(1, 1_000_000_000)),
    "none",
    "force after so many records; bounds the window of loss, promises a producer nothing",
  ),
  "flush.every.ms": topicRow(optional(duration(1, DAY)), "none", "force after so long; the same"),
  "retention.bytes": topicRow(optional(size(1, 8192 * TiB - 1)), "none", "what a partition keeps, in whole segments"),
  "retention.ms": topicRow(optional(duration(1, CENTURY)), "none", "how long a segment is kept after its last append"),
  "retention.check.ms": row(duration(10, DAY), "30s", "how often retention is applied"),
  "disk.reserve.bytes": row(size(0, 1024 * TiB), "256MiB", "kept free on the disk; below it produces get LOG_FULL"),
  "fetch.mode": row(choice("ZERO_COPY", "HEAP"), "ZERO_COPY", "how records leave: sendfile, or read and write"),
  "fetch.max.wait.ms": row(
    duration(0, HOUR),
    "60s",
    "the longest that a fetch waits for records; a longer wish is cut",
  ),
  "fetch.max.bytes": row(size(KiB, GiB), "64MiB", "the most that one fetch answers"),
  "max.frame.bytes": row(size(KiB, 256 * MiB), "8MiB", "the largest request"),
  "connections.max": row(integer(1, 1_000_000), "10000", "at the bound the listener pauses"),
  "connection.idle.ms": row(
    optional(duration(SECOND, 20 * DAY)),
    "none",
    "close a connection that has been silent for so long",
  ),
  "connection.requests.max": row(
    integer(1, 65_536),
    "1024",
    "open requests of a connection; at the bound it is not read",
  ),
  "connection.write.stall.ms": row(
    duration(100, DAY),
    "30s",
    "close a connection that takes nothing for so long while answers wait",
  ),
  "frame.timeout.ms": row(duration(100, DAY), "30s", "a request must be complete after so long"),
  "queued.bytes.max": row(
    size(MiB, TiB),
    "256MiB",
    "bytes of requests and answers held in memory; at the bound sockets pause",
  ),
  "connection.queued.bytes.max": row(size(64 * KiB, GiB), "16MiB", "the same for one connection"),
  "populate.ahead.max": row(size(0, 64 * GiB), "256MiB", "pages that are prepared ahead of the writers, in all"),
  "index.cache.bytes": row(size(64 * KiB, 64 * GiB), "64MiB", "index pages of sealed segments kept in memory"),
  "stop.timeout.ms": row(duration(100, HOUR), "30s", "after so long a stop gives up with exit code 1"),
  "log.level": row(
    choice("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    "info",
    "JSON lines on stderr from this level on",
  ),
} as const satisfies {
  // The settings as types are written out beside this: what stands in one alone does not compile.
  readonly [K in keyof OfBroker | "topics"]: Row &
    (K extends TopicKey ? { readonly perTopic: true } : { readonly perTopic?: never });
};

export type SettingKey = keyof typeof settingsTable;
export const settingKeys = Object.keys(settingsTable) as readonly SettingKey[];

type ValueOf<K extends SettingKey> = v.InferOutput<(typeof settingsTable)[K]["kind"]>;
export type Settings = { readonly [K in SettingKey]: ValueOf<K> };

/** The settings that a topic may have for itself. */
export type TopicKey = keyof OfTopic;

export const isSettingKey = (key: string): key is SettingKey => Object.hasOwn(settingsTable, key);
export const isPerTopic = (key: SettingKey): boolean => (settingsTable[key] as Row).perTopic === true;
export const perTopicKeys = settingKeys.filter(isPerTopic) as readonly TopicKey[];
export const rowOf = (key: SettingKey): Row => settingsTable[key];

/** `data.dir` → `--data-dir`. */
export const flagOf = (key: string): string => `--${key.replaceAll(".", "-")}`;
/** `data.dir` → `MILLRACE_DATA_DIR`. */
export const variableOf = (key: string): string => `MILLRACE_${key.replaceAll(".", "_").toUpperCase()}`;
