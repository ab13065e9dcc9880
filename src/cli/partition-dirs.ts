// A directory that somebody named: a partition's, or a data directory with several of them.

import { Failed } from "./failure.js";

/** The partitions' directories in it. Throws {@link Failed} when there is none. */
export async function partitionDirs(dir: string): Promise<string[]> {
  // Only here: the verbs that talk to a broker need neither the addon nor the time to load it.
  const { findPartitionDirs } = await import("../storage/verify.js");
  const found = await findPartitionDirs(dir);
  if (found.length === 0) {
    throw new Failed(
      `there is no partition in ${dir}: expected a broker's data directory or one named TOPIC-NUMBER in it`,
    );
  }
  return found;
}
