// What does the partition writer cost on top of the addon: mailbox, turns, index, rolling, pages ahead.

import { join } from "node:path";
import type { Case } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { type AppendSample, runSide, storedBytesOf } from "./lib/side.js";
import { inDirectory, type Stand, warmMemory } from "./lib/stand.js";
import { commandLine } from "./lib/tools.js";

const RECORD_BYTES = 128;

const sampleOf = ({ batches, storedBytes, seconds, worstSliceUs }: AppendSample) => ({
  value: batches / seconds,
  details: { "GB/s": storedBytes / seconds / 1e9, "worst 64 KiB µs": worstSliceUs },
});

interface Variant {
  readonly mode: "MAPPED" | "FILE_CHANNEL";
  readonly records: number;
  readonly ack: "none" | "written" | "forced";
  /** Of a turn. */
  readonly batches: number;
}

const USUAL_BATCHES = 256;
/** A sample with a barrier in each turn is measured in barriers, not in bytes. */
const FORCED_TURNS = 1000;

function bytesOf({ quick }: Stand, { ack, batches, records }: Variant): number {
  const most = (quick ? 96 : 384) << 20;
  if (ack !== "forced") return batches === USUAL_BATCHES ? most : most / 4;
  return Math.min(
    most,
    (quick ? FORCED_TURNS / 4 : FORCED_TURNS) * batches * storedBytesOf(records, RECORD_BYTES, "crc32c"),
  );
}

function caseOf(stand: Stand, variant: Variant): Case {
  const { mode, records, ack, batches } = variant;
  const bytes = bytesOf(stand, variant);
  const common = { format: "crc32c", records, size: RECORD_BYTES, bytes };
  const flags = { mode, ...common, batches, ack };
  // The writer's pages are prepared ahead by the partition; the floor's are before the clock starts, so it is out of reach on purpose.
  const floorFlags = { sink: mode === "MAPPED" ? "mapped" : "pwrite", ...common, pages: "prepared" };
  const forced = ack === "forced" ? { flush: "group", group: batches } : {};
  const turn = batches === USUAL_BATCHES ? "" : `, ${batches} batch${batches === 1 ? "" : "es"} a turn`;
  return {
    label: `${mode}, ${records} × ${RECORD_BYTES} B, crc32c${turn}`,
    flush: ack.toUpperCase(),
    unit: "batches/s",
    sample: `${Number((bytes / 2 ** 20).toPrecision(3))} MiB`,
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
        command: commandLine("floor append", { ...floorFlags, ...forced }),
        measure: async () => {
          await warmMemory(stand, bytes);
          return inDirectory(stand, async (dir) =>
            sampleOf(await stand.tools.append({ path: join(dir, "floor.log"), ...floorFlags, ...forced })),
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
    `Turns of ${USUAL_BATCHES} batches (or as many as it says) offered to the writer of a partition with segments of 128 MiB, each turn when the last one is ` +
    "answered: rolling, index and populating ahead included; with FORCED a turn is answered when it is forced. The floor is the bare copying of " +
    "*append*, with a `pwrite` for each batch on FILE_CHANNEL (the writer has one for each turn) and, with FORCED, an `fdatasync` for each turn.",
  ask: async (stand, measure) => {
    for (const variant of variants(stand)) await measure(caseOf(stand, variant));
  },
};

function variants({ quick, full = false }: Stand): Variant[] {
  const all: Variant[] = [];
  for (const mode of ["MAPPED", "FILE_CHANNEL"] as const) {
    for (const records of quick ? [10] : [1, 10, 100]) {
      const other = full || records === 10;
      all.push({ mode, records, ack: "written", batches: USUAL_BATCHES });
      if (other) all.push({ mode, records, ack: "forced", batches: USUAL_BATCHES });
      if (quick || !other) continue;
      all.push({ mode, records, ack: "none", batches: USUAL_BATCHES });
      for (const batches of [1, 16]) {
        for (const ack of full ? (["none", "written", "forced"] as const) : (["written", "forced"] as const)) {
          all.push({ mode, records, ack, batches });
        }
      }
    }
  }
  return all;
}
