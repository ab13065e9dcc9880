// Numbers of the boundary: what binding.ts says against what the addon was compiled with.

import { expect, it } from "vitest";
import { WALK_COLUMNS, WalkColumn, WalkStop } from "../../src/model/record-walk.js";
import * as binding from "../../src/native/binding.js";

/** Those that are not of binding.ts: the client, which may not import it, has them, too. */
const ofTheModel = { WalkStop, WalkColumn };

const tables = {
  SegmentModeId: binding.SegmentModeId,
  RecordFormatId: binding.RecordFormatId,
  ScanStop: binding.ScanStop,
  AppendStatus: binding.AppendStatus,
  AppendColumn: binding.AppendColumn,
  FrameColumn: binding.FrameColumn,
  FlushColumn: binding.FlushColumn,
  CloseReason: binding.CloseReason,
  SelectorCounter: binding.SelectorCounter,
  constants: {
    APPEND_COLUMNS: binding.APPEND_COLUMNS,
    INDEX_OUT_COLUMNS: binding.INDEX_OUT_COLUMNS,
    WALK_COLUMNS,
    FRAME_COLUMNS: binding.FRAME_COLUMNS,
    FLUSH_COLUMNS: binding.FLUSH_COLUMNS,
    SELECTOR_COUNTERS: binding.SELECTOR_COUNTERS,
  },
};

it("both sides of the boundary have the same numbers under the same names", () => {
  expect(binding.native.abi()).toEqual({ ...tables, ...ofTheModel });
});

it("every table of numbers that binding.ts exports is compared", () => {
  const exported = Object.entries(binding).filter(([, value]) => typeof value === "object" && value !== binding.native);
  expect(exported.map(([name]) => name).sort()).toEqual(
    Object.keys(tables)
      .filter((name) => name !== "constants")
      .sort(),
  );
});

it("the addon says for which platform it was compiled", () => {
  expect(binding.native.platform).toBe(`${process.platform}-${process.arch}`);
});
