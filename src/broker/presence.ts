// Whether the directories of the partitions that are served are still there. What is written to files that somebody has
// removed is written and forced as ever, and gone when the broker ends: only the names say so. A look costs a system call,
// so a bounded number of partitions is looked at each time, in turn, and all of them when the data directory itself is gone.

import { stat } from "node:fs/promises";
import { MillraceError } from "../model/errors.js";
import { PRESENCE_LOOKS } from "../model/limits.js";
import type { Partition } from "./topic.js";

export class Presence {
  /** By directory, since it was first looked at. Not at the start: ten thousand partitions would take half a second for it. */
  private readonly inodes = new Map<string, bigint>();
  private next = 0;

  constructor(
    private readonly dataDir: string,
    private readonly partitions: readonly Partition[],
  ) {}

  /** Poisons partitions whose directory is not there any more. */
  async look(): Promise<void> {
    if (await this.isGone(this.dataDir)) return this.lookAtAll();
    for (let i = Math.min(PRESENCE_LOOKS, this.partitions.length); i > 0; i--) {
      await this.lookAt(this.partitions[this.next]);
      this.next = (this.next + 1) % this.partitions.length;
    }
  }

  async lookAtAll(): Promise<void> {
    for (const partition of this.partitions) await this.lookAt(partition);
  }

  private async lookAt({ log, dir }: Partition): Promise<void> {
    if (log === undefined || log.poisoned !== undefined || !(await this.isGone(dir))) return;
    log.poison(
      new MillraceError(
        "STORAGE_FAILURE",
        `${dir} is not there any more: somebody removed or moved it while it was served; what is written now would be lost`,
      ),
    );
  }

  private async isGone(dir: string): Promise<boolean> {
    try {
      const { ino } = await stat(dir, { bigint: true });
      const before = this.inodes.get(dir);
      if (before === undefined) this.inodes.set(dir, ino);
      return before !== undefined && before !== ino;
    } catch (error) {
      // Any other failure to look says nothing about what is there.
      const { code } = error as NodeJS.ErrnoException;
      return code === "ENOENT" || code === "ENOTDIR";
    }
  }
}
