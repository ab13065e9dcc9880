// The file that shim.c shares with the rung: `struct control`.
//
//   0   u32  kind of call that fails
//   4   u32  which of them, from 1; 0: none
//   8   i32  errno, or SHORT
//   12  u32  how many have failed
//   16  u32  × 32  how many calls of each kind there were
//   144      the path of the file that the one that failed was on
//
// In the byte order of the machine.

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CALLS, type Injection } from "./calls.js";

const run = promisify(execFile);
const BYTES = 4096;
const COUNTS_AT = 16;
const PATH_AT = 144;
const PATH_BYTES = 512;
const compiler = process.env.CC ?? "cc";

export const hasCompiler = (): Promise<boolean> =>
  run(compiler, ["--version"]).then(
    () => true,
    () => false,
  );

/** Builds the shim into `directory`. Resolves to its path. */
export async function buildShim(root: string, directory: string): Promise<string> {
  const library = join(directory, "shim.so");
  const source = join(root, "faults/rungs/syscalls/shim.c");
  await run(compiler, ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", library, source, "-ldl"]);
  return library;
}

export class Control {
  private constructor(readonly path: string) {}

  static async write(path: string, injection: Injection | undefined): Promise<Control> {
    const bytes = new DataView(new ArrayBuffer(BYTES));
    if (injection !== undefined) {
      bytes.setUint32(0, CALLS.indexOf(injection.call), true);
      bytes.setUint32(4, injection.nth, true);
      bytes.setInt32(8, injection.failing.errno, true);
    }
    await writeFile(path, new Uint8Array(bytes.buffer));
    return new Control(path);
  }

  environment(library: string, root: string): Record<string, string> {
    return { LD_PRELOAD: library, FAULT_CONTROL: this.path, FAULT_ROOT: root };
  }

  async read(): Promise<{ readonly failed: number; readonly counts: readonly number[]; readonly path: string }> {
    const bytes = await readFile(this.path);
    const text = bytes.subarray(PATH_AT, PATH_AT + PATH_BYTES).toString("utf8");
    return {
      failed: bytes.readUInt32LE(12),
      counts: CALLS.map((_, index) => bytes.readUInt32LE(COUNTS_AT + 4 * index)),
      path: text.slice(0, text.indexOf("\0")),
    };
  }
}
