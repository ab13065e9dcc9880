// The directory in which a run writes: one of its own below the one that was asked for, with a lock in it. It is gone when the process
// ends, however that is asked for; what a run left that was killed is recognised by its lock, which nobody holds, and removed by the
// next. Names with a pid in them would not do: another container's processes look as if they were gone.
//
//   DIRECTORY/run-XXXXXX/LOCK       held as long as the run lives
//   DIRECTORY/run-XXXXXX/sample-*   one for each sample

import "./children.js"; // its servers are ended first
import { rmSync } from "node:fs";
import { mkdtemp, readdir, realpath, rename, rm, rmdir, stat, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type DirectoryLock, native } from "../../src/native/binding.js";
import { refuseMemory, UnfitStand } from "./environment.js";
import { makeDirectories } from "./make-directories.js";

const PREFIX = "run-";
const LOCK = "LOCK";
/** Samples are kept below half a gibibyte, but for a minute of sustained writing and the logs that a reader reads cold. */
const ROOM_BYTES_MIN = 2 * 2 ** 30;

/** With their locks, which would be let go if nobody had them. */
const held = new Map<string, DirectoryLock>();
process.once("exit", () => {
  // What a server that has just been killed still had open comes and goes for a moment.
  for (const path of held.keys()) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
});

/**
 * A directory for this run alone, as `realpath` names it. Throws {@link UnfitStand}, and then leaves no directory that was not there.
 */
export async function takeDirectory(asked: string, room = ROOM_BYTES_MIN): Promise<string> {
  const path = resolve(asked);
  const made: string[] = [];
  try {
    await makeDirectories(path, made);
    const real = await realpath(path);
    await refuseMemory(real);
    await removeLeft(real);
    const own = await lockedDirectory(real);
    await refuseNoRoom(real, room).catch(async (error: unknown) => {
      await leaveDirectory(own);
      throw error;
    });
    return own;
  } catch (error) {
    for (const each of made.toReversed()) await rmdir(each).catch(() => undefined);
    throw error instanceof UnfitStand ? error : new UnfitStand(`${path} cannot be written to: ${reasonOf(error)}`);
  }
}

/** Removes it before the process ends. */
export async function leaveDirectory(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
  held.get(path)?.release();
  held.delete(path);
}

async function refuseNoRoom(path: string, room: number): Promise<void> {
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  const shown = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  if (free < room) throw new UnfitStand(`${path} has ${shown(free)} left: a run needs ${shown(room)}`);
}

/** Of runs that are gone: their lock is there, and nobody holds it. Whatever else lies here is not ours. */
async function removeLeft(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const lockFile = join(directory, name, LOCK);
    if (!name.startsWith(PREFIX) || !(await stat(lockFile).catch(() => undefined))?.isFile()) continue;
    let lock: DirectoryLock;
    try {
      lock = native.lockFile(lockFile);
    } catch {
      continue;
    }
    await rm(join(directory, name), { recursive: true, force: true });
    lock.release();
  }
}

async function lockedDirectory(parent: string): Promise<string> {
  const path = await mkdtemp(join(parent, PREFIX));
  try {
    // Renamed when it is held: another run that looks must never find it free.
    held.set(path, native.lockFile(join(path, `${LOCK}.new`)));
    await rename(join(path, `${LOCK}.new`), join(path, LOCK));
    return path;
  } catch (error) {
    await leaveDirectory(path);
    throw error;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EROFS: "it is mounted for reading only",
  ENOSPC: "no room is left",
  EDQUOT: "no room is left",
  EACCES: "not allowed",
  EPERM: "not allowed",
  ENOENT: "it takes no directories",
  ENAMETOOLONG: "the name is too long",
};

function reasonOf(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}
