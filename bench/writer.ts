// What does the partition writer cost on top of the addon: mailbox, turns, index, rolling, pages ahead.

import { join } from "node:path";
import type { Case } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { type AppendSample, runSide } from "./lib/side.js";
import { inDirectory, type Stand, warmMemory } from "./lib/stand.js";
import { commandLine } from "./lib/tools.js";

const RECORD_BYTES = 128;

const sampleOf = ({ batches, storedBytes, seconds, worstSliceUs }: AppendSample) => ({
  value: batches / seconds,
  details: { "GB/s": storedBytes / seconds / 1e9, "worst 64 KiB µs": worstSliceUs },
});

function caseOf(stand: Stand, mode: "MAPPED" | "FILE_CHANNEL", records: number): Case {
  const bytes = (stand.quick ? 96 : 384) << 20;
  const common = { format: "crc32c", records, size: RECORD_BYTES, bytes };
  const flags = { mode, ...common, batches: 256 };
  // The writer's pages are prepared ahead by the partition; the floor's are before the clock starts, so it is out of reach on purpose.
  const floorFlags = { sink: mode === "MAPPED" ? "mapped" : "pwrite", ...common, pages: "prepared" };
  return {
    label: `${mode}, ${records} × ${RECORD_BYTES} B, crc32c`,
    flush: "WRITTEN",
    unit: "batches/s",
    sample: `${bytes >> 20} MiB`,
    sides: [
      {
        name: "writer",
        command: commandLine("node sides/writer.js", flags),
        measure: async () => {
          await warmMemory(stand, bytes);
          return inDirectory(stand, async (dir) =>
            sampleOf(await runSide<AppendSample>(stand, "writer", { dir, ...flags })),
          );
        },
      },
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

export const writer: Question = {
  name: "writer",
  title: "Append through the partition writer",
  about:
    "Turns of 256 batches offered to the writer of a partition with segments of 128 MiB, each turn when the last one is answered: rolling, index and " +
    "populating ahead included. The floor is the bare copying of *append*, with a `pwrite` for each batch on FILE_CHANNEL (the writer has one for each turn).",
  ask: async (stand, measure) => {
    for (const mode of ["MAPPED", "FILE_CHANNEL"] as const) {
      for (const records of stand.quick ? [10] : [1, 10, 100]) await measure(caseOf(stand, mode, records));
    }
  },
};
