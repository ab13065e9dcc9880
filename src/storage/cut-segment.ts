// Cuts a segment's file to its records, and what may lie behind them on the disk.
//
// A file system that writes in place may have bytes of a record in the file's last block while the file ends before them: the block reached the disk
// before a cut of power, the file's new size did not. They are out of sight, and come back as a record when the file grows over them
// and the power fails once more before the new bytes are there. Seen on ext4, which makes the size durable on its own when the block
// was there before (faults/, rung power-cut). So zeros are written over them once.

import { stat } from "node:fs/promises";
import { native } from "../native/binding.js";

/** Afterwards the file ends at `end`, forced; with `clear` its last block has nothing behind that either. */
export async function cutSegment(path: string, end: number, clear: boolean): Promise<void> {
  const { size, blksize } = await stat(path);
  const rest = clear && end % blksize !== 0 ? blksize - (end % blksize) : 0;
  if (size === end && rest === 0) return;
  const file = await native.openFile(path, { writable: true });
  try {
    if (size !== end) await file.truncate(end);
    if (rest > 0) {
      // A start that is cut off here finds zeros behind the records, and cuts them.
      await file.write(new Uint8Array(rest), end, true).catch(unlessFull);
      await file.truncate(end);
    }
    await file.sync();
  } finally {
    file.close();
  }
}

/**
 * The block is there already; only a file system that never writes in place asks for room, and it has no such bytes. A barrier that found none
 * is another matter: then the zeros are not on the disk, as where a thin one is full.
 */
function unlessFull(cause: unknown): void {
  const { code, syscall } = cause as NodeJS.ErrnoException;
  if (syscall !== "pwrite" || (code !== "ENOSPC" && code !== "EDQUOT")) throw cause;
}
