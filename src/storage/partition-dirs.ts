// Finds the partitions below a directory by the names of the files in it, for those who look at them offline. It reads none.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { classifyFile, META_FILE } from "./segment-name.js";

/** The partitions in a directory: itself, or those of a broker's data directory, by name. */
export async function findPartitionDirs(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  if (entries.some(({ name }) => isPartitionFile(name))) return [dir];
  const found: string[] = [];
  for (const entry of entries) {
    if (!entry.isDirectory() && !entry.isSymbolicLink()) continue;
    const path = join(dir, entry.name);
    if (await isPartitionDir(path)) found.push(path);
  }
  return found.sort();
}

/** One that cannot be read counts by its name, or nobody would hear of it. */
async function isPartitionDir(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).some(isPartitionFile);
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    return code !== "ENOTDIR" && code !== "ENOENT" && /-\d+$/.test(path);
  }
}

const isPartitionFile = (name: string): boolean => name === META_FILE || classifyFile(name).kind === "log";
