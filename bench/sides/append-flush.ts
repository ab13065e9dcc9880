// Appends batches to one segment by the addon alone and forces them: behind each batch, or behind each call that hands over several.
//
//   --rows     batches handed over in one native call, and forced together

import { join } from "node:path";
import {
  APPEND_COLUMNS,
  AppendColumn,
  AppendStatus,
  INDEX_OUT_COLUMNS,
  native,
  RecordFormatId,
  SegmentModeId,
} from "../../src/native/binding.js";
import { appendTable } from "../lib/append-table.js";
import { makeRegion, printResult, sideFlags, storedBytesOf } from "../lib/side.js";

const flags = sideFlags("dir", "mode", "format", "records", "size", "batches", "rows");
const [records, size, batches, rows] = [flags.records, flags.size, flags.batches, flags.rows].map(Number);
const stored = storedBytesOf(records, size, flags.format);
const capacity = Math.ceil((stored * batches) / 4096) * 4096;

const writer = await native.createSegmentWriter({
  path: join(flags.dir, "00000000000000000000.log"),
  mode: SegmentModeId[flags.mode as keyof typeof SegmentModeId],
  format: RecordFormatId[flags.format as keyof typeof RecordFormatId],
  capacity,
  indexIntervalBytes: 4096,
  reserve: capacity,
});
const region = makeRegion(records, size);
const table = appendTable(writer.id, region.length, records, rows);
const indexOut = new Uint32Array(8192 * INDEX_OUT_COLUMNS);

let worst = 0;
let done = 0;
const began = performance.now();
for (let each = began; done + rows <= batches; done += rows) {
  native.append(table, rows, [region], indexOut);
  if (table[(rows - 1) * APPEND_COLUMNS + AppendColumn.STATUS] !== AppendStatus.OK) {
    throw new Error("a batch was refused");
  }
  if ((await writer.barrier()) !== writer.end) throw new Error("not everything was forced");
  const now = performance.now();
  worst = Math.max(worst, now - each);
  each = now;
}
const seconds = (performance.now() - began) / 1000;
if (writer.end !== done * stored) throw new Error(`the segment ends at ${writer.end}, not at ${done * stored}`);
printResult({ batches: done, storedBytes: done * stored, seconds, worstSliceUs: worst * 1000 });
await writer.close();
writer.file.close();
