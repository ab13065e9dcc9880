// What the native append costs for each record, without sockets and without TypeScript around it: batches of 1, 10 and 100
// records of 128 bytes, one batch in a call and 64, both paths, both formats. Pages are populated before the clock starts;
// what fresh ones cost is a question of its own (native-fill.mjs).
//
//   node bench/native-append.mjs [directory] [path of the addon]
//
// Nanoseconds for a record: the best of some hundred stretches of 20 000 records, and in brackets the median. The best is what
// the code costs; the median has the rest of the machine in it. "memcpy" copies whole batches by Buffer.copy: the floor.

import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const directory = process.argv[2] ?? tmpdir();
const native = createRequire(import.meta.url)(resolve(process.argv[3] ?? "build/Release/millrace.node"));

const RECORD_BYTES = 128;
const CAPACITY = 64 * 1024 * 1024;
const STRETCH_RECORDS = 20_000;
const SEGMENTS = 8;
const COLUMNS = 8;

function region(records) {
  const bytes = Buffer.alloc(records * (4 + RECORD_BYTES), "a record's bytes ");
  for (let i = 0; i < records; i++) bytes.writeInt32BE(RECORD_BYTES, i * (4 + RECORD_BYTES));
  return bytes;
}

/** Nanoseconds for a record of each stretch in which `once` writes `records` of them. */
function stretches(records, times, once) {
  const calls = Math.max(1, Math.floor(STRETCH_RECORDS / records));
  const found = [];
  for (let stretch = 0; stretch < times; stretch++) {
    const from = process.hrtime.bigint();
    for (let call = 0; call < calls; call++) once();
    found.push(Number(process.hrtime.bigint() - from) / (calls * records));
  }
  return found;
}

function summary(found) {
  found.sort((a, b) => a - b);
  return `${found[0].toFixed(1)} (${found[found.length >> 1].toFixed(1)})`;
}

async function append(mode, format, records, rows) {
  const batch = region(records);
  const arena = Buffer.concat(Array.from({ length: rows }, () => batch));
  const sources = [arena];
  const table = new Int32Array(rows * COLUMNS);
  const index = new Uint32Array(3 * 4096);
  const stored = rows * (batch.length + (format === 1 ? 4 * records : 0));
  const found = [];
  for (let segment = 0; segment < SEGMENTS; segment++) {
    const path = join(work, "segment.log");
    const options = { path, mode, format, capacity: CAPACITY, indexIntervalBytes: 4096, reserve: CAPACITY };
    const writer = await native.createSegmentWriter(options);
    writer.populate(CAPACITY);
    await new Promise((done) => setTimeout(done, 100));
    for (let row = 0; row < rows; row++) {
      table.set([writer.id, 0, row * batch.length, batch.length, records], row * COLUMNS);
    }
    const bytesOfStretch = Math.max(1, Math.floor(STRETCH_RECORDS / (records * rows))) * stored;
    const times = Math.floor(CAPACITY / bytesOfStretch);
    found.push(...stretches(records * rows, times, () => native.append(table, rows, sources, index)));
    if (writer.end !== times * bytesOfStretch) throw new Error(`wrote ${writer.end} of ${times * bytesOfStretch}`);
    await writer.close();
    writer.file.close();
    await native.unlinkFile(path);
  }
  return summary(found);
}

function memcpy(records) {
  const batch = region(records);
  const target = Buffer.alloc(CAPACITY, 1);
  let at = 0;
  const found = stretches(records, 200, () => {
    if (at + batch.length > CAPACITY) at = 0;
    batch.copy(target, at);
    at += batch.length;
  });
  return summary(found);
}

const work = mkdtempSync(join(directory, "millrace-native-append-"));
try {
  console.log(`crc32c ${native.crc32cKind}, records of ${RECORD_BYTES} bytes, ns for a record: best (median)`);
  for (const rows of [1, 64]) {
    for (const records of [1, 10, 100]) {
      const cells = [];
      for (const [path, mode] of [
        ["MAPPED", 1],
        ["FILE_CHANNEL", 0],
      ]) {
        for (const [name, format] of [
          ["plain", 0],
          ["crc32c", 1],
        ]) {
          cells.push(`${path} ${name} ${await append(mode, format, records, rows)}`);
        }
      }
      if (rows === 1) cells.push(`memcpy ${memcpy(records)}`);
      console.log(`${records} records × ${rows} batches a call: ${cells.join("  ")}`);
    }
  }
} finally {
  rmSync(work, { recursive: true });
}
