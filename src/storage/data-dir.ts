// The directory of a broker as storage knows it: who holds it, and which layout it has.
//
//   <data>/.lock            held with flock while a broker runs; contains its pid
//   <data>/millrace.json    {"layout": 1}
//
// The layout is written before the first partition is made. It must not know topics or partitions.

import { join } from "node:path";
import { MillraceError } from "../model/errors.js";
import { type DirectoryLock, native } from "../native/binding.js";
import { isMissing } from "./damage.js";
import type { StorageEvent } from "./events.js";
import { makeDirectory } from "./make-directory.js";
import { LOCK_FILE } from "./segment-name.js";
import { readSmallFile } from "./small-file.js";

export const LAYOUT_FILE = "millrace.json";

/** Brings a directory from one layout to the next. It can be repeated: a start that is cut off in it does it again. */
export type LayoutUpgrade = (dataDir: string) => Promise<void>;

/**
 * `upgrades[n]` leads from layout n to n + 1; their number is the layout that this broker writes. Layout 0 was never
 * released and had everything where layout 1 has it, so the step from it is to say so.
 */
const UPGRADES: readonly LayoutUpgrade[] = [() => Promise.resolve()];

/** Takes the directory, which is made when it is not there. Rejects DATA_DIR_IN_USE (with the holder's pid) or DATA_DIR_UNUSABLE. */
export async function lockDataDir(path: string): Promise<DirectoryLock> {
  try {
    await makeDirectory(path);
    return native.lockFile(join(path, LOCK_FILE));
  } catch (cause) {
    const { code, pid } = cause as { code?: unknown; pid?: unknown };
    if (code !== "ELOCKED") throw unusable(path, (cause as Error).message, cause);
    const holder = typeof pid === "number" && pid > 0 ? `process ${pid}` : "another process";
    throw new MillraceError("DATA_DIR_IN_USE", `data.dir ${path} is in use by ${holder}`, { cause });
  }
}

/**
 * Under the lock: a newer layout is a refusal, an older one is upgraded in place, and said so. Resolves to whether it was no broker's
 * directory before. Rejects DATA_DIR_UNUSABLE.
 */
export async function settleLayout(
  path: string,
  log: (event: StorageEvent) => void,
  upgrades: readonly LayoutUpgrade[] = UPGRADES,
): Promise<boolean> {
  const file = join(path, LAYOUT_FILE);
  const ours = upgrades.length;
  const found = await readLayout(file, path);
  if (found === ours) return false;
  if (found === undefined) {
    await writeLayout(file, ours);
    return true;
  }
  if (found > ours) throw unusable(path, `${file} ${newerText(found, ours)}`);
  for (let layout = found; layout < ours; layout++) {
    await upgrades[layout](path);
    // After each step, so that a start that is cut off goes on where it was.
    await writeLayout(file, layout + 1);
  }
  const message = `${path} was upgraded in place from layout ${found} to ${ours}; an older broker will refuse it`;
  log({ kind: "layout.upgraded", level: "warn", dir: path, message, from: found, to: ours });
  return false;
}

async function readLayout(file: string, path: string): Promise<number | undefined> {
  let text: string;
  try {
    text = await readSmallFile(file);
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw unusable(path, `${file} ${unreadableText(cause)}`, cause);
  }
  const layout = parseLayout(text);
  if (layout === undefined) throw unusable(path, `${file} ${noLayoutText(text)}`);
  return layout;
}

/** What keeps a broker from starting on a directory, for who looks without the lock. Undefined: nothing, or there is no file yet. */
export async function layoutProblem(
  path: string,
): Promise<{ readonly path: string; readonly what: string } | undefined> {
  const file = join(path, LAYOUT_FILE);
  try {
    const text = await readSmallFile(file);
    const layout = parseLayout(text);
    if (layout === undefined) return { path: file, what: noLayoutText(text) };
    return layout > UPGRADES.length ? { path: file, what: newerText(layout, UPGRADES.length) } : undefined;
  } catch (cause) {
    return isMissing(cause) ? undefined : { path: file, what: unreadableText(cause) };
  }
}

const newerText = (found: number, ours: number): string =>
  `says layout ${found}, and this broker knows layouts up to ${ours}: start the version that wrote it, or a newer one, or restore a ` +
  "backup from before it";

/** The system's reason, and what to do. */
function unreadableText(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "EISDIR") {
    return "is a directory, and should be a file: if this is a broker's directory, move it away, and a start writes the file anew";
  }
  const advice =
    code === "EACCES" || code === "EPERM" ? ": the user that the broker runs as must be able to read it" : "";
  return `cannot be read: ${message}${advice}`;
}

function noLayoutText(text: string): string {
  // What an interrupted backup leaves says itself what to do, and must not be made a broker's directory.
  if (text.includes('"incomplete"')) return `names no layout: ${text.slice(0, 100)}`;
  const has = text.trim() === "" ? "it is empty" : `it has ${JSON.stringify(text.slice(0, 100))}`;
  return `names no layout: ${has}. If this is a broker's directory, write {"layout": ${UPGRADES.length}} into it; nothing else is in it`;
}

function parseLayout(text: string): number | undefined {
  try {
    const { layout } = JSON.parse(text) as { layout?: unknown };
    return typeof layout === "number" && Number.isInteger(layout) && layout >= 0 ? layout : undefined;
  } catch {
    return undefined;
  }
}

const writeLayout = (file: string, layout: number): Promise<void> =>
  native.replaceFile(file, new TextEncoder().encode(`${JSON.stringify({ layout })}\n`));

const unusable = (path: string, why: string, cause?: unknown): MillraceError =>
  new MillraceError("DATA_DIR_UNUSABLE", `data.dir ${path} cannot be used: ${why}`, { cause });
