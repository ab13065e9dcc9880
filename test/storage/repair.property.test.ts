// Random damage anywhere in a partition's files, and then the repair: whatever it gives up lies in .torn files, byte by byte, and
// what it keeps are whole records from the start on. The start after it opens the partition and throws nothing away either.
//
// MILLRACE_SEED=N replays a run; MILLRACE_RUNS=N makes more of them.

import { existsSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RecordFormat } from "../../src/model/record-format.js";
import { CheckpointFile } from "../../src/storage/checkpoint-file.js";
import { type RepairStep, repairPartition } from "../../src/storage/repair.js";
import { classifyFile, indexName } from "../../src/storage/segment-name.js";
import { printedSeed, randomFrom } from "../support/seed.js";
import { tempDir } from "../support/tmp.js";
import { bytesOf, crashCopy, crashCopyWithTimes, files, logPath, overwrite, sizeOf } from "./support/crash.js";
import { MovedClock } from "./support/deps.js";
import { COMBINATIONS, open, type TestOptions } from "./support/opened.js";
import { headerBytes, payload } from "./support/records.js";

const seed = printedSeed("repair property");
const RUNS = Number(process.env.MILLRACE_RUNS ?? 15);
const SEGMENT_BYTES = 6_000;

type Random = () => number;
const below = (random: Random, limit: number): number => Math.floor(random() * limit);

/** A partition with three segments or more, some of it forced. Left by a kill or a stop. */
async function written(options: TestOptions, random: Random): Promise<string> {
  const dir = tempDir();
  const opened = await open(dir, { segmentBytes: SEGMENT_BYTES, indexIntervalBytes: 500, ...options });
  const count = 60 + below(random, 60);
  // Mostly in the last segment, so that records lie below and above the checkpoint in one file.
  const forced = random() < 0.7 ? count - 1 - below(random, 20) : below(random, count);
  for (let number = 0; number < count; number++) {
    await opened.append(payload(number + 3, 1 + below(random, 300)));
    if (number !== forced) continue;
    await opened.log.force();
    await opened.log.settled();
    opened.clock.ms += 5000;
    await opened.log.upkeep();
  }
  await opened.log.settled();
  if (random() < 0.5) {
    const killed = crashCopy(dir);
    await opened.close();
    return killed;
  }
  await opened.close();
  return crashCopyWithTimes(dir);
}

const bases = (dir: string): number[] =>
  files(dir, ".log").flatMap((name) => {
    const file = classifyFile(name);
    return file.kind === "log" ? [file.baseOffset] : [];
  });

/** One thing that a disk, a person or a program did. Returns what, for a failure's message. */
async function damage(dir: string, format: RecordFormat, random: Random): Promise<string> {
  const all = bases(dir);
  const base = all[below(random, all.length)];
  const path = logPath(dir, base);
  const size = sizeOf(path);
  const at = below(random, size);
  switch (below(random, 11)) {
    case 0:
      overwrite(
        path,
        at,
        Uint8Array.from({ length: 1 + below(random, 8) }, () => below(random, 256)),
      );
      return `bytes at ${at} of ${base}`;
    case 1:
      overwrite(path, at, new Uint8Array(Math.min(size - at, 1 + below(random, 2000))));
      return `zeros at ${at} of ${base}`;
    case 2: {
      const starts = recordStarts(bytesOf(path), format);
      const start = starts[below(random, starts.length)] ?? 0;
      const length = Buffer.alloc(4);
      length.writeInt32BE([0, -7, 0x4000_0000, 1 + below(random, 1000)][below(random, 4)]);
      if (size >= start + 4) overwrite(path, start, length);
      return `a length at ${start} of ${base}`;
    }
    case 3:
      truncateSync(path, at);
      return `${base} cut at ${at}`;
    case 4:
      rmSync(path);
      return `${base} removed`;
    case 5:
      rmSync(join(dir, indexName(base)), { force: true });
      return `the index of ${base} removed`;
    case 6: {
      const checkpoint = join(dir, "checkpoint");
      if (random() < 0.5) rmSync(checkpoint, { force: true });
      else if (existsSync(checkpoint)) writeFileSync(checkpoint, new Uint8Array(8192).fill(1));
      return "the checkpoint";
    }
    case 7: {
      const durableOffset = base + below(random, 40);
      const foreign = { durableOffset, segmentBase: base, position: below(random, 7000), logStartOffset: 0 };
      await CheckpointFile.fresh(dir).write({ ...foreign, bootId: "", epochs: [] });
      return `a checkpoint of another partition ${JSON.stringify(foreign)}`;
    }
    case 8: {
      // A length below the checkpoint's place: what lies above it must not go with it.
      const last = logPath(dir, all[all.length - 1]);
      const starts = recordStarts(bytesOf(last), format);
      if (starts.length > 0) overwrite(last, starts[below(random, Math.min(starts.length, 5))], new Uint8Array([0x40]));
      return "a length in front of the last segment";
    }
    case 9: {
      const last = logPath(dir, all[all.length - 1]);
      overwrite(last, recordsEnd(bytesOf(last), format) + below(random, 12), new Uint8Array([255, 3, 7]));
      const start = recordStarts(bytesOf(last), format).at(0);
      if (start !== undefined && random() < 0.7) overwrite(last, start + headerBytes(format), new Uint8Array([99]));
      return "bytes behind the records, and a payload";
    }
    default:
      if (size >= at + 1) overwrite(path, at, new Uint8Array([below(random, 256)]));
      return `a byte at ${at} of ${base}`;
  }
}

function recordStarts(bytes: Buffer, format: RecordFormat): number[] {
  const starts: number[] = [];
  for (let at = 0; at + headerBytes(format) <= bytes.length; ) {
    const length = bytes.readInt32BE(at);
    if (length <= 0 || at + headerBytes(format) + length > bytes.length) break;
    starts.push(at);
    at += headerBytes(format) + length;
  }
  return starts;
}

/** Where the whole records of a file end. */
function recordsEnd(bytes: Buffer, format: RecordFormat): number {
  const last = recordStarts(bytes, format).at(-1);
  return last === undefined ? 0 : last + headerBytes(format) + bytes.readInt32BE(last);
}

const trimmed = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);

/** Each segment put together from its .log and its .torn files, without the zeros at its end. */
function together(dir: string): Map<number, Buffer> {
  const pieces = new Map<number, { at: number; bytes: Buffer }[]>();
  for (const name of files(dir)) {
    const match = /^(\d{20})\.log(?:\.(\d+)(?:\.\d+)?\.torn)?$/.exec(name);
    if (match === null) continue;
    const base = Number(match[1]);
    const list = pieces.get(base) ?? [];
    list.push({ at: Number(match[2] ?? 0), bytes: bytesOf(join(dir, name)) });
    pieces.set(base, list);
  }
  const whole = new Map<number, Buffer>();
  for (const [base, list] of pieces) {
    const bytes = Buffer.alloc(Math.max(...list.map((piece) => piece.at + piece.bytes.length)));
    // In the order of their places: a file that was extended again has zeros where the next piece begins.
    for (const piece of list.sort((a, b) => a.at - b.at)) piece.bytes.copy(bytes, piece.at);
    if (trimmed(bytes).length > 0) whole.set(base, trimmed(bytes));
  }
  return whole;
}

describe.each(COMBINATIONS)("%s %s", (mode, format) => {
  it("a repair throws no byte away, keeps whole records, and the partition opens", async () => {
    let repaired = 0;
    for (let run = 0; run < RUNS; run++) {
      const random = randomFrom(seed + run * 7919);
      const dir = await written({ mode, format }, random);
      const done: string[] = [];
      for (let more = 1 + below(random, 2); more > 0 && bases(dir).length > 0; more--) {
        done.push(await damage(dir, format, random));
      }
      const name = `run ${run}: ${done.join(", ")}`;
      const before = together(dir);
      const sizes = new Map(bases(dir).map((base) => [base, sizeOf(logPath(dir, base))]));
      const steps: RepairStep[] = [];
      for await (const step of repairPartition(dir, new MovedClock())) steps.push(step);
      const context = `${name}\n${JSON.stringify(steps, undefined, 1)}`;
      expect(together(dir), context).toEqual(before);
      for (const base of bases(dir)) {
        const bytes = bytesOf(logPath(dir, base));
        if (bytes.length !== sizes.get(base)) expect(recordsEnd(bytes, format), context).toBe(bytes.length);
      }
      repaired += steps.some(({ kind }) => kind === "repaired") ? 1 : 0;
      if (steps.some(({ kind }) => kind === "unrepaired")) continue;
      const again = await open(dir, { mode, segmentBytes: SEGMENT_BYTES }).catch((cause: unknown) => {
        throw new Error(context, { cause });
      });
      await again.close();
      // The start may cut what was not forced: into .torn files, too.
      expect(together(dir), context).toEqual(before);
    }
    expect(repaired).toBeGreaterThan(RUNS / 10);
  }, 60_000);
});
