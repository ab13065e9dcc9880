// Makes a directory with its parents, and says which of them were not there, so that whoever refuses it afterwards can take them away again.

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { UnfitStand } from "./environment.js";

/**
 * Step by step: mkdir's `recursive` tries for ever where a parent is there and says ENOENT all the same, as /proc does. What is made is added to
 * `made`, outermost first. Throws {@link UnfitStand} where something else has the name.
 */
export async function makeDirectories(path: string, made: string[]): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory()) return;
  if (there !== undefined) throw new UnfitStand(`${path} is no directory`);
  const parent = dirname(path);
  if (parent !== path) await makeDirectories(parent, made);
  await mkdir(path).then(
    () => made.push(path),
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    },
  );
}
