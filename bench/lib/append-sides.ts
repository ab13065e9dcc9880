// The sides of a case of appending: the addon, with so many batches in a call, and the floor. What a sample is worth is the question's.

import { join } from "node:path";
import type { Sample, Side } from "./figures.js";
import { type AppendSample, runSide } from "./side.js";
import { inDirectory, type Stand, warmMemory } from "./stand.js";
import { commandLine } from "./tools.js";

export interface Appended {
  readonly mode: "MAPPED" | "FILE_CHANNEL";
  readonly format: "crc32c" | "plain";
  readonly records: number;
  readonly size: number;
  readonly pages: "fresh" | "prepared";
}

/** Of each sample. */
export const appendedBytes = ({ quick }: Stand): number => (quick ? 48 : 256) << 20;

/** `rows`: batches in a call, a side for each; the floor is the last. */
export function appendSides(
  stand: Stand,
  { mode, format, records, size, pages }: Appended,
  rows: readonly number[],
  sampleOf: (done: AppendSample) => Sample,
): Side[] {
  const bytes = appendedBytes(stand);
  const common = { format, records, size, bytes, pages };
  const floorFlags = { sink: mode === "MAPPED" ? "mapped" : "pwrite", ...common };
  const measured = (append: (dir: string) => Promise<AppendSample>) => async () => {
    await warmMemory(stand, bytes);
    return inDirectory(stand, async (dir) => sampleOf(await append(dir)));
  };
  const addon = (each: number): Side => {
    const flags = { mode, ...common, rows: each };
    return {
      name: each === 1 ? "addon, a call each" : `addon, a call for ${each}`,
      command: commandLine("node sides/append.js", flags),
      measure: measured((dir) => runSide<AppendSample>(stand, "append", { dir, ...flags })),
    };
  };
  const floor: Side = {
    name: "floor",
    command: commandLine("floor append", floorFlags),
    measure: measured((dir) => stand.tools.append({ path: join(dir, "floor.log"), ...floorFlags })),
  };
  return [...rows.map(addon), floor];
}
