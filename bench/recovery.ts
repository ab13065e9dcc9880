// How fast can a segment be checked, record by record: what a start after a crash is made of.

import { join } from "node:path";
import type { Question } from "./lib/question.js";
import { runSide } from "./lib/side.js";
import { inDirectory } from "./lib/stand.js";
import { commandLine, type FloorScan } from "./lib/tools.js";

const sampleOf = ({ bytes, records, seconds }: Pick<FloorScan, "bytes" | "records" | "seconds">) => ({
  value: bytes / seconds / 2 ** 30,
  details: { "s/GiB": seconds / (bytes / 2 ** 30), "million records/s": records / seconds / 1e6 },
});

export const recovery: Question = {
  name: "recovery",
  title: "Recovery scan",
  about:
    "One segment from the page cache: structure, and in `crc32c` every sum. The floor reads it in pieces and checks the same.",
  ask: async (stand, measure) => {
    const bytes = (stand.quick ? 128 : 512) << 20;
    for (const format of ["crc32c", "plain"] as const) {
      for (const size of [1024, 128]) {
        await inDirectory(stand, async (directory) => {
          const path = join(directory, "00000000000000000000.log");
          await runSide(stand, "fill-segment", { path, format, size, bytes });
          await measure({
            label: `${format}, records of ${size} B`,
            flush: "none",
            unit: "GiB/s",
            sample: `${bytes >> 20} MiB`,
            sides: [
              {
                name: "addon",
                command: commandLine("node sides/scan.js", { format }),
                measure: async () => sampleOf(await runSide<FloorScan>(stand, "scan", { path, format })),
              },
              {
                name: "floor",
                command: commandLine("floor scan", { format }),
                measure: async () => sampleOf(await stand.tools.scan({ path, format })),
              },
            ],
          });
        });
      }
    }
  },
};
