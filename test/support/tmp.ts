// Temporary directories for tests. On a real disk: a file system in memory has no barriers, no full disk and another page cache, so a
// test on it would pass for the wrong reason.

import { mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, onTestFinished } from "vitest";

/** `f_type` of tmpfs and ramfs (linux/magic.h). */
const memoryFileSystems = new Set([0x01021994, 0x858458f6]);

/** Whether `dir` lies in memory. Only Linux says so by a number; macOS has no tmpfs that a directory lands on by accident. */
export function liesInMemory(dir: string, type: number = statfsSync(dir).type): boolean {
  return process.platform === "linux" && memoryFileSystems.has(type);
}

/** The first directory on a disk: MILLRACE_TEST_DIR (never replaced by another one), the system's, /var/tmp, the checkout. */
export function chooseBase(candidates: readonly string[], inMemory: (dir: string) => boolean = liesInMemory): string {
  for (const dir of candidates) {
    if (!inMemory(dir)) return dir;
  }
  throw new Error(
    `tests need a directory on a disk, and ${candidates.join(", ")} lie in memory: set MILLRACE_TEST_DIR`,
  );
}

function findBase(): string {
  const asked = process.env.MILLRACE_TEST_DIR;
  if (asked !== undefined) return chooseBase([asked]);
  const checkout = fileURLToPath(new URL("../../.cache/tmp", import.meta.url));
  mkdirSync(checkout, { recursive: true });
  return chooseBase([tmpdir(), "/var/tmp", checkout]);
}

let base: string | undefined;
const leftForTheFile: string[] = [];

/** A new empty directory on a real disk, removed after the test, or after the file's tests when made in a `beforeAll`. */
export function tempDir(name = "test"): string {
  base ??= findBase();
  const dir = mkdtempSync(join(base, `millrace-${name}-`));
  try {
    onTestFinished(() => remove(dir));
  } catch {
    leftForTheFile.push(dir); // not inside a test
  }
  return dir;
}

/** MILLRACE_KEEP=1 keeps the directories, to look at what a failed test left. */
function remove(dir: string): void {
  if (process.env.MILLRACE_KEEP === "1") process.stderr.write(`kept ${dir}\n`);
  else rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
}

afterAll(() => {
  for (const dir of leftForTheFile.splice(0)) remove(dir);
});
