// Appends batches of one size to one segment by the addon alone: no writer, no log, no index beyond what the call itself returns.
//
//   --rows     batches handed over in one native call, as the broker hands over a turn's
//   --pages    fresh: faulted in by the copy itself; prepared: filled with zeros, before the clock starts

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
import { makeRegion, printResult, SLICE_BYTES, sideFlags, storedBytesOf } from "../lib/side.js";

/** What is reserved at the creation has no pages yet. */
const FIRST_RESERVE = 64 << 10;

const flags = sideFlags("dir", "mode", "format", "records", "size", "bytes", "rows", "pages");
const [records, size, capacity, rows] = [flags.records, flags.size, flags.bytes, flags.rows].map(Number);
const mode = flags.mode as keyof typeof SegmentModeId;
const format = flags.format as keyof typeof RecordFormatId;

const prepared = flags.pages === "prepared";
const writer = await native.createSegmentWriter({
  path: join(flags.dir, "00000000000000000000.log"),
  mode: SegmentModeId[mode],
  format: RecordFormatId[format],
  capacity,
  indexIntervalBytes: 4096,
  reserve: prepared ? FIRST_RESERVE : capacity,
  forceLater: prepared,
});
// As the broker does ahead of a fast writer, and the floor in the same way.
if (prepared) await writer.reserve(capacity, true);

const region = makeRegion(records, size);
const stored = storedBytesOf(records, size, format);
const sources = [region];
const table = appendTable(writer.id, region.length, records, rows);
const indexOut = new Uint32Array(8192 * INDEX_OUT_COLUMNS);

const turns = Math.floor(capacity / (stored * rows));
let worst = 0;
let done = 0;
const began = performance.now();
let sliceBegan = began;
let sliceEnds = SLICE_BYTES;
for (let turn = 0; turn < turns; turn++) {
  native.append(table, rows, sources, indexOut);
  if (table[(rows - 1) * APPEND_COLUMNS + AppendColumn.STATUS] !== AppendStatus.OK)
    throw new Error("a batch was refused");
  done += rows * stored;
  if (done < sliceEnds) continue;
  const now = performance.now();
  worst = Math.max(worst, now - sliceBegan);
  sliceBegan = now;
  sliceEnds = done + SLICE_BYTES;
}
const seconds = (performance.now() - began) / 1000;
if (writer.end !== done) throw new Error(`the segment ends at ${writer.end}, not at ${done}`);
printResult({ batches: turns * rows, storedBytes: done, seconds, worstSliceUs: worst * 1000 });
await writer.close();
writer.file.close();
