// Open descriptors of sealed segments, bounded in number for all partitions together. It only decides who stays open; who
// owns a file also opens it. Least recently used, by the same tick as the index cache.
//
// Closing here gives up the pool's reference alone: a slice in an output queue or a read on a thread holds its own, so
// neither an eviction nor the removal of a segment disturbs a reader.

import type { NativeFile } from "../native/binding.js";

export interface FileHolder {
  /** Undefined when it is not open. */
  file: NativeFile | undefined;
  fileTick: number;
}

export class FilePool {
  readonly #holders = new Set<FileHolder>();
  #tick = 0;

  constructor(readonly maxFiles: number) {}

  get size(): number {
    return this.#holders.size;
  }

  touch(holder: FileHolder): void {
    holder.fileTick = ++this.#tick;
  }

  /** Takes a holder in with an open file. */
  admit(holder: FileHolder, file: NativeFile): void {
    if (holder.file !== file) this.forget(holder);
    holder.file = file;
    this.touch(holder);
    this.#holders.add(holder);
    while (this.#holders.size > Math.max(1, this.maxFiles)) this.#evictOldest();
  }

  /** Closes the holder's file. A holder that was never admitted is left alone: its file is not the pool's. */
  forget(holder: FileHolder): void {
    if (!this.#holders.delete(holder)) return;
    holder.file?.close();
    holder.file = undefined;
  }

  #evictOldest(): void {
    let oldest: FileHolder | undefined;
    for (const holder of this.#holders) {
      if (oldest === undefined || holder.fileTick < oldest.fileTick) oldest = holder;
    }
    if (oldest !== undefined) this.forget(oldest);
  }
}
