// What does forcing make of appending, without a broker: a barrier behind each batch, and one behind 64.

import { join } from "node:path";
import type { Case } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { type AppendSample, runSide, storedBytesOf } from "./lib/side.js";
import { inDirectory, type Stand } from "./lib/stand.js";
import { commandLine } from "./lib/tools.js";

const GROUP = 64;

interface Variant {
  readonly mode: "MAPPED" | "FILE_CHANNEL";
  readonly flush: "each batch" | "group";
  readonly records: number;
  readonly size: number;
  readonly format: "crc32c" | "plain";
}

function variants({ quick, full = false }: Stand): Variant[] {
  const all: Variant[] = [];
  for (const mode of ["MAPPED", "FILE_CHANNEL"] as const) {
    for (const flush of ["each batch", "group"] as const) {
      for (const records of quick ? [10] : full ? [1, 10, 100] : [1, 100]) {
        for (const size of full ? [16, 128, 1024, 16384] : [128]) {
          for (const format of full ? (["crc32c", "plain"] as const) : (["crc32c"] as const)) {
            all.push({ mode, flush, records, size, format });
          }
        }
      }
    }
  }
  return all;
}

function caseOf(stand: Stand, { mode, flush, records, size, format }: Variant): Case {
  const barriers = stand.quick ? 400 : 2000;
  const rows = flush === "group" ? GROUP : 1;
  // As many barriers either way, but no more than half a gibibyte.
  const most = Math.floor((512 << 20) / storedBytesOf(records, size, format));
  const batches = Math.max(rows, Math.floor(Math.min(barriers * rows, most) / rows) * rows);
  const flags = { mode, format, records, size, batches, rows };
  const bytes = Math.max(4096, batches * storedBytesOf(records, size, format));
  const sink = mode === "MAPPED" ? "mapped" : "pwrite";
  const floorFlags = { sink, format, records, size, bytes, flush: rows === 1 ? "each" : "group", group: rows };
  const sampleOf = (sample: Pick<AppendSample, "batches" | "storedBytes" | "seconds">) => ({
    value: sample.batches / sample.seconds,
    details: {
      "barriers/s": sample.batches / rows / sample.seconds,
      "MB/s": sample.storedBytes / sample.seconds / 1e6,
    },
  });
  return {
    label: `${mode}, ${records} × ${size} B, ${format}`,
    flush: flush === "group" ? `group of ${GROUP}` : flush,
    unit: "batches/s",
    sample: `${batches} batches`,
    sides: [
      {
        name: "addon",
        command: commandLine("node sides/append-flush.js", flags),
        measure: () =>
          inDirectory(stand, async (dir) =>
            sampleOf(await runSide<AppendSample>(stand, "append-flush", { dir, ...flags })),
          ),
      },
      {
        name: "floor",
        command: commandLine("floor append", floorFlags),
        measure: () =>
          inDirectory(stand, async (dir) =>
            sampleOf(await stand.tools.append({ path: join(dir, "floor.log"), ...floorFlags })),
          ),
      },
    ],
  };
}

export const appendFlush: Question = {
  name: "append-flush",
  title: "Append and force, the addon alone",
  about:
    `Batches into one segment whose blocks are reserved, forced behind each batch, or behind each ${GROUP} that were handed over in one call. The addon ` +
    "forces on a thread and the loop waits for it; the floor calls `fdatasync` where it stands. After a few small barriers in a row the addon has the " +
    "blocks ahead written once, which makes the next ones cheaper; the floor does not.",
  ask: async (stand, measure) => {
    for (const variant of variants(stand)) await measure(caseOf(stand, variant));
  },
};
