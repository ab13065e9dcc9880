// Moves bytes that are not part of the log into `.torn` files beside it. They are kept for a person to look at; nobody reads
// them again.
//
// Idempotent: a start that was cut off between the copy and the cut does both again, finds its own copy, and makes no second
// one. A file of the same name with other bytes is an earlier recovery's, and stays.

import { basename, join } from "node:path";
import { native } from "../native/binding.js";
import { isMissing, storageFailure } from "./damage.js";
import { tornName } from "./segment-name.js";

const CHUNK_BYTES = 1024 * 1024;

/** Copies `[position, position + bytes)` of a segment, and forces the copy. Returns its path. */
export async function copyTorn(
  dir: string,
  segment: { readonly baseOffset: number; readonly path: string },
  position: number,
  bytes: number,
): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const path = join(dir, tornName(segment.baseOffset, position, attempt));
    const same = await holdsSame(path, segment.path, position, bytes);
    if (same === "other") continue;
    if (same === "absent") await copyRange(segment.path, position, bytes, path);
    return path;
  }
}

/** Renames a whole segment that lies behind the log's end. Returns its new path. */
export async function moveTorn(
  dir: string,
  segment: { readonly baseOffset: number; readonly path: string },
): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const path = join(dir, tornName(segment.baseOffset, 0, attempt));
    if (await exists(path)) continue;
    await native.renameFile(segment.path, path);
    return path;
  }
}

async function copyRange(from: string, position: number, bytes: number, to: string): Promise<void> {
  // Not under its own name before it is whole, or a start that was cut off would take half a copy for another's.
  const temporary = `${to}.tmp`;
  await native.unlinkFile(temporary).catch(() => undefined);
  const source = await native.openFile(from, { writable: false });
  const target = await native.openFile(temporary, { writable: true, create: true });
  try {
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, bytes));
    const zeros = Buffer.alloc(chunk.length);
    for (let done = 0; done < bytes; ) {
      const read = await source.readAsync(chunk.subarray(0, Math.min(chunk.length, bytes - done)), position + done);
      // Who asked cuts the segment afterwards.
      if (read === 0) throw storageFailure(`${from} ends at ${position + done} while it is copied`);
      const end = done + read;
      // Reserved room between what was written stays a hole; the last bytes give the copy its length.
      if (end === bytes || !chunk.subarray(0, read).equals(zeros.subarray(0, read)))
        await target.write(chunk.subarray(0, read), done, false);
      done = end;
    }
    await target.sync();
  } finally {
    source.close();
    target.close();
  }
  await native.renameFile(temporary, to);
}

async function holdsSame(
  path: string,
  segmentPath: string,
  position: number,
  bytes: number,
): Promise<"absent" | "same" | "other"> {
  if (!(await exists(path))) return "absent";
  const copy = await native.openFile(path, { writable: false });
  const segment = await native.openFile(segmentPath, { writable: false });
  try {
    if (copy.size() !== bytes) return "other";
    const mine = new Uint8Array(Math.min(CHUNK_BYTES, bytes));
    const theirs = new Uint8Array(mine.length);
    for (let done = 0; done < bytes; done += mine.length) {
      const want = Math.min(mine.length, bytes - done);
      await segment.readAsync(mine.subarray(0, want), position + done);
      await copy.readAsync(theirs.subarray(0, want), done);
      if (Buffer.compare(mine.subarray(0, want), theirs.subarray(0, want)) !== 0) return "other";
    }
    return "same";
  } finally {
    copy.close();
    segment.close();
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    (await native.openFile(path, { writable: false })).close();
    return true;
  } catch (cause) {
    if (isMissing(cause)) return false;
    throw cause;
  }
}

/** For messages: the names, without the directory that every event has. */
export const tornNames = (paths: readonly string[]): string => paths.map((path) => basename(path)).join(", ");
