// File systems of a few megabytes, mounted for one test: a full disk and a failing one are states of the real thing here.

import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { tempDir } from "../../support/tmp.js";

/** Why this machine cannot mount one, or undefined. */
export function cannotMount(): string | undefined {
  if (process.platform !== "linux") return "mounts are tested on Linux alone";
  if (process.getuid?.() !== 0) return "mounting needs root";
  try {
    const dir = tempDir("probe");
    const mounted = mount(dir, 4);
    run("umount", mounted);
    return undefined;
  } catch (cause) {
    return `no loop device can be mounted here: ${(cause as Error).message.split("\n")[0]}`;
  }
}

/** An ext4 file system of `mebibytes`, removed after the test. */
export function smallDisk(mebibytes: number): string {
  const mounted = mount(tempDir("disk"), mebibytes);
  // Lazily: a test that failed may have left files open.
  onTestFinished(() => run("umount", "-l", mounted));
  return mounted;
}

/**
 * An ext4 file system that has more blocks than what it lies on: it gives them out, and the device fails when they are
 * written. That is what a thin volume that ran full does, and a real EIO from a real barrier.
 */
export function failingDisk(mebibytes: number, realMebibytes: number): string {
  const below = join(tempDir("below"), "tmpfs");
  mkdirSync(below);
  run("mount", "-t", "tmpfs", "-o", `size=${realMebibytes}m`, "tmpfs", below);
  onTestFinished(() => run("umount", "-l", below));
  const mounted = mount(below, mebibytes);
  onTestFinished(() => run("umount", "-l", mounted));
  return mounted;
}

function mount(dir: string, mebibytes: number): string {
  const image = join(dir, "disk.img");
  const mounted = join(dir, "mounted");
  writeFileSync(image, "");
  truncateSync(image, mebibytes * 1024 * 1024);
  run("mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", image);
  mkdirSync(mounted);
  run("mount", "-o", "loop,errors=continue", image, mounted);
  return mounted;
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ["ignore", "ignore", "pipe"] });
}
