// What the native append costs for each record, without sockets and without TypeScript around it: batches of 1, 10 and 100
// records of 128 bytes, one batch in a call and 64, both paths, both formats. Pages are populated before the clock starts;
// the page faults are a question of their own (native-fill.mjs).
//
//   node bench/native-append.mjs [directory] [path of the addon]
//
// Prints the best of several rounds in ns for each record. "memcpy" is a copy of the same bytes into the same kind of mapping
// by one call of Buffer.copy for a whole batch: what no append can be faster than.

import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const directory = process.argv[2] ?? tmpdir();
const addonPath = resolve(process.argv[3] ?? "build/Release/millrace.node");
const native = createRequire(import.meta.url)(addonPath);

const RECORD_BYTES = 128;
const CAPACITY = 64 * 1024 * 1024;
const ROUNDS = 5;
const COLUMNS = 8;

function region(records) {
  const bytes = Buffer.alloc(records * (4 + RECORD_BYTES), "a record's bytes ");
  for (let i = 0; i < records; i++) bytes.writeInt32BE(RECORD_BYTES, i * (4 + RECORD_BYTES));
  return bytes;
}

async function round(mode, format, records, rows) {
  const path = join(work, "segment.log");
  const writer = await native.createSegmentWriter({
    path,
    mode,
    format,
    capacity: CAPACITY,
    indexIntervalBytes: 4096,
    reserve: CAPACITY,
  });
  writer.populate(CAPACITY);
  await new Promise((done) => setTimeout(done, 200));
  const batch = region(records);
  const arena = Buffer.concat(Array.from({ length: rows }, () => batch));
  const table = new Int32Array(rows * COLUMNS);
  const index = new Uint32Array(3 * 4096);
  for (let row = 0; row < rows; row++) {
    table.set([writer.id, 0, row * batch.length, batch.length, records], row * COLUMNS);
  }
  const sources = [arena];
  const stored = rows * (batch.length + (format === 1 ? 4 * records : 0));
  const calls = Math.min(20_000, Math.floor(CAPACITY / stored));
  const from = process.hrtime.bigint();
  for (let call = 0; call < calls; call++) native.append(table, rows, sources, index);
  const elapsed = Number(process.hrtime.bigint() - from);
  if (writer.end !== calls * stored) throw new Error(`wrote ${writer.end} of ${calls * stored}`);
  await writer.close();
  writer.file.close();
  await native.unlinkFile(path);
  return elapsed / (calls * rows * records);
}

function memcpy(records, rows) {
  const batch = region(records);
  const target = Buffer.alloc(CAPACITY, 1);
  const total = Math.floor(CAPACITY / batch.length);
  let best = Infinity;
  for (let i = 0; i < ROUNDS; i++) {
    const from = process.hrtime.bigint();
    for (let n = 0; n < total; n++) batch.copy(target, n * batch.length);
    best = Math.min(best, Number(process.hrtime.bigint() - from) / (total * records));
  }
  return rows === 1 ? best : Number.NaN;
}

const work = mkdtempSync(join(directory, "millrace-native-append-"));
try {
  console.log(`crc32c ${native.crc32cKind}, records of ${RECORD_BYTES} bytes, ns for each, best of ${ROUNDS}`);
  for (const rows of [1, 64]) {
    for (const records of [1, 10, 100]) {
      const cells = [];
      for (const [modeName, mode] of [
        ["MAPPED", 1],
        ["FILE_CHANNEL", 0],
      ]) {
        for (const [formatName, format] of [
          ["plain", 0],
          ["crc32c", 1],
        ]) {
          let best = Infinity;
          for (let i = 0; i < ROUNDS; i++) best = Math.min(best, await round(mode, format, records, rows));
          cells.push(`${modeName} ${formatName} ${best.toFixed(1)}`);
        }
      }
      const floor = memcpy(records, rows);
      if (!Number.isNaN(floor)) cells.push(`memcpy ${floor.toFixed(1)}`);
      console.log(`${records} records × ${rows} batches a call: ${cells.join("  ")}`);
    }
  }
} finally {
  rmSync(work, { recursive: true });
}
