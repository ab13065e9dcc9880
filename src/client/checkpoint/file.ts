// Positions in a file that is replaced as a whole: after a kill or a loss of power it is the old one or the new one, never
// half of either.

import { randomUUID } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { open, readFile, readlink, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { badArgument } from "../../model/arguments.js";
import { checkpointText, parseCheckpoint } from "./file-format.js";
import { type CheckpointPosition, type CheckpointStore, checkpointFailure, positionKey } from "./store.js";

/**
 * A store in one file, for any number of topics and partitions. Each save writes a new file beside it (`path.….tmp`), forces
 * that to the disk, puts it in the place of the old one and forces the directory: two barriers, milliseconds on a disk. A kill in the
 * middle of a save may leave the new file there; it may be removed.
 * The file is JSON with one position a line. Its directory must be there. A link is followed, and the new file has the permissions of the old.
 *
 * `load` rejects with BAD_CHECKPOINT when the file is damaged or is none of these, and with CHECKPOINT_FAILED when it cannot be read, or when neither it
 * nor its directory is there; when there is no file yet, nothing is kept yet. `save` rejects with CHECKPOINT_FAILED when the file cannot be written, or when somebody else has written it since: two
 * programs with one file would each take back what the other has saved. Let each have a file of its own.
 *
 * ```ts
 * import { fileCheckpoints } from "millrace/client";
 *
 * for await (const batch of client.replay("orders").checkpointing(fileCheckpoints("./orders.checkpoint"))) {
 *   for (const record of batch.records) console.log(Buffer.from(record).toString());
 * }
 * ```
 */
export function fileCheckpoints(path: string): CheckpointStore {
  if (typeof path !== "string" || path === "") throw badArgument("path", path, "the path of a file");
  return new FileCheckpoints(resolve(path));
}

/** A file as it was when this store last read or wrote it; undefined: there was none. */
type Identity = Pick<BigIntStats, "ino" | "mtimeNs" | "size" | "mode"> | undefined;

/** Of a file's mode, who may do what. */
const PERMISSIONS = 0o777n;

class FileCheckpoints implements CheckpointStore {
  private kept: Map<string, CheckpointPosition> | undefined;
  private identity: Identity;
  /** Two subscriptions may have one store: their saves come one after the other. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly path: string) {}

  load(): Promise<readonly CheckpointPosition[]> {
    return this.inTurn(async () => [...(await this.read()).values()]);
  }

  save(positions: readonly CheckpointPosition[]): Promise<void> {
    return this.inTurn(async () => {
      const kept = new Map(this.kept ?? (await this.read()));
      for (const each of positions) kept.set(positionKey(each.topic, each.partition), each);
      await this.write(checkpointText(kept.values()));
      this.kept = kept;
    });
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work);
    this.last = done.catch(() => undefined);
    return done;
  }

  private async read(): Promise<Map<string, CheckpointPosition>> {
    const before = await this.look();
    // Now, and not when the first records have been handled and their position has no place.
    if (before === undefined) await this.needDirectory();
    const text =
      before === undefined ? undefined : await readFile(this.path, "utf8").catch((error) => this.failed("read", error));
    const positions = text === undefined ? [] : parseCheckpoint(text, this.path);
    this.kept = new Map(positions.map((each) => [positionKey(each.topic, each.partition), each]));
    this.identity = before;
    return this.kept;
  }

  private async write(text: string): Promise<void> {
    if (!isSame(await this.look(), this.identity)) {
      throw checkpointFailure(
        `${this.path} was changed by somebody else since it was read: a checkpoint file has one writer, give each program its own`,
      );
    }
    // Whoever made a link of it wants the file changed that it leads to, maybe on another disk, and not the link replaced.
    const target = await leadsTo(this.path);
    // Under one name for all, a second writer that comes by mistake would empty this file while it is put in place.
    const temporary = `${target}.${randomUUID()}.tmp`;
    try {
      const file = await open(temporary, "wx");
      let identity: Identity;
      try {
        // What was for one pair of eyes stays so.
        if (this.identity !== undefined) await file.chmod(Number(this.identity.mode & PERMISSIONS));
        await file.writeFile(text);
        await file.sync();
        identity = await file.stat({ bigint: true });
      } finally {
        await file.close();
      }
      await rename(temporary, target);
      this.identity = identity;
      // The new name, too, is lost with the power until its directory is forced.
      const directory = await open(dirname(target), "r");
      await directory.sync().finally(() => directory.close());
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      this.failed("written", error);
    }
  }

  private async look(): Promise<Identity> {
    let found: BigIntStats;
    try {
      found = await stat(this.path, { bigint: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      return this.failed("read", error);
    }
    if (found.isFile()) return found;
    // A device or a pipe may bring bytes without an end, or none and no end either.
    throw checkpointFailure(
      `the checkpoint ${this.path} is ${found.isDirectory() ? "a directory" : "no regular file"}`,
    );
  }

  private async needDirectory(): Promise<void> {
    const directory = dirname(await leadsTo(this.path));
    await stat(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") this.failed("read", error);
      throw checkpointFailure(`there is no checkpoint ${this.path}, and the directory ${directory} is not there`);
    });
  }

  private failed(what: string, error: unknown): never {
    throw checkpointFailure(`the checkpoint ${this.path} could not be ${what}: ${(error as Error).message}`, error);
  }
}

/** Also where nothing is there yet. One that leads in a circle was found when it was looked at. */
async function leadsTo(path: string): Promise<string> {
  const next = await readlink(path).catch(() => undefined);
  return next === undefined ? path : leadsTo(resolve(dirname(path), next));
}

function isSame(now: Identity, then: Identity): boolean {
  if (now === undefined || then === undefined) return now === then;
  return now.ino === then.ino && now.mtimeNs === then.mtimeNs && now.size === then.size;
}
