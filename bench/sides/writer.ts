// Appends batches through a partition's writer, as the broker does after a turn: a turn's batches are offered, the scheduler runs, the
// next turn begins when all of them are answered. Rolling, index and pages ahead are the partition's, as they are in a broker.

import type { AppendListener } from "../../src/log/append-listener.js";
import { PartitionWriter } from "../../src/log/partition-writer.js";
import { Scheduler } from "../../src/log/scheduler.js";
import { AckPolicy, ackPolicyOf } from "../../src/model/ack-policy.js";
import { systemClock, systemTimers } from "../../src/model/clock.js";
import { type ErrorCode, ErrorCodes } from "../../src/model/error-codes.js";
import { APPEND_TURN_BYTES, APPEND_TURN_ROWS } from "../../src/model/limits.js";
import type { RecordFormat } from "../../src/model/record-format.js";
import { AppendTurn } from "../../src/storage/append-turn.js";
import { FileSystemSpace } from "../../src/storage/disk-space.js";
import { FilePool } from "../../src/storage/file-pool.js";
import { IndexCache } from "../../src/storage/index-cache.js";
import type { SegmentMode } from "../../src/storage/options.js";
import { PartitionLog } from "../../src/storage/partition-log.js";
import { PopulateBudget } from "../../src/storage/populate-window.js";
import { makeRegion, printResult, SLICE_BYTES, sideFlags, storedBytesOf } from "../lib/side.js";

const MiB = 1 << 20;

const flags = sideFlags("dir", "mode", "format", "records", "size", "bytes", "batches", "ack");
const ack = ackPolicyOf(flags.ack) ?? AckPolicy.WRITTEN;
const [records, size, bytes, batches] = [flags.records, flags.size, flags.bytes, flags.batches].map(Number);

const scheduler = new Scheduler(
  { turnBytes: APPEND_TURN_BYTES, queuedBytesMax: 256 * MiB },
  new AppendTurn(APPEND_TURN_ROWS, systemClock),
);
const log = await PartitionLog.open(
  flags.dir,
  {
    mode: flags.mode as SegmentMode,
    segmentBytes: 128 * MiB,
    recordFormat: flags.format as RecordFormat,
    indexIntervalBytes: 4096,
  },
  {
    clock: systemClock,
    indexCache: new IndexCache(64 * MiB),
    files: new FilePool(64),
    space: await FileSystemSpace.open(flags.dir, 0, systemClock),
    populate: new PopulateBudget(256 * MiB),
    log: () => undefined,
  },
);
const policy = { visibility: "written", mailboxBytes: 256 * MiB } as const;
const writer = new PartitionWriter(log, scheduler, policy, systemTimers);

/** Counts answers and tells who waits for the last of a turn. */
class Answers implements AppendListener {
  open = 0;
  #last: () => void = () => undefined;

  appended(_token: number, error: ErrorCode): void {
    if (error !== ErrorCodes.NONE) throw new Error(`a batch was refused with ${error}`);
    if (--this.open === 0) this.#last();
  }
  all(): Promise<void> {
    return new Promise((resolve) => {
      this.#last = resolve;
    });
  }
}

// A turn's batches lie side by side in one arena, as frames do.
const region = makeRegion(records, size);
const arena = new Uint8Array(region.length * batches);
for (let batch = 0; batch < batches; batch++) arena.set(region, batch * region.length);
const answers = new Answers();
const stored = storedBytesOf(records, size, flags.format) * batches;

/** Turns until so many bytes are stored. Returns the slowest stretch of 64 KiB, in milliseconds. */
async function fill(total: number): Promise<{ done: number; turns: number; worst: number }> {
  let [done, turns, worst] = [0, 0, 0];
  let sliceBegan = performance.now();
  let sliceEnds = SLICE_BYTES;
  while (done + stored <= total) {
    answers.open = batches;
    for (let batch = 0; batch < batches; batch++) {
      writer.offer(arena, batch * region.length, region.length, records, ack, -1, answers, batch);
    }
    scheduler.run();
    if (answers.open > 0) await answers.all();
    // A broker comes back to its event loop after each turn; so do rolls and what workers have done.
    if (turns % 16 === 15) await new Promise((resolve) => setImmediate(resolve));
    done += stored;
    turns++;
    if (done < sliceEnds) continue;
    const now = performance.now();
    worst = Math.max(worst, now - sliceBegan);
    sliceBegan = now;
    sliceEnds = done + SLICE_BYTES;
  }
  return { done, turns, worst };
}

await fill(Math.min(32 * MiB, bytes / 4));
const end = writer.logEndOffset as number;
const began = performance.now();
const { done, turns, worst } = await fill(bytes);
const seconds = (performance.now() - began) / 1000;
if (writer.logEndOffset - end !== turns * batches * records) throw new Error("the log does not end where it must");
printResult({ batches: turns * batches, storedBytes: done, seconds, worstSliceUs: worst * 1000 });
await writer.close();
