// The decision table, every row of it, against the rules of the specification written down once more, independently.

import { describe, expect, it } from "vitest";
import { ScanStop } from "../../src/native/binding.js";
import {
  decideTail,
  SUCCESSORS,
  successorOf,
  TAIL_SHAPES,
  type TailFacts,
  tailShape,
} from "../../src/storage/recovery-table.js";
import { FORMATS, MODES } from "./support/opened.js";

const rows: TailFacts[] = MODES.flatMap((mode) =>
  FORMATS.flatMap((format) =>
    [true, false].flatMap((sealed) =>
      TAIL_SHAPES.flatMap((shape) =>
        [true, false].flatMap((belowFloor) =>
          SUCCESSORS.map((successor) => ({ mode, format, sealed, shape, belowFloor, successor })),
        ),
      ),
    ),
  ),
);

const name = (row: TailFacts): string =>
  `${row.mode} ${row.format} ${row.sealed ? "sealed" : "unsealed"} ${row.shape}, ` +
  `${row.belowFloor ? "below" : "not below"} the floor, next: ${row.successor}`;

describe("where a log ends", () => {
  it("has a row for each combination", () => {
    expect(rows).toHaveLength(2 * 2 * 2 * 6 * 2 * 4);
    expect(new Set(rows.map(name)).size).toBe(rows.length);
  });

  it.each(rows.map((row) => [name(row), row] as const))("%s", (_, row) => {
    const { action, raisesEpoch, meaning } = decideTail(row);
    const isWhole = row.shape === "whole" || (row.shape === "zeros" && !row.sealed);
    // Damage below the checkpoint or in a sealed segment, and a gap there, is corruption.
    const isCorruption =
      row.belowFloor || row.successor === "overlaps" || (row.sealed && (!isWhole || row.successor === "gap"));
    if (isCorruption) expect(action).toBe("refuse");
    // Above it, what is missing before a later segment, or is not whole at the end, ends the log.
    else if (row.successor === "gap") expect(action).toBe("cut");
    else if (isWhole) expect(action).toBe("keep");
    else expect(action).toBe(row.successor === "none" ? "cut" : "trim");
    // The epoch goes up exactly when records were cut.
    expect(raisesEpoch).toBe(action === "cut");
    expect(meaning).not.toBe("");
  });

  it("no start-up gives up records that were acknowledged", () => {
    for (const row of rows.filter(({ belowFloor }) => belowFloor)) expect(decideTail(row).action).toBe("refuse");
  });

  it("does the same on both paths and in both formats", () => {
    for (const row of rows) {
      const twin = { ...row, mode: "MAPPED", format: "crc32c" } as const;
      expect(decideTail(row).action).toBe(decideTail(twin).action);
    }
  });
});

describe("what a scan has found", () => {
  it.each([
    [ScanStop.END, 0, "whole"],
    [ScanStop.ZERO_PREFIX, 0, "zeros"],
    [ScanStop.ZERO_PREFIX, 9, "bytes-after-zero"],
    [ScanStop.TORN, 0, "zeros"],
    [ScanStop.TORN, 3, "short"],
    [ScanStop.BAD_LENGTH, 4, "bad-length"],
    [ScanStop.BAD_SUM, 100, "bad-sum"],
  ] as const)("stop %i with %i bytes behind is %s", (stop, tailBytes, shape) => {
    expect(tailShape(stop, tailBytes)).toBe(shape);
  });

  it.each([
    [10, undefined, "none"],
    [10, 10, "adjoins"],
    [10, 11, "gap"],
    [10, 9, "overlaps"],
  ] as const)("an end at %i before a segment at %s: %s", (end, next, successor) => {
    expect(successorOf(end, next)).toBe(successor);
  });
});
