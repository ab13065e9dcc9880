// Segments through the boundary: regions as PRODUCE carries them, one-row appends, and writers that are closed after the test.

import { join } from "node:path";
import { onTestFinished } from "vitest";
import { RECORD_FORMATS, type RecordFormat } from "../../../src/model/record-format.js";
import {
  APPEND_COLUMNS,
  AppendColumn,
  INDEX_OUT_COLUMNS,
  type NativeSegmentWriter,
  native,
  RecordFormatId,
  SegmentModeId,
  type SegmentWriterOptions,
} from "../../../src/native/binding.js";
import { concat, int32 } from "../../support/bytes.js";
import { tempDir } from "../../support/tmp.js";

export const paths = Object.keys(SegmentModeId) as (keyof typeof SegmentModeId)[];
export const formats: readonly RecordFormat[] = RECORD_FORMATS;
/** Every path with every format. */
export const combinations = paths.flatMap((path) => formats.map((format) => ({ path, format })));

/** Bytes that are never zero and differ from record to record. */
export function payload(bytes: number, seed = 1): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, index) => 1 + ((seed * 31 + index * 7) % 255));
}

export const payloads = (sizes: readonly number[], seed = 1): Uint8Array[] =>
  sizes.map((size, index) => payload(size, seed + index));

/** `count × (int32 size | payload)`. */
export const region = (records: readonly Uint8Array[]): Uint8Array =>
  concat(records.flatMap((record) => [int32(record.length), record]));

export interface Given extends Partial<SegmentWriterOptions> {
  readonly mode: SegmentModeId;
  readonly format: RecordFormatId;
}

export function optionsOf(
  { path, format }: { path: keyof typeof SegmentModeId; format: RecordFormat },
  given: Partial<SegmentWriterOptions> = {},
): SegmentWriterOptions {
  const capacity = given.capacity ?? 1 << 20;
  return {
    path: join(tempDir("segment"), "00000000000000000000.log"),
    mode: SegmentModeId[path],
    format: RecordFormatId[format],
    capacity,
    indexIntervalBytes: 4096,
    reserve: capacity,
    ...given,
  };
}

export async function created(options: SegmentWriterOptions): Promise<NativeSegmentWriter> {
  return closedAfterwards(await native.createSegmentWriter(options));
}

export async function opened(options: SegmentWriterOptions & { end: number }): Promise<NativeSegmentWriter> {
  return closedAfterwards(await native.openSegmentWriter(options));
}

function closedAfterwards(writer: NativeSegmentWriter): NativeSegmentWriter {
  onTestFinished(async () => {
    await writer.close().catch(() => {});
    writer.file.close();
  });
  return writer;
}

export interface Row {
  readonly status: number;
  readonly end: number;
  readonly errno: number;
}

/** One batch in a call of its own. */
export function appendRegion(writer: NativeSegmentWriter, source: Uint8Array, records: number): Row {
  return appendRows([{ writer, source, records }]).rows[0] as Row;
}

export const append = (writer: NativeSegmentWriter, records: readonly Uint8Array[]): Row =>
  appendRegion(writer, region(records), records.length);

export interface Batch {
  readonly writer: NativeSegmentWriter;
  readonly source: Uint8Array;
  readonly records: number;
}

/** Several batches in one call, each from a source of its own. */
export function appendRows(batches: readonly Batch[], indexRows = 1000): { rows: Row[]; index: number[] } {
  const table = new Int32Array(batches.length * APPEND_COLUMNS);
  batches.forEach(({ writer, source, records }, row) => {
    table.set([writer.id, row, 0, source.length, records, -1, -1, -1], row * APPEND_COLUMNS);
  });
  const index = new Uint32Array(indexRows * INDEX_OUT_COLUMNS);
  const sources = batches.map(({ source }) => source);
  const filled = native.append(table, batches.length, sources, index);
  const rows = batches.map((_, row) => ({
    status: table[row * APPEND_COLUMNS + AppendColumn.STATUS] as number,
    end: table[row * APPEND_COLUMNS + AppendColumn.END] as number,
    errno: table[row * APPEND_COLUMNS + AppendColumn.ERRNO] as number,
  }));
  return { rows, index: [...index.subarray(0, filled * INDEX_OUT_COLUMNS)] };
}
