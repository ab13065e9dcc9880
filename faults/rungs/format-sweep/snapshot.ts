// A partition's directory in memory: taken from one that is open, as a kill would leave it, and laid down again somewhere else.

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface KeptFile {
  readonly bytes: Uint8Array;
  /** In seconds: a clean stop gives its last segment a time that the next start knows again. */
  readonly mtime: number;
}

export type Snapshot = ReadonlyMap<string, KeptFile>;

/** Of one moment: an open log seals and prepares segments meanwhile, so it is taken until it comes out the same twice. */
export function takeSnapshot(dir: string): Snapshot {
  for (let before = tryToTake(dir); ; ) {
    const again = tryToTake(dir);
    if (before !== undefined && again !== undefined && isSame(before, again)) return again;
    before = again;
  }
}

const isSame = (one: Snapshot, other: Snapshot): boolean =>
  one.size === other.size &&
  [...one].every(
    ([name, { bytes }]) => Buffer.compare(bytes, other.get(name)?.bytes ?? NOTHING) === 0 && other.has(name),
  );

const NOTHING = new Uint8Array(0);

function tryToTake(dir: string): Snapshot | undefined {
  try {
    return takeOnce(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function takeOnce(dir: string): Snapshot {
  const files = new Map<string, KeptFile>();
  for (const name of readdirSync(dir).sort()) {
    if (name === ".lock") continue;
    const path = join(dir, name);
    files.set(name, { bytes: readFileSync(path), mtime: statSync(path).mtimeMs / 1000 });
  }
  return files;
}

/** Over whatever lies there. */
export function layDown(dir: string, snapshot: Snapshot): void {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  for (const [name, { bytes, mtime }] of snapshot) {
    const path = join(dir, name);
    writeFileSync(path, bytes);
    utimesSync(path, mtime, mtime);
  }
}

export const logsOf = (snapshot: Snapshot): string[] => [...snapshot.keys()].filter((name) => name.endsWith(".log"));

export const baseOf = (name: string): number => Number(name.slice(0, 20));
