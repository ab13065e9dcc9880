// Whether something must be made again: by the content of what it is made from, not by time, because a checkout gives every file a
// new time and a copy keeps old ones.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** All files below `dir` whose name ends in one of `endings`, sorted; directories in `without` (by name) are left out. */
export function filesBelow(dir, endings, without = []) {
  if (!existsSync(dir)) return [];
  const found = [];
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) {
      if (!without.includes(entry.name)) found.push(...filesBelow(path, endings, without));
    } else if (endings.some((ending) => entry.name.endsWith(ending))) {
      found.push(path);
    }
  }
  return found.sort();
}

/** A sum over names and contents of `files` and over `facts` that are not in files. */
export function sumOf(root, files, facts = []) {
  const hash = createHash("sha1");
  for (const file of files) {
    hash.update(`${relative(root, file)}\0`);
    hash.update(existsSync(file) ? readFileSync(file) : "missing");
  }
  return hash.update(JSON.stringify(facts)).digest("hex");
}

/** Size and time of a file that was built: tells whether it is still the one that a stamp speaks of. */
export function factsOf(file) {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.size} ${stat.mtimeMs}`;
}

/** What was built from what, remembered in one small file. One that cannot be read counts as empty. */
export class Stamps {
  #path;
  #entries;

  constructor(path) {
    this.#path = path;
    this.reload();
  }

  reload() {
    try {
      this.#entries = JSON.parse(readFileSync(this.#path, "utf8"));
    } catch {
      this.#entries = {};
    }
  }

  has(name, value) {
    return this.#entries[name] === value;
  }

  set(name, value) {
    this.#entries[name] = value;
    mkdirSync(dirname(this.#path), { recursive: true });
    writeFileSync(`${this.#path}.${process.pid}`, JSON.stringify(this.#entries, undefined, 2));
    renameSync(`${this.#path}.${process.pid}`, this.#path);
  }
}
