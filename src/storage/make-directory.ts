// Makes a directory with its parents. Not by mkdir's `recursive`: that tries for ever, with a processor at full load, where a
// parent is there and says ENOENT all the same (/proc does).

import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { native } from "../native/binding.js";
import { isMissing } from "./damage.js";

/** Every directory that had to be made is named on the disk afterwards: its parent is forced. */
export async function makeDirectory(dir: string): Promise<void> {
  const path = resolve(dir);
  if (await isDirectory(path)) return;
  try {
    await make(path);
  } catch (cause) {
    const parent = dirname(path);
    if (!isMissing(cause) || parent === path) throw cause;
    // The parent says so: it is not there itself, or it is and takes none.
    if (await isDirectory(parent)) {
      throw new Error(`${parent} is there, and takes no new directory (mkdir ${path})`, { cause });
    }
    await makeDirectory(parent);
    await make(path);
  }
  await native.syncDirectory(dirname(path));
}

async function make(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST") throw cause;
    // Somebody else was faster, or it is something else.
    if (!(await isDirectory(path))) throw noDirectory(path, cause);
  }
}

/** Something else of that name is left to `mkdir` to complain about. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (cause) {
    if (isMissing(cause)) return false;
    if (codeOf(cause) !== "ENOTDIR") throw cause;
    // Which of its parents it is has to be looked for.
    let parent = dirname(path);
    while (!(await stat(parent).catch(() => undefined))) parent = dirname(parent);
    throw noDirectory(parent, cause);
  }
}

const noDirectory = (path: string, cause: unknown): Error =>
  Object.assign(new Error(`${path} is there, and is no directory`, { cause }), { code: "ENOTDIR", path });

const codeOf = (cause: unknown): unknown => (cause as { code?: unknown } | undefined)?.code;
