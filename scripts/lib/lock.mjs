// A lock between processes, out of what every POSIX file system has: a directory with one file in it, named by its owner.
// Taking it is a rename of a prepared directory onto the lock's name, which succeeds only when nothing or an empty directory is there;
// letting go removes the one file. An owner that died is found by its pid, or by a file that nobody has touched for a while, and
// putting it aside removes exactly that owner's file: two that do it at once cannot take a third one's lock away.

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";

const retryMs = 100;
const beatMs = 2_000;
/** Without a heartbeat for so long an owner on another machine (or in another container) counts as dead. */
const deadMs = 30_000;

/** Waits for the lock. `onWait` is told the owner, once. Returns a function that lets go. */
export async function takeLock(path, onWait = () => {}) {
  const name = `${process.pid}-${Math.random().toString(36).slice(2)}`;
  const prepared = prepare(path, name);
  let told = false;
  while (!tryRename(prepared, path)) {
    const owner = readOwner(path);
    if (owner === undefined) continue;
    if (owner.dead) {
      rmSync(join(path, owner.name), { force: true });
      continue;
    }
    if (!told) onWait(owner.pid);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
  const mine = join(path, name);
  const beat = setInterval(() => utimesSync(mine, new Date(), new Date()), beatMs);
  beat.unref();
  return () => {
    clearInterval(beat);
    rmSync(mine, { force: true });
  };
}

function prepare(path, name) {
  mkdirSync(dirname(path), { recursive: true });
  const dir = mkdtempSync(`${path}.`);
  writeFileSync(join(dir, name), JSON.stringify({ pid: process.pid, host: hostname() }));
  return dir;
}

function tryRename(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (error.code === "ENOTEMPTY" || error.code === "EEXIST") return false;
    throw error;
  }
}

/** Who holds the lock, or undefined when it was let go in between. */
function readOwner(path) {
  try {
    const [name] = readdirSync(path);
    if (name === undefined) return undefined;
    const file = join(path, name);
    const { pid, host } = JSON.parse(readFileSync(file, "utf8"));
    const silent = Date.now() - statSync(file).mtimeMs > deadMs;
    return { name, pid, dead: silent || (host === hostname() && !isAlive(pid)) };
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
