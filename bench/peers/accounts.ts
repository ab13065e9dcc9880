// Who spent the processor time while a tool ran: the server, the tool, anybody else.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { endsWithUs } from "../lib/children.js";
import { cpuOf, machineCpu, parseProcessStat } from "../lib/cpu.js";
import type { Sample } from "../lib/figures.js";
import { OTHERS } from "../lib/report.js";
import type { ToolFigures, ToolRun } from "./peer.js";

export interface Accounts {
  readonly serverCpu: number;
  readonly clientCpu: number;
  readonly othersCores: number;
}

/** Seconds of this process's children that have ended: `/proc/self/stat`, the two fields behind its own. */
export function parseChildrenCpu(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const { user, system } = parseProcessStat(`) ${[...fields.slice(0, 11), ...fields.slice(13)].join(" ")}`);
  return user + system;
}

const childrenCpu = async (): Promise<number> => parseChildrenCpu(await readFile("/proc/self/stat", "utf8"));

const serverCpuOf = async (pid: number): Promise<number> => {
  const { user, system } = await cpuOf(pid);
  return user + system;
};

/** `action` runs one child to its end, and no other child of this process ends meanwhile. */
export async function accounted<T>(serverPid: number, action: () => Promise<T>): Promise<[T, Accounts]> {
  const began = performance.now();
  const look = () => Promise.all([machineCpu(), serverCpuOf(serverPid), childrenCpu()]);
  const [machine, server, children] = await look();
  const result = await action();
  const [machineAfter, serverAfter, childrenAfter] = await look();
  const seconds = (performance.now() - began) / 1000;
  const serverCpu = serverAfter - server;
  const clientCpu = childrenAfter - children;
  const others = machineAfter.busy - machine.busy - serverCpu - clientCpu + machineAfter.stolen - machine.stolen;
  return [result, { serverCpu, clientCpu, othersCores: Math.max(0, others) / seconds }];
}

/** A tool may take so long at most, as often as it is slower than the rate at which it was warm. */
const TOOL_MS = 180_000;

/** Runs a tool to its end; rejects when it fails, takes too long, or prints no figures. */
export function runTool({ command, args, env, parse }: ToolRun): Promise<ToolFigures> {
  return new Promise((resolve, reject) => {
    const options = { env, timeout: TOOL_MS, killSignal: "SIGKILL" } as const;
    const child = endsWithUs(spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] }));
    let output = "";
    const hear = (text: string): void => {
      output = (output + text).slice(-(1 << 20));
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code !== 0) return reject(new Error(`${command} ended with ${code ?? signal}:\n${output.slice(-2000)}`));
      try {
        resolve(parse(output));
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** The same columns for everybody, whoever the client was. */
export function peerSample({ records, recordsPerSecond, latency }: ToolFigures, accounts: Accounts): Sample {
  return {
    value: recordsPerSecond,
    details: {
      ...(latency === undefined ? {} : { "p50 µs": latency.p50Us, "p99 µs": latency.p99Us, "max µs": latency.maxUs }),
      "server CPU µs/record": (accounts.serverCpu / records) * 1e6,
      "client CPU µs/record": (accounts.clientCpu / records) * 1e6,
      [OTHERS]: accounts.othersCores,
    },
  };
}
