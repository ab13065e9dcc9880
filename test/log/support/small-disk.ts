// A disk of its own for a test: an ext4 in a file, mounted over a loop device. It can be small (a full disk), and it can lie on
// a file system that is smaller than itself: then the kernel fails its writes with EIO when that is full, at the moment of the
// barrier, as a dying device does. Needs root; `whyNot` says what is missing.
//
// A loop device calls a request good of which it could write only the beginning (seen with Linux 6.18), and what was forced is gone
// then. So where its writes are to fail, no request is longer than a page: it succeeds or fails as a whole.

import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import { onTestFinished } from "vitest";
import { tempDir } from "../../support/tmp.js";

const run = (command: string, ...args: string[]): void => void execFileSync(command, args, { stdio: "pipe" });

/** How long the kernel may take to let go of a disk. */
const LET_GO_MS = 30_000;

/** The reason why there can be no such disk here, or undefined. */
export function whyNot(): string | undefined {
  if (process.platform !== "linux") return "loop devices are Linux's";
  if (process.getuid?.() !== 0) return "mounting a loop device needs root";
  try {
    const disk = new SmallDisk({ megabytes: 8 });
    disk.remove();
    return undefined;
  } catch (cause) {
    return `a loop device cannot be mounted here: ${String(cause).split("\n")[0]}`;
  }
}

export class SmallDisk {
  /** Where it is mounted. */
  readonly dir: string;
  readonly #base: string;
  readonly #image: string;
  readonly #backing: string;
  readonly #backed: boolean;
  #mounted = false;

  /** `backedBy`: megabytes of the file system that its file lies on; less than `megabytes` promises what is not there. */
  constructor({ megabytes, backedBy }: { megabytes: number; backedBy?: number }) {
    this.#base = tempDir("disk");
    this.dir = join(this.#base, "mounted");
    this.#backing = join(this.#base, "backing");
    this.#image = join(this.#backing, "disk.img");
    this.#backed = backedBy !== undefined;
    mkdirSync(this.dir);
    mkdirSync(this.#backing);
    if (this.#backed) run("mount", "-t", "tmpfs", "-o", `size=${backedBy}m`, "tmpfs", this.#backing);
    try {
      onTestFinished(() => this.remove());
    } catch {
      // outside a test: whoever made it removes it
    }
    writeFileSync(this.#image, "");
    truncateSync(this.#image, megabytes * 1024 * 1024);
    run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,nodiscard", this.#image);
    this.mount();
  }

  mount(): void {
    run("mount", "-o", "loop", this.#image, this.dir);
    this.#mounted = true;
    if (this.#backed) writeFileSync(`/sys/block/${this.#device()}/queue/max_sectors_kb`, "4");
  }
  unmount(): void {
    if (this.#mounted) run("umount", this.dir);
    this.#mounted = false;
  }
  /** From now on the device fails writes to blocks that were never written. */
  failWrites(): void {
    fill(join(this.#backing, "ballast"), this.#backing);
  }
  /** As after the device was replaced by a good one with the same contents, and the machine started again. */
  repair({ letGoMs = LET_GO_MS }: { readonly letGoMs?: number } = {}): void {
    rmSync(join(this.#backing, "ballast"));
    this.unmount();
    this.#letGo(letGoMs);
    this.mount();
  }
  #device(): string {
    const name = execFileSync("losetup", ["-n", "-O", "NAME", "-j", this.#image], { encoding: "utf8" }).trim();
    return basename(name);
  }
  /**
   * Waits until the kernel has nothing of it any more. A mount namespace that somebody made meanwhile holds what was mounted for as long as it
   * lives, and mounting again would then give back the same file system, which took its errors to heart and is read-only: a test that went on would
   * fail at something else, much later.
   */
  #letGo(withinMs: number): void {
    const until = performance.now() + withinMs;
    for (let device = this.#device(); device !== ""; device = this.#device()) {
      if (performance.now() >= until) {
        throw new Error(
          `${device} still has ${this.#image} after ${withinMs} ms: something holds it, perhaps a mount namespace`,
        );
      }
      run("sleep", "0.05");
    }
  }
  /** Uses up its room. */
  fill(): void {
    fill(join(this.dir, "ballast"), this.dir);
  }
  makeRoom(): void {
    rmSync(join(this.dir, "ballast"));
  }
  remove(): void {
    // Lazily: a test that failed may still have files open, and a disk that stays mounted is there until the next boot.
    if (this.#mounted) run("umount", "--lazy", this.dir);
    this.#mounted = false;
    if (this.#backed) run("umount", "--lazy", this.#backing);
    rmSync(this.#base, { recursive: true, force: true });
  }
}

function fill(path: string, fileSystem: string): void {
  const file = openSync(path, "w");
  const block = new Uint8Array(64 * 1024).fill(1);
  try {
    for (;;) {
      const { bavail, bsize } = statfsSync(fileSystem);
      if (bavail === 0) break;
      writeSync(file, block, 0, Math.min(block.length, bavail * bsize));
    }
  } catch {
    // full sooner than it said
  }
  closeSync(file);
}
