// Segments that could not be read when they were to be sent: tells the operator which, where and why, each once in a while, and
// remembers them for those who ask for several partitions, whose answer would otherwise fail again with the others in it.

import { basename, dirname } from "node:path";
import type { OperatorLog } from "../broker/options.js";
import { UNREADABLE_LOG_MS, UNREADABLE_MAX, UNREADABLE_MS } from "../model/limits.js";
import type { FileFailure, NativeFile } from "../native/binding.js";

interface Trouble {
  until: number;
  toldAt: number;
  /** Since it was told. */
  untold: number;
}

export class UnreadableFiles {
  private readonly troubles = new Map<string, Trouble>();

  constructor(
    private readonly log: OperatorLog,
    /** Milliseconds on a clock that never goes back. */
    private readonly now: () => number,
  ) {}

  has(file: NativeFile | undefined): boolean {
    if (this.troubles.size === 0 || file === undefined) return false;
    const trouble = this.troubles.get(file.path);
    return trouble !== undefined && this.now() < trouble.until;
  }

  add(failure: FileFailure): void {
    const { path } = failure;
    const now = this.now();
    const before = this.troubles.get(path) ?? { until: 0, toldAt: Number.NEGATIVE_INFINITY, untold: 0 };
    const trouble = { ...before, until: now + UNREADABLE_MS, untold: before.untold + 1 };
    // Behind the others: the first is the one that was well for the longest time.
    this.troubles.delete(path);
    this.troubles.set(path, trouble);
    if (this.troubles.size > UNREADABLE_MAX) this.troubles.delete(this.troubles.keys().next().value as string);
    if (now - trouble.toldAt < UNREADABLE_LOG_MS) return;
    this.tell(failure, trouble.untold);
    trouble.toldAt = now;
    trouble.untold = 0;
  }

  private tell({ path, position, bytes, error, closes }: FileFailure, times: number): void {
    const partition = basename(dirname(path));
    const { code, errno } = (error ?? {}) as NodeJS.ErrnoException;
    const fields = { partition, path, position, bytes, code, errno, closed: closes, times };
    const what = `${bytes} bytes of ${partition} at ${position} of ${path}`;
    const peer = closes
      ? "part of the answer had left, so its connection was closed"
      : "the reader got STORAGE_FAILURE";
    if (error === undefined) {
      const text = `${what} are not there: somebody else has cut the segment; ${peer}`;
      this.log.error({ kind: "fetch.file-short", ...fields }, text);
    } else {
      this.log.error({ kind: "fetch.file-error", ...fields }, `${what} could not be read (${code}); ${peer}`);
    }
  }
}
