// A directory that somebody named: a partition's, or a data directory with several of them.

import { Failed } from "./failure.js";

/** The partitions' directories in it. Throws {@link Failed} when there is none, or when it is no directory. */
export async function partitionDirs(dir: string): Promise<string[]> {
  // Only here: the verbs that talk to a broker need neither the addon nor the time to load it.
  const { findPartitionDirs } = await import("../storage/verify.js");
  const found = await findPartitionDirs(dir).catch((error: NodeJS.ErrnoException) => {
    throw notThere(dir, error, "a broker's data directory, or one named TOPIC-NUMBER in it");
  });
  if (found.length === 0) {
    throw new Failed(
      `there is no partition in ${dir}: expected a broker's data directory or one named TOPIC-NUMBER in it`,
    );
  }
  return found;
}

/** For a path that does not lead to what a verb reads; any other error as it is: it says what the system refused. */
export function notThere(path: string, error: NodeJS.ErrnoException, expected: string): Error {
  if (error.code === "ENOENT") return new Failed(`there is no ${path}: expected ${expected}`);
  return error.code === "ENOTDIR" ? new Failed(`${path} is no directory: expected ${expected}`) : error;
}
