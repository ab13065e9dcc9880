// A client of logs in this process: what a program calls that wants producers and subscriptions without a broker.

import { resolve } from "node:path";
import { Client, type ClientOptions } from "../client/client.js";
import { Log } from "../log/embedded.js";
import type { LogOptions } from "../log/embedded-options.js";
import { badArgument, badOptions } from "../model/arguments.js";
import type { MillraceError } from "../model/errors.js";
import { LogBackend } from "./log-backend.js";
import { LogTopics } from "./log-topics.js";
import { badPartitionCount, openTopics } from "./open-topics.js";

/** What {@link openClient} may be told. */
export interface OpenClientOptions extends ClientOptions {
  /**
   * The directory of the topics that are given by their number of partitions: each partition lies in `<dir>/<topic>-<partition>`. A broker's
   * `data.dir` is such a directory: one of the two at a time has it, and each goes on where the other stopped.
   */
  readonly dir?: string | undefined;
  /**
   * The topics by name: how many partitions there are in `dir` (made when they are not there; later maybe more, never fewer), or
   * logs that the program has opened itself, partition 0 first.
   */
  readonly topics: Readonly<Record<string, number | Log | readonly Log[]>>;
  /** For the logs that are opened here. */
  readonly log?: LogOptions | undefined;
}

const KNOWN = new Set(["dir", "topics", "log", "retryMs"]);

/**
 * A client whose topics are logs in this process: producers, consumers, subscriptions and typed topics as those of a broker, without
 * one. What it opened is closed with it; logs that were given stay open.
 *
 * A record may be larger here than a broker takes: as large as a segment (`log.segmentBytes`), and a batch 256 MiB. Where a broker is to have
 * the directory later, keep to its `max.frame.bytes` (8 MiB unless it is set): it serves larger records only to readers whose
 * `maxBytesLimit` says so, up to its `fetch.max.bytes`.
 *
 * Requests have no deadline here and nothing is retried for want of a connection: what a log refuses comes with the code that a
 * broker would send. Closing a log under its client ends what waits for it with CLOSED.
 *
 * @throws MillraceError with `code`
 * - `BAD_ARGUMENT`: an option that does not exist or has a wrong value
 * - `BAD_CONFIG`: fewer partitions than there are in `dir`, or one of them is gone
 * - `DATA_DIR_IN_USE`: a broker or another client has the directory; `DATA_DIR_UNUSABLE`
 * - as {@link openLog}, for each partition: `PARTITION_DAMAGED` and others. One that does not open keeps all from it
 *
 * @example
 * ```ts
 * import { openClient } from "millrace";
 *
 * const client = await openClient({ dir: "./events", topics: { orders: 3, clicks: 1 } });
 *
 * const producer = client.producer();
 * await producer.send("orders", "apples 3", { key: "fruit" });
 *
 * for await (const { topic, offset, payload } of client.replay("orders").records()) {
 *   console.log(topic, offset, new TextDecoder().decode(payload));
 * }
 * await client.close();
 * ```
 *
 * @example
 * ```ts
 * import { json, openClient, openLog } from "millrace";
 *
 * // A log that the program uses itself, too.
 * const log = await openLog("./audit");
 * const client = await openClient({ topics: { audit: log } });
 *
 * const audit = client.topic("audit", { codec: json<{ readonly who: string }>() });
 * await audit.send({ who: "ada" });
 * console.log(log.logEndOffset);
 * await client.close();
 * await log.close();
 * ```
 */
export async function openClient(options: OpenClientOptions): Promise<Client> {
  const bad = badOptions(options, KNOWN, "openClient") ?? badTopics(options) ?? badDir(options);
  if (bad !== undefined) throw bad;
  const { topics, log, retryMs } = options;
  const dir = options.dir === undefined ? undefined : resolve(options.dir);
  const named = Object.entries(topics);
  const counts = new Map(named.filter((entry): entry is [string, number] => typeof entry[1] === "number"));
  const opened = dir === undefined ? undefined : await openTopics(dir, counts, log ?? {});
  try {
    const logs = new Map<string, readonly Log[]>();
    for (const [topic, value] of named) {
      if (typeof value !== "number") logs.set(topic, value instanceof Log ? [value] : value);
    }
    for (const [topic, value] of opened?.logs ?? []) logs.set(topic, value);
    const address = dir ?? `the logs of ${named.map(([topic]) => topic).join(", ")}`;
    const backend = new LogBackend(address, new LogTopics(logs), async () => opened?.close());
    return await Client.open(backend, { retryMs });
  } catch (error) {
    await opened?.close();
    throw error;
  }
}

function badTopics({ topics }: OpenClientOptions): MillraceError | undefined {
  const expected = "an object with at least one topic: { orders: 3 }";
  if (typeof topics !== "object" || topics === null || Array.isArray(topics)) {
    return badArgument("topics", topics, expected);
  }
  if (Object.keys(topics).length === 0) return badArgument("topics", topics, expected);
  for (const [name, value] of Object.entries(topics)) {
    if (value instanceof Log || Array.isArray(value)) continue;
    const bad = badPartitionCount(name, value);
    if (bad !== undefined) return bad;
  }
  return undefined;
}

function badDir({ dir, topics, log }: OpenClientOptions): MillraceError | undefined {
  const inDir = Object.values(topics).some((value) => typeof value === "number");
  if (dir === undefined && inDir) return badArgument("dir", dir, "the directory of the topics' partitions");
  if (dir !== undefined && !(typeof dir === "string" && dir !== "" && inDir)) {
    return badArgument("dir", dir, "the path of a directory, and only beside topics with a number of partitions");
  }
  if (dir === undefined && log !== undefined) return badArgument("log", log, "nothing: no log is opened here");
  return undefined;
}
