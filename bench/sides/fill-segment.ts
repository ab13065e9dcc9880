// Writes one segment full of records of one size with the addon, and leaves it: the input of scans.

import { AppendColumn, AppendStatus, native, RecordFormatId, SegmentModeId } from "../../src/native/binding.js";
import { makeRegion, printResult, sideFlags, storedBytesOf } from "../lib/side.js";

const BATCH_BYTES = 256 << 10;

const flags = sideFlags("path", "format", "size", "bytes");
const [size, capacity] = [flags.size, flags.bytes].map(Number);
const format = flags.format as keyof typeof RecordFormatId;
const records = Math.ceil(BATCH_BYTES / size);

const writer = await native.createSegmentWriter({
  path: flags.path,
  mode: SegmentModeId.FILE_CHANNEL,
  format: RecordFormatId[format],
  capacity,
  indexIntervalBytes: 4096,
  reserve: capacity,
});
const region = makeRegion(records, size);
const table = new Int32Array(8);
table[AppendColumn.WRITER] = writer.id;
table[AppendColumn.BYTES] = region.length;
table[AppendColumn.RECORDS] = records;
const indexOut = new Uint32Array(3 * 1024);
const stored = storedBytesOf(records, size, format);
while (writer.end + stored <= capacity) {
  native.append(table, 1, [region], indexOut);
  if (table[AppendColumn.STATUS] !== AppendStatus.OK) throw new Error("a batch was refused");
}
printResult({ bytes: writer.end });
await writer.close();
writer.file.close();
