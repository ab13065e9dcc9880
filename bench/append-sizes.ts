// The matrix of appending: record size × batch × format × fresh or prepared pages × path. By default its telling cases; all with --full.

import { type Appended, appendedBytes, appendSides } from "./lib/append-sides.js";
import type { Case } from "./lib/figures.js";
import type { Question } from "./lib/question.js";
import { type AppendSample, storedBytesOf } from "./lib/side.js";
import type { Stand } from "./lib/stand.js";

/** What is handed over in one call: as a turn of the broker would, and no more than it would. */
const ROWS_MAX = 64;
const CALL_BYTES_MAX = 4 << 20;
const SIZES = [16, 128, 1024, 16384];

function variants({ quick, full = false }: Stand): Appended[] {
  const all: Appended[] = [];
  for (const mode of ["MAPPED", "FILE_CHANNEL"] as const) {
    // A written file has no pages to prepare: the kernel takes them as it copies.
    for (const pages of mode === "MAPPED" ? (["prepared", "fresh"] as const) : (["fresh"] as const)) {
      for (const size of SIZES) {
        for (const records of [1, 10, 100]) {
          for (const format of ["crc32c", "plain"] as const) all.push({ mode, pages, records, size, format });
        }
      }
    }
  }
  if (full) return all;
  // 128 bytes are asked for in *append*. The rest shows in which direction it goes.
  return all.filter(({ mode, pages, records, size, format }) => {
    if (mode === "MAPPED" && pages === "fresh") return !quick && size === 1024 && records === 100;
    if (quick) return size === 1024 && records === 10 && format === "crc32c";
    return size !== 128 && records !== 10 && (format === "crc32c" || size === 1024);
  });
}

function caseOf(stand: Stand, variant: Appended): Case {
  const { mode, pages, records, size, format } = variant;
  const fits = Math.floor(CALL_BYTES_MAX / storedBytesOf(records, size, format));
  const rows = Math.max(1, Math.min(ROWS_MAX, fits));
  const sampleOf = ({ batches, storedBytes, seconds }: AppendSample) => ({
    value: storedBytes / seconds / 1e9,
    details: { "batches/s": batches / seconds, "records/s": (batches * records) / seconds },
  });
  const paged = mode === "MAPPED" ? `, ${pages} pages` : "";
  return {
    label: `${mode}${paged}, ${records} × ${size} B, ${format}`,
    flush: "none",
    unit: "GB/s",
    sample: `${appendedBytes(stand) >> 20} MiB`,
    sides: appendSides(stand, variant, rows > 1 ? [1, rows] : [1], sampleOf),
  };
}

export const appendSizes: Question = {
  name: "append-sizes",
  title: "Append, by size of record and batch",
  about:
    "As *append*, with other sizes: batches into one segment whose blocks are reserved, no barrier, handed over one in a call and as many in a call as " +
    `come to ${CALL_BYTES_MAX >> 20} MiB, ${ROWS_MAX} at most. \`--full\` asks for all sizes, batches, formats and pages.`,
  ask: async (stand, measure) => {
    for (const variant of variants(stand)) await measure(caseOf(stand, variant));
  },
};
