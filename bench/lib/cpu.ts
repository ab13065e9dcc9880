// Processor time: of one process, and of the whole machine, so that a sample taken while somebody else was at work can be told.

import { readFile } from "node:fs/promises";

/** Ticks of /proc in a second: 100 on every Linux of today (USER_HZ is part of its interface). */
const TICKS = 100;

export interface CpuSeconds {
  readonly user: number;
  readonly system: number;
}

/** `/proc/PID/stat`, all threads, those that ended included. The name in it may hold blanks and brackets. */
export function parseProcessStat(text: string): CpuSeconds {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { user: Number(fields[11]) / TICKS, system: Number(fields[12]) / TICKS };
}

export async function cpuOf(pid: number): Promise<CpuSeconds> {
  return parseProcessStat(await readFile(`/proc/${pid}/stat`, "utf8"));
}

/** One thread alone: the first, which in Node is the event loop. */
export async function cpuOfMainThread(pid: number): Promise<CpuSeconds> {
  return parseProcessStat(await readFile(`/proc/${pid}/task/${pid}/stat`, "utf8"));
}

export interface MachineCpu {
  /** Seconds in which any core did anything. */
  readonly busy: number;
  /** Seconds the host gave to somebody else. */
  readonly stolen: number;
}

/** The first line of `/proc/stat`: user nice system idle iowait irq softirq steal. */
export function parseMachineStat(text: string): MachineCpu {
  const [user, nice, system, , , irq, softirq, steal] = text
    .slice(0, text.indexOf("\n"))
    .split(/\s+/)
    .slice(1)
    .map((ticks) => Number(ticks) / TICKS);
  return { busy: user + nice + system + irq + softirq, stolen: steal };
}

export async function machineCpu(): Promise<MachineCpu> {
  return parseMachineStat(await readFile("/proc/stat", "utf8"));
}
