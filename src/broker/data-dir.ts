// The directory of a broker: who holds it, which layout it has, which partitions lie in it. It opens no partition and
// removes nothing: what is not ours is left alone.
//
//   <data>/.lock            held with flock while a broker runs; contains its pid
//   <data>/millrace.json    {"layout": 1}

import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MillraceError } from "../model/errors.js";
import { PARTITIONS_MAX } from "../model/limits.js";
import { isTopicName } from "../model/topic-name.js";
import { type DirectoryLock, native } from "../native/binding.js";

/** A newer one is a refusal. There is no older one yet. */
const LAYOUT = 1;

export interface DataDir {
  readonly path: string;
  /** Numbers of the partitions that lie here, ascending, by topic; configured or not. */
  readonly partitions: ReadonlyMap<string, readonly number[]>;
  release(): void;
}

export function partitionDirectory(dataDir: string, topic: string, partition: number): string {
  return join(dataDir, `${topic}-${partition}`);
}

/** Takes the directory, which is made when it is not there. Throws DATA_DIR_IN_USE or DATA_DIR_UNUSABLE. */
export async function openDataDir(path: string): Promise<DataDir> {
  let lock: DirectoryLock;
  try {
    await mkdir(path, { recursive: true });
    lock = native.lockFile(join(path, ".lock"));
  } catch (cause) {
    throw lockError(path, cause);
  }
  try {
    await checkLayout(path);
    const partitions = await findPartitions(path);
    return { path, partitions, release: () => lock.release() };
  } catch (cause) {
    lock.release();
    throw cause instanceof MillraceError ? cause : unusable(path, cause);
  }
}

function lockError(path: string, cause: unknown): MillraceError {
  const { code, pid } = cause as { code?: unknown; pid?: unknown };
  if (code !== "ELOCKED") return unusable(path, cause);
  const holder = typeof pid === "number" && pid > 0 ? `process ${pid}` : "another process";
  return new MillraceError("DATA_DIR_IN_USE", `data.dir ${path} is in use by ${holder}`, { cause });
}

const unusable = (path: string, cause: unknown): MillraceError =>
  new MillraceError("DATA_DIR_UNUSABLE", `data.dir ${path} cannot be used: ${(cause as Error).message}`, { cause });

/** Written before the first partition is made, so a directory that has none of it is new. */
async function checkLayout(dataDir: string): Promise<void> {
  const path = join(dataDir, "millrace.json");
  let content: string;
  try {
    content = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    await native.replaceFile(path, new TextEncoder().encode(`${JSON.stringify({ layout: LAYOUT })}\n`));
    return;
  }
  const layout = layoutOf(content);
  if (layout === LAYOUT) return;
  const what =
    layout === undefined ? "names no layout" : `has layout ${layout}, and this is a broker for layout ${LAYOUT}`;
  throw new MillraceError("DATA_DIR_UNUSABLE", `data.dir ${dataDir} cannot be used: ${path} ${what}`);
}

function layoutOf(content: string): number | undefined {
  try {
    const { layout } = JSON.parse(content) as { layout?: unknown };
    return typeof layout === "number" && Number.isInteger(layout) ? layout : undefined;
  } catch {
    return undefined;
  }
}

async function findPartitions(dataDir: string): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>();
  for (const entry of await readdir(dataDir, { withFileTypes: true })) {
    const match = /^(.+)-(0|[1-9]\d{0,4})$/.exec(entry.name);
    const mayBeOurs = entry.isDirectory() || entry.isSymbolicLink();
    if (match === null || !mayBeOurs || !isTopicName(match[1]) || Number(match[2]) >= PARTITIONS_MAX) continue;
    const numbers = found.get(match[1]) ?? [];
    numbers.push(Number(match[2]));
    found.set(match[1], numbers);
  }
  for (const numbers of found.values()) numbers.sort((a, b) => a - b);
  return found;
}
