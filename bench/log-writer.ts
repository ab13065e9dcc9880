// What the log costs for a batch beyond storing it: offer, scheduling, settling, answering, on a storage that does nothing.
// One process, no disk. To run it alone:
//
//   npx esbuild bench/log-writer.ts --bundle --platform=node --format=esm --packages=external --outfile=.cache/bench/js/log-writer.js
//   node .cache/bench/js/log-writer.js

import { PartitionWriter } from "../src/log/partition-writer.js";
import { Scheduler } from "../src/log/scheduler.js";
import { AckPolicy } from "../src/model/ack-policy.js";
import { systemTimers } from "../src/model/clock.js";
import { type Offset, offset } from "../src/model/ids.js";
import { AppendStatus } from "../src/native/binding.js";

/** Counts rows and says yes to each. */
class NullTurn {
  rows = 0;
  readonly records: Int32Array;
  constructor(readonly maxRows: number) {
    this.records = new Int32Array(maxRows);
  }
  get full(): boolean {
    return this.rows === this.maxRows;
  }
  add(records: number): number {
    this.records[this.rows] = records;
    return this.rows++;
  }
  run(): void {}
  reset(): void {
    this.rows = 0;
  }
  status(): AppendStatus {
    return AppendStatus.OK;
  }
  errno(): number {
    return 0;
  }
}

class NullLog {
  logStartOffset = offset(0);
  logEndOffset = offset(0);
  durableOffset = offset(0);
  activeBaseOffset = offset(0);
  segmentBytes = 1 << 30;
  poisoned: Error | undefined = undefined;
  needsUpkeep = false;
  storedBytes(bytes: number, records: number): number {
    return bytes + 4 * records;
  }
  room(): number {
    return 1 << 30;
  }
  async makeRoom(): Promise<void> {}
  addTo(turn: NullTurn, _source: Uint8Array, _offset: number, _bytes: number, records: number): number {
    return turn.add(records);
  }
  accept(turn: NullTurn, row: number): Offset {
    const base = this.logEndOffset;
    this.logEndOffset = offset(base + (turn.records[row] as number));
    return base;
  }
  async appendSpanning(): Promise<Offset> {
    return this.logEndOffset;
  }
  async force(): Promise<Offset> {
    this.durableOffset = this.logEndOffset;
    return this.durableOffset;
  }
  async upkeep(): Promise<void> {}
  poison(): void {}
  async close(): Promise<void> {}
}

/** Of this process: what others do to the machine meanwhile shows less in it than in the time that passes. */
function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function measure(
  name: string,
  ack: AckPolicy,
  partitions: number,
  batchesPerTurn: number,
  bytes: number,
): Promise<void> {
  const scheduler = new Scheduler({ turnBytes: 1 << 20, queuedBytesMax: 1 << 28 }, new NullTurn(4096));
  const policy = { visibility: "written", mailboxBytes: 1 << 28 } as const;
  const writers = Array.from(
    { length: partitions },
    () => new PartitionWriter(new NullLog(), scheduler, policy, systemTimers),
  );
  const arena = new Uint8Array(1 << 24);
  let answered = 0;
  const listener = { appended: () => void answered++ };
  const turns = Math.ceil(3_000_000 / batchesPerTurn);
  let best = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < 7; sample++) {
    const began = cpuMicroseconds();
    for (let turn = 0; turn < turns; turn++) {
      let at = 0;
      for (let n = 0; n < batchesPerTurn; n++) {
        const writer = writers[n % partitions] as PartitionWriter<NullLog>;
        writer.offer(arena, at, bytes, 10, ack, -1, listener, n);
        at = (at + bytes) & 0xffff;
      }
      scheduler.run();
      if (ack === AckPolicy.FORCED) await undefined;
    }
    best = Math.min(best, cpuMicroseconds() - began);
  }
  await new Promise((resolve) => setImmediate(resolve));
  if (answered !== 7 * turns * batchesPerTurn) throw new Error(`${answered} answers`);
  const ns = (best * 1e3) / (turns * batchesPerTurn);
  console.log(
    `${name.padEnd(58)} ${ns.toFixed(1).padStart(7)} ns of CPU for each batch (best of 7 × ${turns * batchesPerTurn})`,
  );
}

const region = 10 * (4 + 128);
await measure("WRITTEN, 1 partition, 256 batches a turn", AckPolicy.WRITTEN, 1, 256, region);
await measure("WRITTEN, 16 partitions, 256 batches a turn", AckPolicy.WRITTEN, 16, 256, region);
await measure("WRITTEN, 256 partitions, 256 batches a turn", AckPolicy.WRITTEN, 256, 256, region);
await measure("WRITTEN, 1 partition, 1 batch a turn", AckPolicy.WRITTEN, 1, 1, region);
await measure("FORCED, 1 partition, 256 batches a turn", AckPolicy.FORCED, 1, 256, region);
await measure("FORCED, 1 partition, 1 batch a turn", AckPolicy.FORCED, 1, 1, region);
