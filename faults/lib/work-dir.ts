// Where a rung works: a directory of its own below the one that was asked for. Nothing that somebody else has there is ever touched.

import { mkdtemp, readdir, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { refuseMemory, UnfitStand } from "../../bench/lib/environment.js";
import { makeDirectories } from "../../bench/lib/make-directories.js";

/** In each directory that was made here, so that only such a one is removed. */
const MARK = ".made-by-millrace-faults";

/** Makes `data` if it is not there. Throws {@link UnfitStand} where no rung can work, and then leaves no directory that was not there. */
export async function prepareData(data: string): Promise<void> {
  const path = resolve(data);
  await refuseMemory(await nearest(path)).catch((error: unknown) => {
    if (!(error instanceof UnfitStand)) throw error;
    throw new UnfitStand(`${path} lies in memory, where no barrier does anything: --dir takes a directory on a disk`);
  });
  const made: string[] = [];
  try {
    await makeDirectories(path, made);
    // Whether it takes files.
    await rm(await mkdtemp(join(path, "try-")), { recursive: true });
  } catch (error) {
    for (const each of made.toReversed()) await rmdir(each).catch(() => undefined);
    throw new UnfitStand(`nothing can be written to ${path}: ${(error as Error).message}`, { cause: error });
  }
}

async function nearest(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    if ((await stat(at).catch(() => undefined)) !== undefined || dirname(at) === at) return at;
  }
}

/** Beside what a run that still goes on has there. What ended ones have left of this rung is removed. */
export async function makeWorkDir(data: string, rung: string): Promise<string> {
  for (const name of await readdir(data)) {
    const [, of, pid] = /^([a-z-]+)-(\d+)-\w{6}$/.exec(name) ?? [];
    if (of !== rung || runs(Number(pid))) continue;
    const isOurs = await stat(join(data, name, MARK)).then(
      () => true,
      () => false,
    );
    if (isOurs) await rm(join(data, name), { recursive: true, force: true });
  }
  const directory = await mkdtemp(join(data, `${rung}-${process.pid}-`));
  await writeFile(join(directory, MARK), "");
  return directory;
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
