// What a partition takes on the disk of this machine. The protocol does not carry it.

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export interface PartitionSize {
  /** Blocks in use by segments, their indexes and what is prepared, in bytes: an active segment is a large file and little of it. */
  readonly diskBytes: number;
  /** The same of the segments alone, where that is less than their length. */
  readonly logBytes: number;
}

const BLOCK_BYTES = 512;

export async function sizeOfPartition(dir: string): Promise<PartitionSize> {
  let diskBytes = 0;
  let logBytes = 0;
  for (const name of await readdir(dir)) {
    const stats = await statOf(join(dir, name));
    if (stats === undefined) continue;
    const used = stats.blocks * BLOCK_BYTES;
    diskBytes += used;
    if (name.endsWith(".log")) logBytes += Math.min(used, stats.size);
  }
  return { diskBytes, logBytes };
}

/** How many bytes of records there are to look at in some partitions, about: for a progress bar. */
export async function bytesIn(dirs: readonly string[]): Promise<number> {
  const none = { diskBytes: 0, logBytes: 0 };
  // What cannot be looked at is named by who reads it.
  const sizes = await Promise.all(dirs.map((dir) => sizeOfPartition(dir).catch(() => none)));
  return sizes.reduce((sum, { logBytes }) => sum + logBytes, 0);
}

/** Undefined: retention was faster. */
async function statOf(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
