// The embedded log as a program uses it: records of 128 bytes, appended one after the other and many at once, written and
// forced, and read back. Real files in the directory given, or in the system's for temporary ones. To run it alone:
//
//   npx esbuild bench/log-embedded.ts --bundle --platform=node --format=esm --packages=external --outfile=.cache/bench/js/log-embedded.js
//   node .cache/bench/js/log-embedded.js [DIR]

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Log, type LogAppendOptions, openLog } from "../src/index.js";
import { native } from "../src/native/binding.js";

const base = await mkdtemp(join(process.argv[2] ?? tmpdir(), "millrace-bench-"));
const record = new Uint8Array(128).fill(7);

function print(what: string, count: number, ms: number, more = ""): void {
  const each = (ms * 1000) / count;
  console.log(
    `${what.padEnd(52)} ${Math.round(count / (ms / 1000))
      .toLocaleString("en")
      .padStart(11)}/s ${each.toFixed(2).padStart(8)} µs each ${more}`,
  );
}

/** `at` appends at a time, each of `batch` records. */
async function append(
  log: Log,
  what: string,
  at: number,
  batch: number,
  count: number,
  options: LogAppendOptions,
): Promise<void> {
  const records = new Array<Uint8Array>(batch).fill(record);
  const barriers = native.barrierCount();
  let left = count;
  const producer = async (): Promise<void> => {
    while (left-- > 0) await log.appendBatch(records, options);
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: at }, producer));
  const ms = performance.now() - began;
  const made = native.barrierCount() - barriers;
  print(`${what}, ${at} at a time, ${batch} × 128 bytes`, count, ms, made > 0 ? `${made} barriers` : "");
}

const began = performance.now();
const log = await openLog(join(base, "log"));
print("open a new log", 1, performance.now() - began);
const written = { ack: "written" } as const;
const forced = { ack: "forced" } as const;
await append(log, "written", 1, 1, 50_000, written);
await append(log, "written", 1, 1, 200_000, written);
await append(log, "written", 1000, 1, 1_000_000, written);
await append(log, "written", 100, 100, 50_000, written);
await append(log, "forced", 1, 1, 2_000, forced);
await append(log, "forced", 8, 1, 10_000, forced);
await append(log, "forced", 64, 1, 50_000, forced);
await append(log, "forced", 200, 1, 100_000, forced);

const closing = performance.now();
const records = log.logEndOffset as number;
await log.close();
print("close", 1, performance.now() - closing);
const opening = performance.now();
const again = await openLog(join(base, "log"));
print(`open it again, ${records.toLocaleString("en")} records`, 1, performance.now() - opening);
const reading = performance.now();
for (let next = 0; next < records; ) next = (await again.read(next)).nextOffset;
print("read, 1 MiB at a time, sums checked", records, performance.now() - reading);
const replaying = performance.now();
let replayed = 0;
for await (const { payload } of again.replay()) replayed += payload.length;
print("replay, record by record", replayed / 128, performance.now() - replaying);
await again.close();
await rm(base, { recursive: true });
