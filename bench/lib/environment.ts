// The facts without which a figure is no figure: machine, system, versions, commit, and the state of the stand that results depend on.

import { execFile } from "node:child_process";
import { readFile, realpath, statfs } from "node:fs/promises";
import { cpus, loadavg, release, totalmem } from "node:os";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Environment {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  /** Of the directory that was written to. */
  readonly fileSystem: string;
  readonly mountOptions: string;
  readonly node: string;
  readonly v8: string;
  readonly compiler: string;
  readonly commit: string;
  readonly load: string;
  /** How the kernel schedules what is measured: "normal", or something that pushes other programs aside. */
  readonly scheduling: string;
  /** bbr paces what it sends by timers, also on loopback, and that costs more than the sending. */
  readonly congestionControl: string;
  /** A guest whose free pages go back to its host pays for each fresh page twice. */
  readonly freePageReporting: boolean;
}

const UNKNOWN = "unknown";

/** Behind the commit when what ran is in none. */
export const LOCAL_CHANGES = "with local changes";

export class UnfitStand extends Error {
  override readonly name = "UnfitStand";
}

/** Types of `statfs` that live in memory: nothing there is ever forced, and nothing measured there says anything about a disk. */
const MEMORY_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
]);

/** Throws {@link UnfitStand} for a directory in memory. */
export async function refuseMemory(directory: string): Promise<void> {
  const { type } = await statfs(directory);
  const name = MEMORY_FILE_SYSTEMS.get(type);
  if (name !== undefined) {
    throw new UnfitStand(
      `${directory} lies on ${name}, in memory: figures from there say nothing about a log on a disk`,
    );
  }
}

const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

async function outputOf(command: string, args: readonly string[], cwd?: string): Promise<string> {
  return run(command, args, { cwd }).then(
    ({ stdout }) => stdout.trim(),
    () => UNKNOWN,
  );
}

interface Mount {
  readonly type: string;
  readonly options: string;
}

/** `/proc/mounts` writes blanks, tabs, line ends and backslashes in octal. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** The mount that holds `directory`, a path without links: the longest mount point that is a prefix of it. */
export function mountOf(mounts: string, directory: string): Mount {
  let best: Mount & { point: string } = { point: "", type: UNKNOWN, options: "" };
  for (const line of mounts.split("\n")) {
    const [, point, type, options] = line.split(" ").map(unescaped);
    if (point === undefined || options === undefined || point.length < best.point.length) continue;
    if (point === "/" || directory === point || directory.startsWith(`${point}/`)) best = { point, type, options };
  }
  return { type: best.type, options: best.options };
}

const POLICIES = ["normal", "real-time (SCHED_FIFO)", "real-time (SCHED_RR)", "batch", "", "idle", "deadline"];

/** From `/proc/self/stat`: nice value and policy. Children inherit both. */
export function schedulingOf(stat: string): string {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const policy = POLICIES[Number(fields[38])] ?? "unknown";
  return Number(fields[16]) === 0 ? policy : `${policy}, nice ${fields[16]}`;
}

export async function environment(directory: string, repository: string): Promise<Environment> {
  const mount = mountOf(await textOf("/proc/mounts"), await realpath(directory));
  const commit = await outputOf("git", ["rev-parse", "--short", "HEAD"], repository);
  const [compiler, ...flags] = (process.env.CXX || "g++").split(" ");
  const changed = await outputOf("git", ["status", "--porcelain", "--untracked-files=no"], repository);
  return {
    date: new Date().toISOString().slice(0, 16).replace("T", " "),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    fileSystem: mount.type,
    mountOptions: mount.options,
    node: process.versions.node,
    v8: process.versions.v8,
    compiler: (await outputOf(compiler, [...flags, "--version"])).split("\n")[0],
    commit: changed === "" || commit === UNKNOWN ? commit : `${commit} ${LOCAL_CHANGES}`,
    load: loadavg()
      .map((load) => load.toFixed(2))
      .join(" "),
    scheduling: schedulingOf(await textOf("/proc/self/stat")),
    congestionControl: (await textOf("/proc/sys/net/ipv4/tcp_congestion_control")).trim(),
    freePageReporting: (await textOf("/proc/interrupts")).includes("reporting_vq"),
  };
}
