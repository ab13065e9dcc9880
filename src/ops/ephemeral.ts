// The data directory of a broker that leaves nothing behind: made for it, removed with it, and removed by the next one when
// its process was killed. Whether somebody still uses one is told by the lock that a broker holds on its directory, and not by
// a process id, which says nothing of a worker thread that was ended or of another container.

import { rmSync } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../model/clock.js";
import { MillraceError } from "../model/errors.js";
import { EPHEMERAL_UNLOCKED_MS } from "../model/limits.js";
import { type DirectoryLock, native } from "../native/binding.js";
import { LOCK_FILE } from "../storage/segment-name.js";

const PREFIX = "millrace-ephemeral-";

/** What such a broker is set to unless it is told otherwise: small and quick to start, beside any number of others. */
export const EPHEMERAL_DEFAULTS: Readonly<Record<string, string>> = {
  port: "0",
  "ops.enabled": "false",
  "ops.port": "0",
  // The smallest that holds a request of the largest size with room to spare.
  "segment.bytes": "16MiB",
  "disk.reserve.bytes": "0",
  "populate.ahead.max": "0",
  "index.cache.bytes": "4MiB",
};

/** Tried again: another process may take it for left as soon as its lock is free, and put its own there while it is being removed. */
const ALL_OF_IT = { recursive: true, force: true, maxRetries: 10, retryDelay: 10 } as const;

/** What is to be removed when the process, or this worker thread, ends without a stop. */
const open = new Set<string>();

function removeAll(): void {
  for (const path of open) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // The next one removes it.
    }
  }
}

export class EphemeralDirectory {
  private readonly swept: Promise<void>;

  private constructor(
    readonly path: string,
    base: string,
    clock: Clock,
  ) {
    if (open.size === 0) process.on("exit", removeAll);
    open.add(path);
    // Beside the start and not before it: what others left may be large.
    this.swept = removeStale(base, clock).catch(() => undefined);
  }

  /** Rejects DATA_DIR_UNUSABLE. */
  static async create(clock: Clock): Promise<EphemeralDirectory> {
    const base = baseDirectory();
    try {
      return new EphemeralDirectory(await mkdtemp(join(base, PREFIX)), base, clock);
    } catch (cause) {
      const text = `no temporary directory can be made in ${base}: ${(cause as Error).message}`;
      throw new MillraceError("DATA_DIR_UNUSABLE", text, { cause });
    }
  }

  /** After the broker has let go of it. */
  async remove(): Promise<void> {
    await this.swept;
    await rm(this.path, ALL_OF_IT);
    open.delete(this.path);
    if (open.size === 0) process.off("exit", removeAll);
  }
}

/** On a disk if there is one: in memory there are no barriers, and a program under test would see another broker. */
function baseDirectory(): string {
  const candidates = [tmpdir(), "/var/tmp"];
  return candidates.find((dir) => !liesInMemory(dir)) ?? tmpdir();
}

function liesInMemory(dir: string): boolean {
  try {
    return native.isMemoryFileSystem(dir);
  } catch {
    return true; // not there
  }
}

async function removeStale(base: string, clock: Clock): Promise<void> {
  for (const name of await readdir(base)) {
    if (!name.startsWith(PREFIX) || open.has(join(base, name))) continue;
    await removeUnused(join(base, name), clock).catch(() => undefined);
  }
}

async function removeUnused(path: string, clock: Clock): Promise<void> {
  const lockFile = join(path, LOCK_FILE);
  const written = await sizeOf(lockFile);
  // Somebody has just made it and is about to lock it: whoever has the lock writes into its file, so an empty one is between the two.
  const isNew = clock.now() - (await stat(path)).mtimeMs < EPHEMERAL_UNLOCKED_MS;
  if (isNew && (written ?? 0) === 0) return;
  // Throws while somebody holds it, and for what belongs to another user.
  const lock: DirectoryLock | undefined = written === undefined ? undefined : native.lockFile(lockFile);
  try {
    await rm(path, ALL_OF_IT);
  } finally {
    lock?.release();
  }
}

/** Undefined: it is not there. */
const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
