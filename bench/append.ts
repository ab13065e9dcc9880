// How fast do batches get into a segment, without a broker, without a writer: the addon's append call against the same copying in C++.

import { join } from "node:path";
import type { Case } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { type AppendSample, runSide } from "./lib/side.js";
import { inDirectory, type Stand, warmMemory } from "./lib/stand.js";
import { commandLine } from "./lib/tools.js";

const MODES = ["MAPPED", "FILE_CHANNEL"] as const;
const RECORD_BYTES = 128;

const sampleOf = ({ batches, storedBytes, seconds, worstSliceUs }: AppendSample) => ({
  value: batches / seconds,
  details: { "GB/s": storedBytes / seconds / 1e9, "worst 64 KiB µs": worstSliceUs },
});

interface Variant {
  readonly mode: (typeof MODES)[number];
  readonly records: number;
  readonly pages: "fresh" | "prepared";
  readonly format: "crc32c" | "plain";
}

function variants(quick: boolean): Variant[] {
  const all: Variant[] = [];
  for (const mode of MODES) {
    // A written file has no pages to prepare: the kernel takes them as it copies.
    for (const pages of mode === "MAPPED" ? (["prepared", "fresh"] as const) : (["fresh"] as const)) {
      for (const records of quick ? [10, 100] : [1, 10, 100]) all.push({ mode, records, pages, format: "crc32c" });
      if (!quick) all.push({ mode, records: 100, pages, format: "plain" });
    }
  }
  return all;
}

function caseOf(stand: Stand, { mode, records, pages, format }: Variant): Case {
  const bytes = (stand.quick ? 48 : 256) << 20;
  const common = { format, records, size: RECORD_BYTES, bytes, pages };
  const floorFlags = { sink: mode === "MAPPED" ? "mapped" : "pwrite", ...common };
  const millrace = (rows: number) => {
    const flags = { mode, ...common, rows };
    return {
      name: rows === 1 ? "addon, a call each" : `addon, a call for ${rows}`,
      command: commandLine("node sides/append.js", flags),
      measure: async () => {
        await warmMemory(stand, bytes);
        return inDirectory(stand, async (dir) =>
          sampleOf(await runSide<AppendSample>(stand, "append", { dir, ...flags })),
        );
      },
    };
  };
  const paged = mode === "MAPPED" ? `, ${pages} pages` : "";
  return {
    label: `${mode}${paged}, ${records} × ${RECORD_BYTES} B, ${format}`,
    flush: "none",
    unit: "batches/s",
    sample: `${bytes >> 20} MiB`,
    sides: [
      millrace(1),
      millrace(64),
      {
        name: "floor",
        command: commandLine("floor append", floorFlags),
        measure: async () => {
          await warmMemory(stand, bytes);
          return inDirectory(stand, async (dir) =>
            sampleOf(await stand.tools.append({ path: join(dir, "floor.log"), ...floorFlags })),
          );
        },
      },
    ],
  };
}

export const append: Question = {
  name: "append",
  title: "Append, the addon alone",
  about:
    "Batches into one segment whose blocks are reserved; no barrier. The floor does the same checking, summing and copying in one C++ loop: " +
    "into a mapping, or with a `pwrite` for each batch.",
  ask: async (stand, measure) => {
    for (const variant of variants(stand.quick)) await measure(caseOf(stand, variant));
  },
};
