// Which partitions lie in the directory of a broker. Who holds it and which layout it has is storage's. It opens no
// partition and removes nothing: what is not ours is left alone.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MillraceError } from "../model/errors.js";
import { PARTITIONS_MAX } from "../model/limits.js";
import { counted } from "../model/plural.js";
import { isTopicName } from "../model/topic-name.js";
import { LAYOUT_FILE, lockDataDir, settleLayout } from "../storage/data-dir.js";
import { LOCK_FILE } from "../storage/segment-name.js";
import type { OperatorLog } from "./options.js";
import { storageEvents } from "./storage-events.js";

/** Ours, and what a file system makes at the top of its own accord. */
const OWN: ReadonlySet<string> = new Set([LOCK_FILE, LAYOUT_FILE, "lost+found"]);
/** So many are named in a line. */
const FOREIGN_NAMES = 10;

export interface DataDir {
  readonly path: string;
  /** Numbers of the partitions that lie here, ascending, by topic; configured or not. */
  readonly partitions: ReadonlyMap<string, readonly number[]>;
  release(): void;
}

export function partitionDirectory(dataDir: string, topic: string, partition: number): string {
  return join(dataDir, `${topic}-${partition}`);
}

/** Takes the directory, which is made when it is not there. Throws DATA_DIR_IN_USE or DATA_DIR_UNUSABLE. */
export async function openDataDir(path: string, log: OperatorLog): Promise<DataDir> {
  const lock = await lockDataDir(path);
  try {
    const isNew = await settleLayout(path, storageEvents(log));
    const { partitions, foreign } = await findPartitions(path);
    tellForeign(path, foreign, isNew, log);
    return { path, partitions, release: () => lock.release() };
  } catch (cause) {
    lock.release();
    if (cause instanceof MillraceError) throw cause;
    throw new MillraceError("DATA_DIR_UNUSABLE", `data.dir ${path} cannot be used: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/**
 * Nothing is removed and no start refused for them: a mount point has its lost+found, and who keeps notes beside the log may. But a
 * directory that was no broker's and is not empty may be another one than was meant.
 */
function tellForeign(path: string, foreign: string[], isNew: boolean, log: OperatorLog): void {
  if (foreign.length === 0) return;
  const names = foreign.sort().slice(0, FOREIGN_NAMES);
  const more = foreign.length > names.length ? ", …" : "";
  const what = `${path} has ${counted(foreign.length, "name")} that ${foreign.length === 1 ? "is" : "are"} not of millrace (${names.join(", ")}${more}): left alone`;
  const fields = { kind: "data-dir.foreign", dir: path, entries: foreign.length, names };
  if (isNew) log.warn(fields, `${what}; it was no broker's directory before: is data.dir the one that was meant?`);
  else log.info(fields, what);
}

/** Is not a partition by its name, and nobody's mistake. */
function isExpected(name: string, isSocket: boolean): boolean {
  return isSocket || OWN.has(name) || name.startsWith(`${LAYOUT_FILE}.`);
}

async function findPartitions(
  dataDir: string,
): Promise<{ readonly partitions: ReadonlyMap<string, readonly number[]>; readonly foreign: string[] }> {
  const found = new Map<string, number[]>();
  const foreign: string[] = [];
  for (const entry of await readdir(dataDir, { withFileTypes: true })) {
    const match = /^(.+)-(0|[1-9]\d{0,4})$/.exec(entry.name);
    const mayBeOurs = entry.isDirectory() || entry.isSymbolicLink();
    if (match === null || !mayBeOurs || !isTopicName(match[1]) || Number(match[2]) >= PARTITIONS_MAX) {
      if (!isExpected(entry.name, entry.isSocket())) foreign.push(entry.name);
      continue;
    }
    const numbers = found.get(match[1]) ?? [];
    numbers.push(Number(match[2]));
    found.set(match[1], numbers);
  }
  for (const numbers of found.values()) numbers.sort((a, b) => a - b);
  return { partitions: found, foreign };
}
