// For the programs in sides/: each measures one thing in a process of its own, so that neither the garbage nor the optimised code of one
// sample is there in the next, and prints one JSON document.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { endsWithUs } from "./children.js";
import type { Stand } from "./stand.js";
import { argumentsOf, type Flags } from "./tools.js";

const run = promisify(execFile);

export interface AppendSample {
  readonly batches: number;
  readonly storedBytes: number;
  readonly seconds: number;
  readonly worstSliceUs: number;
}

/** Runs a program of sides/ and takes what it printed. */
export async function runSide<T>(
  stand: Stand,
  name: string,
  flags: Flags,
  nodeFlags: readonly string[] = [],
): Promise<T> {
  const program = join(stand.root, ".cache", "bench", "js", "sides", `${name}.js`);
  const args = [...nodeFlags, program, ...argumentsOf(flags)];
  const running = run(process.execPath, args, { maxBuffer: 16 << 20 });
  endsWithUs(running.child);
  const { stdout } = await running;
  return JSON.parse(stdout) as T;
}

/** The flags of this process, all of them with a value, all of them needed. */
export function sideFlags<const Name extends string>(...names: readonly Name[]): Record<Name, string> {
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" as const }]));
  const { values } = parseArgs({ options });
  for (const name of names) if (values[name] === undefined) throw new Error(`--${name} is missing`);
  return values as Record<Name, string>;
}

export const printResult = (result: unknown): void => {
  process.stdout.write(`${JSON.stringify(result)}\n`);
};

/** A record region of `records` × (int32 size | payload), as a PRODUCE carries it. */
export function makeRegion(records: number, size: number): Uint8Array {
  const region = new Uint8Array(records * (4 + size));
  const view = new DataView(region.buffer);
  for (let record = 0; record < records; record++) {
    const at = record * (4 + size);
    view.setInt32(at, size);
    for (let i = 0; i < size; i++) region[at + 4 + i] = 97 + ((record * 7 + i) % 26);
  }
  return region;
}

export const storedBytesOf = (records: number, size: number, format: string): number =>
  records * (size + (format === "plain" ? 4 : 8));

/** Slices of time between two looks at the clock: looking at each batch would become what is measured. */
export const SLICE_BYTES = 64 << 10;
