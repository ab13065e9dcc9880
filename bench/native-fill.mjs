// What fresh pages cost the thread that appends: 2 GiB in batches of 64 KiB into new segments, with a populating window of
// 64 MiB ahead and without, on both paths. Segments are created before the clock starts, as a broker prepares the next one.
//
//   node bench/native-fill.mjs [directory] [path of the addon] [GiB]
//
// Prints the time inside the append calls, the rate that this makes, the 99.9th percentile of a call and the worst one. Time
// in which the loop waits for nothing is left to the populating thread after each 8 MiB, as a loop that also receives would.

import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const directory = process.argv[2] ?? tmpdir();
const native = createRequire(import.meta.url)(resolve(process.argv[3] ?? "build/Release/millrace.node"));
const total = Number(process.argv[4] ?? 2) * 2 ** 30;

const CAPACITY = 128 * 2 ** 20;
const BATCH_RECORDS = 496;
const RECORD_BYTES = 128;
const WINDOW = 64 * 2 ** 20;
const PAUSE_EACH = 8 * 2 ** 20;

const batch = Buffer.alloc(BATCH_RECORDS * (4 + RECORD_BYTES), "a record's bytes ");
for (let i = 0; i < BATCH_RECORDS; i++) batch.writeInt32BE(RECORD_BYTES, i * (4 + RECORD_BYTES));
const table = new Int32Array(8);
const index = new Uint32Array(3 * 64);
const sources = [batch];

async function fill(mode, format, window) {
  const times = [];
  let written = 0;
  for (let number = 0; written < total; number++) {
    const path = join(work, `${number}.log`);
    const writer = await native.createSegmentWriter({
      path,
      mode,
      format,
      capacity: CAPACITY,
      indexIntervalBytes: 4096,
      reserve: CAPACITY,
    });
    if (window > 0) writer.populate(window);
    await new Promise((done) => setTimeout(done, window > 0 ? 50 : 0));
    let pause = PAUSE_EACH;
    for (;;) {
      table.set([writer.id, 0, 0, batch.length, BATCH_RECORDS]);
      const from = process.hrtime.bigint();
      native.append(table, 1, sources, index);
      const elapsed = Number(process.hrtime.bigint() - from);
      if (table[5] !== 0) break;
      times.push(elapsed);
      if (window > 0) writer.populate(writer.end + window);
      if (writer.end < pause) continue;
      pause += PAUSE_EACH;
      await new Promise((done) => setTimeout(done, 1));
    }
    written += writer.end;
    await writer.close();
    writer.file.close();
    await native.unlinkFile(path);
  }
  times.sort((a, b) => a - b);
  const seconds = times.reduce((sum, time) => sum + time, 0) / 1e9;
  const at = (share) => (times[Math.floor((times.length - 1) * share)] / 1000).toFixed(0);
  return `${seconds.toFixed(2)} s, ${(written / seconds / 1e9).toFixed(1)} GB/s, median ${at(0.5)} p99.9 ${at(0.999)} worst ${at(1)} us`;
}

const work = mkdtempSync(join(directory, "millrace-native-fill-"));
try {
  for (const [name, mode, format, window] of [
    ["MAPPED plain, populated ahead", 1, 0, WINDOW],
    ["MAPPED crc32c, populated ahead", 1, 1, WINDOW],
    ["MAPPED crc32c, no window", 1, 1, 0],
    ["FILE_CHANNEL crc32c", 0, 1, 0],
  ]) {
    console.log(`${name}: ${await fill(mode, format, window)}`);
  }
} finally {
  rmSync(work, { recursive: true });
}
