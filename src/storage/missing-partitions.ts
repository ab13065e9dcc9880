// Partitions that are not there although later ones of their topic are: somebody lost a directory. A start and verify say the same of them.

import { basename, dirname, join } from "node:path";

const NUMBERED = /^(.+)-(0|[1-9]\d*)$/;

/** Behind the path of such a directory. */
export const IS_MISSING =
  "is missing and later partitions are there: put it back, or make an empty directory to begin it anew";

/** The directories that are missing among those of a data directory, in order. */
export function missingPartitions(dirs: readonly string[]): string[] {
  const there = new Set(dirs);
  const last = new Map<string, number>();
  for (const dir of dirs) {
    const [, topic, number] = NUMBERED.exec(basename(dir)) ?? [];
    if (topic === undefined) continue;
    const path = join(dirname(dir), topic);
    last.set(path, Math.max(last.get(path) ?? 0, Number(number)));
  }
  return [...last].flatMap(([path, highest]) =>
    Array.from({ length: highest }, (_, number) => `${path}-${number}`).filter((dir) => !there.has(dir)),
  );
}
