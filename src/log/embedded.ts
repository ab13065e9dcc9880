// A log in your own process: one partition directory, no server, the same classes that the broker uses. This file opens one;
// what can be done with it is in embedded-log.ts, what it may be told in embedded-options.ts. It must not know the protocol
// or a client.

import { resolve } from "node:path";
import { shown } from "../model/arguments.js";
import { systemClock, systemTimers } from "../model/clock.js";
import { MillraceError } from "../model/errors.js";
import {
  EMBEDDED_INDEX_CACHE_BYTES,
  EMBEDDED_POPULATE_BYTES,
  EMBEDDED_SEALED_FILES,
  EMBEDDED_TURN_ROWS,
  SEGMENT_BYTES_MAX,
} from "../model/limits.js";
import { AppendTurn } from "../storage/append-turn.js";
import { FileSystemSpace } from "../storage/disk-space.js";
import { FilePool } from "../storage/file-pool.js";
import { IndexCache } from "../storage/index-cache.js";
import { makeDirectory } from "../storage/make-directory.js";
import { PartitionLog } from "../storage/partition-log.js";
import { PopulateBudget } from "../storage/populate-window.js";
import { Log } from "./embedded-log.js";
import { checkOptions, type LogOptions } from "./embedded-options.js";
import { PartitionWriter } from "./partition-writer.js";
import { Scheduler } from "./scheduler.js";

export { Log } from "./embedded-log.js";
export type { LogRead } from "./embedded-reads.js";

/**
 * Opens the log in a directory, and makes both if they are not there. One process at a time has it; a broker counts as one.
 *
 * After a crash this finds the end of the log by reading what was written since the last checkpoint; after `close` it costs
 * nothing that grows with the log. An open log that is idle keeps no process alive.
 *
 * @param dir the directory of this log alone
 * @throws MillraceError with `code`
 * - `BAD_ARGUMENT`: an option that does not exist or has a wrong value
 * - `PARTITION_IN_USE`: another process has it open
 * - `PARTITION_DAMAGED`: records that were forced are damaged; the message names file, position and offset
 * - `BAD_CONFIG`: another `recordFormat` than the directory has
 * - `STORAGE_FAILURE`: the directory cannot be used; `cause` is the system's error
 *
 * @example
 * ```ts
 * import { openLog } from "millrace";
 *
 * const log = await openLog("./events");
 * const text = new TextEncoder();
 *
 * const first = await log.append(text.encode("signed up"));
 * await log.appendBatch([text.encode("paid"), text.encode("sent")], { ack: "written" });
 *
 * for await (const { offset, payload } of log.replay(first)) {
 *   console.log(offset, new TextDecoder().decode(payload));
 * }
 * await log.close();
 * ```
 */
export async function openLog(dir: string, options: LogOptions = {}): Promise<Log> {
  if (typeof dir !== "string" || dir === "") {
    throw new MillraceError("BAD_ARGUMENT", `dir: got ${shown(dir)}, expected the path of a directory`);
  }
  const { onEvent, diskReserveBytes, ...checked } = checkOptions(options);
  const path = resolve(dir);
  let log: PartitionLog;
  try {
    await makeDirectory(path);
    log = await PartitionLog.open(path, checked, {
      clock: systemClock,
      indexCache: new IndexCache(EMBEDDED_INDEX_CACHE_BYTES),
      files: new FilePool(EMBEDDED_SEALED_FILES),
      populate: new PopulateBudget(EMBEDDED_POPULATE_BYTES),
      space: await FileSystemSpace.open(path, diskReserveBytes, systemClock),
      log: onEvent,
    });
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MillraceError("STORAGE_FAILURE", `the log in ${path} cannot be opened: ${why}`, { cause });
  }
  const turn = new AppendTurn(EMBEDDED_TURN_ROWS, systemClock);
  // The queue in front bounds what waits, so nothing is ever refused for want of memory.
  const unbounded = Number.MAX_SAFE_INTEGER;
  const scheduler = new Scheduler({ turnBytes: SEGMENT_BYTES_MAX, queuedBytesMax: unbounded }, turn);
  const writer = new PartitionWriter(log, scheduler, { ...checked, mailboxBytes: unbounded }, systemTimers);
  return new Log(writer, scheduler, checked.retentionBytes !== undefined || checked.retentionMs !== undefined);
}
