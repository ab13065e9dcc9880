// What a process asks of the kernel, and a disk that takes its time, where strace is installed.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface Call {
  readonly thread: number;
  readonly name: string;
  /** Its first argument. */
  readonly fd: number;
  /** What it returned; negative: it failed. */
  readonly result: number;
}

export class Strace {
  /** Calls of these names are written down; those of `slow` come so many milliseconds late. */
  constructor(
    private readonly log: string,
    private readonly names: readonly string[],
    private readonly slow?: { readonly name: string; readonly ms: number },
  ) {}

  static readonly works =
    spawnSync("strace", ["-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64", "true"]).status === 0;

  get wrapper(): string[] {
    const inject = this.slow && ["-e", `inject=${this.slow.name}:delay_enter=${this.slow.ms * 1000}`];
    return ["strace", "-f", "-qq", "-s", "0", "-o", this.log, "-e", `trace=${this.names.join(",")}`, ...(inject ?? [])];
  }

  /** So far, in the order in which they ended. */
  calls(): Call[] {
    const calls: Call[] = [];
    const begun = new Map<string, string>();
    for (const line of readFileSync(this.log, "utf8").split("\n")) {
      const [, thread, rest] = /^(\d+) +(.*)$/.exec(line) ?? [];
      if (rest === undefined) continue;
      const [, first] = /^(\w+\(.*)<unfinished \.\.\.>$/.exec(rest) ?? [];
      if (first !== undefined) {
        begun.set(thread, first);
        continue;
      }
      const [, last] = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest) ?? [];
      const whole = last === undefined ? rest : `${begun.get(thread) ?? ""}${last}`;
      const [, name, fd, result] = /^(\w+)\((\d+).* = (-?\d+)/.exec(whole) ?? [];
      // Calls that it has no name for are written down as well.
      if (this.names.includes(name))
        calls.push({ thread: Number(thread), name, fd: Number(fd), result: Number(result) });
    }
    return calls;
  }
}
