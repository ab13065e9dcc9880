// File systems for the ladder, through mount-keeper.cc, which takes them away even when this process is killed.

import { type ChildProcessWithoutNullStreams, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);
const compiler = process.env.CXX ?? "g++";
const runs = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;

export type FileSystem = "ext4" | "xfs";

/** XFS refuses less than 300 MiB. */
export const LEAST_MEBIBYTES: Readonly<Record<FileSystem, number>> = { ext4: 64, xfs: 300 };

/** Why nothing can be mounted here, or undefined. */
export function whyNoMounts(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs Linux and root";
  if (!existsSync("/dev/loop-control")) return "needs loop devices";
  if (!runs(compiler, "--version")) return `there is no compiler ${compiler}`;
  if (!runs("mkfs.ext4", "-V")) return "there is no mkfs.ext4";
  return undefined;
}

/** Why this file system cannot be made, or undefined. Whether the kernel mounts it, only mounting it tells. */
export function whyNot(fileSystem: FileSystem): string | undefined {
  return runs(`mkfs.${fileSystem}`, "-V") ? undefined : `there is no mkfs.${fileSystem}`;
}

export class MountKeeper {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #answers: AsyncIterator<string>;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    this.#answers = createInterface(child.stdout)[Symbol.asyncIterator]();
    child.stderr.pipe(process.stderr);
    child.stdin.on("error", () => undefined);
  }

  /** `directory` gets the program. */
  static async start(root: string, directory: string): Promise<MountKeeper> {
    const program = join(directory, "mount-keeper");
    await run(compiler, ["-std=c++17", "-O2", "-o", program, join(root, "faults/lib/disk/mount-keeper.cc")]);
    // In a group of its own: what ends the ladder must not end the one who cleans up behind it.
    return new MountKeeper(spawn(program, [], { detached: true }));
  }

  /** Makes an image with an empty file system; `options` are mkfs's. */
  async format(
    fileSystem: FileSystem,
    image: string,
    mebibytes: number,
    options: readonly string[] = [],
  ): Promise<void> {
    const file = await open(image, "w");
    await file.truncate(mebibytes * 1024 * 1024);
    await file.close();
    await run(`mkfs.${fileSystem}`, [...(fileSystem === "ext4" ? ["-qF", "-m", "0"] : ["-qf"]), ...options, image]);
  }

  mount(fileSystem: FileSystem, image: string, at: string): Promise<void> {
    return this.#ask("mount", fileSystem, image, at);
  }

  mountTmpfs(bytes: number, at: string): Promise<void> {
    return this.#ask("tmpfs", String(bytes), at);
  }

  /** Waits while it is busy, some seconds. */
  unmount(at: string): Promise<void> {
    return this.#ask("umount", at);
  }

  /** Pages of a file go to the disk, as they may at any time; its size need not. */
  writeOut(file: string): Promise<void> {
    return this.#ask("write-out", file);
  }

  /** Cuts the power of what is mounted there, and kills the process at once after it. */
  cut(at: string, pid: number): Promise<void> {
    return this.#ask("cut", at, String(pid));
  }

  /** Everything that is still mounted is taken away. */
  async close(): Promise<void> {
    const gone = this.#child.exitCode === null ? once(this.#child, "exit") : undefined;
    this.#child.stdin.end();
    await gone;
  }

  #ask(...command: string[]): Promise<void> {
    const turn = this.#turn.then(async () => {
      this.#child.stdin.write(`${command.join("\t")}\n`);
      const { value } = await this.#answers.next();
      if (value !== "ok") throw new Error(`${command.join(" ")}: ${value ?? "the mount keeper ended"}`);
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}
