// A file system on a disk whose power can be cut (power-cut-disk.cc), and what is on it afterwards. Needs root, loop devices and
// FUSE; `whyNoPowerCuts` says what is missing.

import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

export type FileSystem = "ext4" | "xfs";

/** XFS refuses less than 300 MiB. */
const mebibytes: Readonly<Record<FileSystem, number>> = { ext4: 192, xfs: 320 };
const source = fileURLToPath(new URL("power-cut-disk.cc", import.meta.url));
const compiler = process.env.CXX ?? "g++";

const runs = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;

/** The reason why power cannot be cut here, or undefined when it can. */
export function whyNoPowerCuts(fileSystem: FileSystem): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs Linux and root";
  if (!existsSync("/dev/fuse") || !existsSync("/dev/loop-control")) return "needs /dev/fuse and loop devices";
  try {
    accessSync("/dev/fuse", constants.W_OK);
  } catch {
    return "/dev/fuse cannot be opened";
  }
  if (!runs("losetup", "-f")) return "no loop device is free";
  if (!runs(`mkfs.${fileSystem}`, "-V")) return `there is no mkfs.${fileSystem}`;
  if (!runs(compiler, "--version")) return `there is no compiler ${compiler}`;
  return undefined;
}

const command = (name: string, ...args: string[]): string => execFileSync(name, args, { encoding: "utf8" }).trim();

export class PowerCutDisk {
  readonly mountPoint: string;
  readonly #dir: string;
  readonly #loop: string;
  readonly #disk: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #detached = false;

  private constructor(dir: string, loop: string, disk: ChildProcessWithoutNullStreams, lines: AsyncIterator<string>) {
    this.#dir = dir;
    this.mountPoint = join(dir, "mounted");
    this.#loop = loop;
    this.#disk = disk;
    this.#lines = lines;
  }

  /** A new disk with an empty file system, mounted. `dir` is an empty directory for all that belongs to it. */
  static async attach(fileSystem: FileSystem, dir: string): Promise<PowerCutDisk> {
    const program = join(dir, "disk-program");
    command(compiler, "-std=c++17", "-O2", "-Wall", source, "-o", program);
    for (const name of ["fuse", "mounted"]) mkdirSync(join(dir, name));
    const disk = spawn(program, [join(dir, "fuse"), String(mebibytes[fileSystem])]);
    const reader: Interface = createInterface(disk.stdout);
    const lines = reader[Symbol.asyncIterator]();
    await lines.next(); // mounted
    const loop = await asynchronously("losetup", "-f", "--show", join(dir, "fuse/disk"));
    const power = new PowerCutDisk(dir, loop, disk, lines);
    await asynchronously(`mkfs.${fileSystem}`, fileSystem === "ext4" ? "-qF" : "-qf", loop);
    await asynchronously("mount", loop, power.mountPoint);
    return power;
  }

  /** The image of what a cut at this moment leaves, and how much of the unflushed survived. */
  async cut(seed: number): Promise<{ image: string; survived: string }> {
    const image = join(this.#dir, "image");
    this.#disk.stdin.write(`cut ${image} ${seed >>> 0}\n`);
    const { value } = await this.#lines.next();
    if (!String(value).startsWith("cut ")) throw new Error(`the cut failed: ${value}`);
    return { image, survived: String(value) };
  }

  /** Idempotent. */
  async detach(): Promise<void> {
    if (this.#detached) return;
    this.#detached = true;
    await asynchronously("umount", "-l", this.mountPoint).catch(() => {});
    await asynchronously("losetup", "-d", this.#loop).catch(() => {});
    const gone = once(this.#disk, "exit");
    this.#disk.stdin.end();
    await gone;
  }
}

/** Mounts an image as a machine would that starts again, for as long as `body` takes. */
export async function withImage<T>(image: string, mountPoint: string, body: () => Promise<T>): Promise<T> {
  const loop = await asynchronously("losetup", "-f", "--show", image);
  try {
    await asynchronously("mount", loop, mountPoint);
    try {
      return await body();
    } finally {
      await asynchronously("umount", mountPoint);
    }
  } finally {
    await asynchronously("losetup", "-d", loop);
  }
}

/** Never `execFileSync` once the disk runs: its stdin and stdout belong to this process, which would not come to serve them. */
async function asynchronously(name: string, ...args: string[]): Promise<string> {
  const child = spawn(name, args, { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let problem = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    problem += chunk;
  });
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`${name} ${args.join(" ")} ended with ${code}: ${problem}`);
  return out.trim();
}
