// A partition on a real disk with a writer of a few lines: what the tests of storage go through. The partition's real writer
// is log/'s, and has its own tests.

import { type Offset, offset as offsetOf } from "../../../src/model/ids.js";
import type { RecordFormat } from "../../../src/model/record-format.js";
import { AppendStatus } from "../../../src/native/binding.js";
import { AppendTurn } from "../../../src/storage/append-turn.js";
import type { StorageEvent } from "../../../src/storage/events.js";
import { FilePool } from "../../../src/storage/file-pool.js";
import { IndexCache } from "../../../src/storage/index-cache.js";
import type { PartitionOptions, SegmentMode, StorageDeps } from "../../../src/storage/options.js";
import { PartitionLog } from "../../../src/storage/partition-log.js";
import { PopulateBudget } from "../../../src/storage/populate-window.js";
import { ReadOutcome, ReadPlan } from "../../../src/storage/read-plan.js";
import { AnyAmountOfSpace, MovedClock } from "./deps.js";
import { recordsIn, region } from "./records.js";

export const MODES: readonly SegmentMode[] = ["FILE_CHANNEL", "MAPPED"];
export const FORMATS: readonly RecordFormat[] = ["plain", "crc32c"];
/** Both paths, both formats. */
export const COMBINATIONS = MODES.flatMap((mode) => FORMATS.map((format) => [mode, format] as const));

export interface TestOptions extends Partial<Omit<PartitionOptions, "mode" | "recordFormat">> {
  readonly mode?: SegmentMode;
  readonly format?: RecordFormat | undefined;
  readonly deps?: Partial<StorageDeps>;
  readonly clock?: MovedClock;
}

export class Opened {
  readonly turn: AppendTurn;

  constructor(
    readonly log: PartitionLog,
    readonly clock: MovedClock,
    readonly events: StorageEvent[],
  ) {
    this.turn = new AppendTurn(256, clock);
  }

  /** Appends one batch. Resolves to its base offset; rejects as a producer would be refused. */
  async append(...payloads: readonly Uint8Array[]): Promise<Offset> {
    const source = region(payloads);
    return this.appendRegion(source, payloads.length);
  }

  async appendRegion(source: Uint8Array, records: number): Promise<Offset> {
    const { log, turn } = this;
    const stored = log.storedBytes(source.length, records);
    if (stored > log.segmentBytes) return log.appendSpanning(source, 0, source.length, records);
    if (stored > log.room()) await log.makeRoom(stored);
    turn.reset();
    const row = log.addTo(turn, source, 0, source.length, records);
    turn.run();
    const base = log.accept(turn, row);
    const status = turn.status(row);
    if (status !== AppendStatus.OK) throw new Error(`append status ${status}, errno ${turn.errno(row)}`);
    if (log.needsUpkeep) await log.upkeep();
    return base;
  }

  /** Plans until nothing is missing in memory. */
  async plan(offset: number, maxBytes = 1 << 30, ceiling: number = this.log.logEndOffset): Promise<ReadPlan> {
    const plan = new ReadPlan();
    for (let tries = 0; tries < 10; tries++) {
      this.log.plan(offset, maxBytes, ceiling, plan);
      if (plan.outcome !== ReadOutcome.NEEDS_IO) return plan;
      await this.log.load(offset);
    }
    throw new Error("ten loads were not enough");
  }

  /** The stored bytes from an offset on, of one segment. */
  async readBytes(offset: number, maxBytes?: number, ceiling?: number): Promise<Uint8Array> {
    const plan = await this.plan(offset, maxBytes, ceiling);
    if (plan.outcome === ReadOutcome.EMPTY) return new Uint8Array(0);
    if (plan.outcome !== ReadOutcome.DATA) throw new Error(`outcome ${plan.outcome}`);
    const bytes = new Uint8Array(plan.bytes);
    const read = await plan.file!.readAsync(bytes, plan.position);
    if (read !== plan.bytes) throw new Error(`${read} of ${plan.bytes} bytes`);
    return bytes;
  }

  /** The payload of one record, or null when there is none (yet). */
  async read(offset: number): Promise<Uint8Array | null> {
    const plan = await this.plan(offset);
    if (plan.outcome !== ReadOutcome.DATA) return null;
    return recordsIn(await this.readBytes(offset), this.log.recordFormat, 1)[0];
  }

  async positionOf(offset: number): Promise<number | null> {
    const plan = await this.plan(offset);
    return plan.outcome === ReadOutcome.DATA ? plan.position : null;
  }

  /** All payloads of the log, through every segment. */
  async readAll(from: number = this.log.logStartOffset): Promise<Uint8Array[]> {
    const all: Uint8Array[] = [];
    for (let offset = from; offset < this.log.logEndOffset; ) {
      const some = recordsIn(await this.readBytes(offset), this.log.recordFormat);
      all.push(...some);
      offset = offsetOf(offset + some.length);
    }
    return all;
  }

  close(): Promise<void> {
    return this.log.close();
  }
}

/** Opens (or makes) the partition in `dir`. */
export async function open(dir: string, options: TestOptions = {}): Promise<Opened> {
  const { mode = "MAPPED", format, deps, clock = new MovedClock(), ...rest } = options;
  const events: StorageEvent[] = [];
  const log = await PartitionLog.open(
    dir,
    { mode, recordFormat: format, segmentBytes: 1024 * 1024, indexIntervalBytes: 4096, ...rest },
    {
      clock,
      indexCache: new IndexCache(1 << 20),
      files: new FilePool(16),
      space: new AnyAmountOfSpace(),
      populate: new PopulateBudget(1 << 26),
      log: (event) => events.push(event),
      ...deps,
    },
  );
  return new Opened(log, clock, events);
}
