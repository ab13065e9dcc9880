// The place where it is measured: a directory on a real disk, the tools, and the state of the machine around a sample.

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { machineCpu } from "./cpu.js";
import type { ServerProcess } from "./server-process.js";
import type { Flags, LoadResult, Tools } from "./tools.js";

/**
 * What generator and floor use on loopback, so that the system's choice (bbr paces by timers) is not measured. Every Linux has it. The
 * broker is left as it is: what it makes of its sockets is its own business and part of the figure.
 */
export const LOOPBACK_CONGESTION = "reno";

export interface Stand {
  readonly tools: Tools;
  /** Where data goes. */
  readonly directory: string;
  /** The checkout. */
  readonly root: string;
  readonly quick: boolean;
  /** Whole matrices instead of their telling cases. */
  readonly full?: boolean;
  /** Only what CI compares, within its few minutes: no case that takes long to make ready. */
  readonly brief?: boolean;
  readonly rounds: number;
  readonly progress: (text: string) => void;
}

/** A directory that is gone afterwards: what was written to it and not yet to the disk then never is, and disturbs no later sample. */
export async function inDirectory<T>(stand: Stand, action: (directory: string) => Promise<T>): Promise<T> {
  await mkdir(stand.directory, { recursive: true });
  const directory = await mkdtemp(join(stand.directory, "sample-"));
  try {
    return await action(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * What a sample may store at most, so that its pages can be warm. A guest that gives free pages back to its host keeps about a gibibyte of
 * them; what a sample takes beyond that comes from the host, at a tenth of the speed, and the sample measures the host.
 */
export const SAMPLE_BYTES_MAX = 512 << 20;

/**
 * Faults in more memory than the sample will dirty, and gives it back. In a virtual machine a page that the guest has not used for
 * a while comes from the host first; without this the first sample of a run would measure that.
 */
export async function warmMemory(stand: Stand, bytes: number): Promise<void> {
  await stand.tools.touch(Math.min(2 * bytes, 2 * SAMPLE_BYTES_MAX));
}

export interface ServerLoad {
  readonly load: LoadResult;
  /** Of the server alone, while the load ran. */
  readonly serverCpu: number;
  /** Cores in use by anybody else than server and generator, on average. Far above 0: the sample is doubtful. */
  readonly othersCores: number;
  readonly stolenCores: number;
}

/** As much of a server as a load needs. */
export type Loadable = Pick<ServerProcess, "port" | "cpuSeconds">;

/** Puts a load on a server and accounts for all processor time of the machine meanwhile. */
export async function loadServer(stand: Stand, server: Loadable, flags: Flags): Promise<ServerLoad> {
  const began = performance.now();
  const [machineBefore, cpuBefore] = await Promise.all([machineCpu(), server.cpuSeconds()]);
  const load = await stand.tools.load({ port: server.port, congestion: LOOPBACK_CONGESTION, ...flags });
  const [machine, cpu] = await Promise.all([machineCpu(), server.cpuSeconds()]);
  const seconds = (performance.now() - began) / 1000;
  const serverCpu = cpu - cpuBefore;
  const others = machine.busy - machineBefore.busy - serverCpu - load.cpu.user - load.cpu.system;
  return {
    load,
    serverCpu,
    othersCores: Math.max(0, others) / seconds,
    stolenCores: (machine.stolen - machineBefore.stolen) / seconds,
  };
}
