// The state of the machine while something runs, looked at each second: dirty pages, write-back, free memory, and for how long programs
// stood still because of the disk. A stall of a log that writes for a minute is often a property of these.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const EACH_MS = 1000;
const PAGE_BYTES = 4096;

export interface MachineLook {
  readonly dirtyBytes: number;
  readonly writebackBytes: number;
  readonly freeBytes: number;
  /** Written to disks since the machine started. */
  readonly writtenBytes: number;
  /** Seconds in which at least one program waited for a disk (pressure stall information); 0 where the kernel has none. */
  readonly ioStallSeconds: number;
}

export interface MachineFigures {
  readonly dirtyMaxBytes: number;
  readonly writebackMaxBytes: number;
  readonly freeMinBytes: number;
  readonly writtenBytesPerSecond: number;
  /** 0 to 1. */
  readonly ioStallShare: number;
}

/** `/proc/meminfo`, `/proc/vmstat` and `/proc/pressure/io`, as read. */
export function parseMachine(meminfo: string, vmstat: string, pressure: string): MachineLook {
  const kib = (name: string): number => Number(new RegExp(`^${name}: +(\\d+) kB`, "m").exec(meminfo)?.[1] ?? 0);
  const pages = Number(/^nr_written (\d+)/m.exec(vmstat)?.[1] ?? 0);
  const stalled = Number(/^some .*total=(\d+)/m.exec(pressure)?.[1] ?? 0);
  return {
    dirtyBytes: kib("Dirty") * 1024,
    writebackBytes: kib("Writeback") * 1024,
    freeBytes: kib("MemFree") * 1024,
    writtenBytes: pages * PAGE_BYTES,
    ioStallSeconds: stalled / 1e6,
  };
}

/** Of two looks at least. */
export function machineFigures(looks: readonly MachineLook[], seconds: number): MachineFigures {
  const [first, last] = [looks[0], looks[looks.length - 1]];
  return {
    dirtyMaxBytes: Math.max(...looks.map(({ dirtyBytes }) => dirtyBytes)),
    writebackMaxBytes: Math.max(...looks.map(({ writebackBytes }) => writebackBytes)),
    freeMinBytes: Math.min(...looks.map(({ freeBytes }) => freeBytes)),
    writtenBytesPerSecond: (last.writtenBytes - first.writtenBytes) / seconds,
    ioStallShare: (last.ioStallSeconds - first.ioStallSeconds) / seconds,
  };
}

const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

async function look(): Promise<MachineLook> {
  const [meminfo, vmstat, pressure] = await Promise.all(
    ["/proc/meminfo", "/proc/vmstat", "/proc/pressure/io"].map(textOf),
  );
  return parseMachine(meminfo, vmstat, pressure);
}

/** Watches the machine while `action` runs. */
export async function watchMachine<T>(action: () => Promise<T>): Promise<{ result: T; machine: MachineFigures }> {
  const looks = [await look()];
  const began = performance.now();
  const done = new AbortController();
  const watching = (async () => {
    while (!done.signal.aborted) {
      await sleep(EACH_MS, undefined, { signal: done.signal }).catch(() => undefined);
      looks.push(await look());
    }
  })();
  try {
    const result = await action();
    done.abort();
    await watching;
    return { result, machine: machineFigures(looks, (performance.now() - began) / 1000) };
  } finally {
    done.abort();
  }
}
