// How fast do batches get into a segment, without a broker, without a writer: the addon's append call against the same copying in C++.

import { type Appended, appendedBytes, appendSides } from "./lib/append-sides.js";
import type { Case } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import type { AppendSample } from "./lib/side.js";
import type { Stand } from "./lib/stand.js";

const MODES = ["MAPPED", "FILE_CHANNEL"] as const;
const RECORD_BYTES = 128;

const sampleOf = ({ batches, storedBytes, seconds, worstSliceUs }: AppendSample) => ({
  value: batches / seconds,
  details: { "GB/s": storedBytes / seconds / 1e9, "worst 64 KiB µs": worstSliceUs },
});

function variants(quick: boolean): Appended[] {
  const all: Appended[] = [];
  for (const mode of MODES) {
    // A written file has no pages to prepare: the kernel takes them as it copies.
    for (const pages of mode === "MAPPED" ? (["prepared", "fresh"] as const) : (["fresh"] as const)) {
      const common = { mode, pages, size: RECORD_BYTES };
      for (const records of quick ? [10, 100] : [1, 10, 100]) all.push({ ...common, records, format: "crc32c" });
      if (!quick) all.push({ ...common, records: 100, format: "plain" });
    }
  }
  return all;
}

function caseOf(stand: Stand, variant: Appended): Case {
  const { mode, records, pages, format } = variant;
  const paged = mode === "MAPPED" ? `, ${pages} pages` : "";
  return {
    label: `${mode}${paged}, ${records} × ${RECORD_BYTES} B, ${format}`,
    flush: "none",
    unit: "batches/s",
    sample: `${appendedBytes(stand) >> 20} MiB`,
    sides: appendSides(stand, variant, [1, 64], sampleOf),
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
