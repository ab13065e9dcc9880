// Three disks that run full, and what takes their room away and gives it back: a file that grows and goes.

import { execFile } from "node:child_process";
import { mkdir, open, rm, statfs, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { endedWithUs, inAnotherBoot } from "../../lib/disk/boot.js";
import type { MountKeeper } from "../../lib/disk/mount-keeper.js";

export const KINDS = ["ext4", "tmpfs", "thin"] as const;
export type Kind = (typeof KINDS)[number];

const FILLER = "filler";
const MEBIBYTE = 1024 * 1024;
const EXT4_MEBIBYTES = 64;
const TMPFS_MEBIBYTES = 40;
/** What the image of the thin disk may really take; the journal and the tables are in it. */
const THIN_REAL_MEBIBYTES = 48;
/** Else a file system of this size has smaller ones, and a request of a page could lie in two of them. */
const PAGE_BLOCKS = ["-b", "4096"];
const run = promisify(execFile);
const CHUNK = Buffer.alloc(256 * 1024, 1);

export class FullDisk {
  /** Where the broker's directory lies. */
  readonly mounted: string;
  /** Where room is taken from: on the disk, or below it. */
  readonly #below: string;
  /** Bytes that the filler in the thin disk's own file system has. */
  #within = 0;

  private constructor(
    readonly kind: Kind,
    readonly keeper: MountKeeper,
    readonly directory: string,
  ) {
    this.mounted = join(directory, "mounted");
    this.#below = kind === "thin" ? join(directory, "below") : this.mounted;
  }

  static async make(kind: Kind, keeper: MountKeeper, directory: string): Promise<FullDisk> {
    const disk = new FullDisk(kind, keeper, directory);
    await mkdir(disk.mounted, { recursive: true });
    if (kind === "tmpfs") {
      await keeper.mountTmpfs(TMPFS_MEBIBYTES * MEBIBYTE, disk.mounted);
      return disk;
    }
    if (kind === "thin") {
      await mkdir(disk.#below);
      await keeper.mountTmpfs(THIN_REAL_MEBIBYTES * MEBIBYTE, disk.#below);
    }
    const isThin = kind === "thin";
    await keeper.format("ext4", disk.#image, isThin ? 2 * EXT4_MEBIBYTES : EXT4_MEBIBYTES, isThin ? PAGE_BLOCKS : []);
    await disk.#mount();
    return disk;
  }

  /**
   * A loop device calls a request good of which it could write only the beginning (seen with Linux 6.18), which no disk does. So on the thin one, whose
   * writes are to fail, no request is longer than a page: it succeeds or fails as a whole.
   */
  async #mount(): Promise<void> {
    await this.keeper.mount("ext4", this.#image, this.mounted);
    if (this.kind !== "thin") return;
    const { stdout } = await run("losetup", ["-n", "-O", "NAME", "-j", this.#image]);
    await writeFile(`/sys/block/${basename(stdout.trim())}/queue/max_sectors_kb`, "4");
  }

  get #image(): string {
    return join(this.kind === "thin" ? this.#below : this.directory, "image");
  }

  /** What a device could not write is gone with the cache: a start behind it is one of another boot. */
  wrapper(): Promise<readonly string[]> {
    return this.kind === "thin" ? inAnotherBoot(this.directory) : Promise.resolve(endedWithUs);
  }

  /** Leaves about so many bytes of the room there is now. */
  async fill(leftBytes: number): Promise<void> {
    const file = await open(join(this.#below, FILLER), "a");
    try {
      for (;;) {
        const { bavail, bsize } = await statfs(this.#below);
        const bytes = Math.min(CHUNK.length, bavail * bsize - leftBytes);
        if (bytes <= 0) return;
        await file.write(CHUNK.subarray(0, bytes));
      }
    } catch (error) {
      // Somebody else was faster.
      if ((error as { code?: unknown }).code !== "ENOSPC") throw error;
    } finally {
      await file.close().catch(() => undefined);
    }
  }

  /**
   * Takes the blocks of the thin disk's own file system, too. Those that the device wrote once it can write again: a log whose retention frees them lives on
   * them for ever, and rightly. Reserved and not written, so that no error of theirs ends the journal.
   */
  async fillWithin(leftBytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.mounted);
    const bytes = bavail * bsize - leftBytes;
    if (bytes <= 0) return;
    // A device that fails may have made the file system read-only, and what was freed may be taken again by the log: both are no matter.
    await run("fallocate", [
      "--offset",
      String(this.#within),
      "--length",
      String(bytes),
      join(this.mounted, FILLER),
    ]).then(
      () => {
        this.#within += bytes;
      },
      () => undefined,
    );
  }

  async empty(): Promise<void> {
    await rm(join(this.#below, FILLER), { force: true });
  }

  /** Nothing of what the cache still holds is seen by the next start. For a broker that has ended. */
  async remount(): Promise<void> {
    if (this.kind !== "thin") return;
    await this.keeper.unmount(this.mounted);
    await this.empty();
    await this.#mount();
    await rm(join(this.mounted, FILLER), { force: true });
    this.#within = 0;
  }

  async remove(): Promise<void> {
    await this.keeper.unmount(this.mounted);
    if (this.kind === "thin") await this.keeper.unmount(this.#below);
  }
}
