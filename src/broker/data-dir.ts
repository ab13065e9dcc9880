// Which partitions lie in the directory of a broker. Who holds it and which layout it has is storage's. It opens no
// partition and removes nothing: what is not ours is left alone.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MillraceError } from "../model/errors.js";
import { PARTITIONS_MAX } from "../model/limits.js";
import { isTopicName } from "../model/topic-name.js";
import { lockDataDir, settleLayout } from "../storage/data-dir.js";
import type { OperatorLog } from "./options.js";
import { storageEvents } from "./storage-events.js";

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
    await settleLayout(path, storageEvents(log));
    return { path, partitions: await findPartitions(path), release: () => lock.release() };
  } catch (cause) {
    lock.release();
    if (cause instanceof MillraceError) throw cause;
    throw new MillraceError("DATA_DIR_UNUSABLE", `data.dir ${path} cannot be used: ${(cause as Error).message}`, {
      cause,
    });
  }
}

async function findPartitions(dataDir: string): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>();
  for (const entry of await readdir(dataDir, { withFileTypes: true })) {
    const match = /^(.+)-(0|[1-9]\d{0,4})$/.exec(entry.name);
    const mayBeOurs = entry.isDirectory() || entry.isSymbolicLink();
    if (match === null || !mayBeOurs || !isTopicName(match[1]) || Number(match[2]) >= PARTITIONS_MAX) continue;
    const numbers = found.get(match[1]) ?? [];
    numbers.push(Number(match[2]));
    found.set(match[1], numbers);
  }
  for (const numbers of found.values()) numbers.sort((a, b) => a - b);
  return found;
}
