// The directory that a backup fills. What says that it is a data directory is written last; until then millrace.json says that it
// is none, and a broker refuses to start there.

import { readdir, readFile, realpath, rename, rm } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { native } from "../../native/binding.js";
import { isMissing } from "../../storage/damage.js";
import { LAYOUT_FILE } from "../../storage/data-dir.js";
import { makeDirectory } from "../../storage/make-directory.js";
import { Failed, Usage } from "../failure.js";
import { PARTIAL } from "./copy.js";

/** What millrace.json says meanwhile. A broker that is started there prints it. */
const INCOMPLETE = { incomplete: "a backup into this directory has not finished; remove it and begin anew" };
/** A file system has it at its root. */
const NOT_OURS = new Set(["lost+found"]);

export class BackupTarget {
  private constructor(private readonly dir: string) {}

  /** Makes the directory, or takes an empty one. */
  static async begin(dir: string, dataDir: string): Promise<BackupTarget> {
    const inside = relative(await realpath(dataDir), await realOf(dir));
    if (!inside.startsWith(`..${sep}`) && inside !== "..") throw new Usage(`${dir} lies in the data directory`);
    await makeDirectory(dir);
    const names = (await readdir(dir)).filter((name) => !NOT_OURS.has(name));
    if (names.length > 0) {
      const why = (await isIncomplete(dir)) ? "holds a backup that was interrupted" : "is not empty";
      throw new Failed(`${dir} ${why}: expected an empty directory, or none`);
    }
    await native.replaceFile(join(dir, LAYOUT_FILE), json(INCOMPLETE));
    return new BackupTarget(dir);
  }

  /** Where a partition is put together. What an earlier try left there is removed. */
  async partition(name: string): Promise<string> {
    const path = join(this.dir, name + PARTIAL);
    await rm(path, { recursive: true, force: true });
    return path;
  }

  /** It is whole. */
  async keep(name: string): Promise<void> {
    await rename(join(this.dir, name + PARTIAL), join(this.dir, name));
    await native.syncDirectory(this.dir);
  }

  /** All are. `layout` is the millrace.json of the original. */
  async finish(layout: Uint8Array): Promise<void> {
    await native.replaceFile(join(this.dir, LAYOUT_FILE), layout);
  }

  /** Takes away what was made, what says that it is nothing last. Whatever cannot be removed stays, and says so itself. */
  async abandon(): Promise<void> {
    const names = await readdir(this.dir);
    const ours = names.filter((name) => name !== LAYOUT_FILE && !NOT_OURS.has(name));
    for (const name of ours) await rm(join(this.dir, name), { recursive: true, force: true });
    await rm(join(this.dir, LAYOUT_FILE), { force: true });
  }
}

/** Whether a directory is what an interrupted backup left. */
export async function isIncomplete(dir: string): Promise<boolean> {
  try {
    const layout: unknown = JSON.parse(await readFile(join(dir, LAYOUT_FILE), "utf8"));
    return typeof layout === "object" && layout !== null && "incomplete" in layout;
  } catch {
    return false;
  }
}

/** The real path of something that need not be there yet. */
async function realOf(path: string): Promise<string> {
  const absolute = resolve(path);
  try {
    return await realpath(absolute);
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    const parent = resolve(absolute, "..");
    return join(await realOf(parent), relative(parent, absolute));
  }
}

const json = (value: object): Uint8Array => new TextEncoder().encode(`${JSON.stringify(value)}\n`);
