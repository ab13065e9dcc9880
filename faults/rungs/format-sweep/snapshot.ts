// A partition's directory in memory: taken from one that is open, as a kill would leave it, and laid down again somewhere else.

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface KeptFile {
  readonly bytes: Uint8Array;
  /** In seconds: a clean stop gives its last segment a time that the next start knows again. */
  readonly mtime: number;
}

export type Snapshot = ReadonlyMap<string, KeptFile>;

export function takeSnapshot(dir: string): Snapshot {
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
