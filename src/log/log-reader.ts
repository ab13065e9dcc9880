// Reads records of a partition by offset: plan, read on a reading thread, check, hand out. Knows nothing of who writes.

import { MillraceError } from "../model/errors.js";
import { type Offset, offset } from "../model/ids.js";
import { unreachable } from "../model/invariant.js";
import type { PartitionLog } from "../storage/partition-log.js";
import { ReadOutcome, ReadPlan } from "../storage/read-plan.js";
import { type StoredFormat, storedFormat } from "../storage/stored-format.js";
import { DamagedRecordError, type LogRecord, takeRecords } from "./stored-records.js";

export interface ReadResult {
  readonly records: readonly LogRecord[];
  /** What the records take as stored, in bytes. */
  readonly bytes: number;
  /** Where to read on: behind the last record, or the offset that was asked for when there was none. */
  readonly nextOffset: Offset;
}

interface Piece {
  readonly bytes: Uint8Array;
  readonly path: string;
  readonly position: number;
}

const NOTHING = new Uint8Array(0);

export class LogReader {
  readonly #log: PartitionLog;
  readonly #format: StoredFormat;
  readonly #plan = new ReadPlan();

  constructor(log: PartitionLog) {
    this.#log = log;
    this.#format = storedFormat(log.recordFormat);
  }

  /** Whole records from `from` on below `ceiling`, about `maxBytes` as stored; one at least, if there is any. */
  async read(from: number, maxBytes: number, ceiling: () => Offset): Promise<ReadResult> {
    let wanted = Math.max(maxBytes, this.#format.headerBytes);
    for (;;) {
      const piece = await this.#piece(from, wanted, ceiling);
      if (piece === undefined) {
        // A program that reads again and again at the end must not keep its own appends from being written: those come with
        // the event loop, which a chain of settled promises never gives back.
        await new Promise((resolve) => setImmediate(resolve));
        return { records: [], bytes: 0, nextOffset: offset(from) };
      }
      const taken = takeRecords({ ...piece, offset: offset(from) }, this.#format, this.#log.maxRecordBytes);
      // Only a piece that was cut by its size may end inside a record: any other ends where a record does.
      if (taken.bytes < piece.bytes.length && piece.bytes.length < wanted) {
        const damaged = offset(from + taken.records.length);
        throw new DamagedRecordError(
          damaged,
          piece.path,
          piece.position + taken.bytes,
          "it goes beyond what was written",
        );
      }
      if (taken.records.length > 0) {
        const { records, bytes } = taken;
        return { records, bytes, nextOffset: offset(from + records.length) };
      }
      // The first record is larger than what was asked for.
      wanted = taken.cutBytes;
    }
  }

  /**
   * The stored bytes from `from` on below `ceiling`, at most `maxBytes`, from one segment, unchecked: they may end inside a
   * record. None when there is nothing, or when `takes` says that so many are not wanted.
   */
  async stored(
    from: number,
    maxBytes: number,
    ceiling: () => Offset,
    takes: (bytes: number) => boolean,
  ): Promise<Uint8Array> {
    return (await this.#piece(from, maxBytes, ceiling, takes))?.bytes ?? NOTHING;
  }

  async #piece(
    from: number,
    maxBytes: number,
    ceiling: () => Offset,
    takes: (bytes: number) => boolean = () => true,
  ): Promise<Piece | undefined> {
    const plan = this.#plan;
    for (;;) {
      this.#log.plan(from, maxBytes, ceiling(), plan);
      switch (plan.outcome) {
        case ReadOutcome.DATA: {
          const { file, position } = plan;
          if (file === undefined) throw new MillraceError("STORAGE_FAILURE", "a plan without a file");
          if (!takes(plan.bytes)) return undefined;
          // Handed over before anything else can close the file.
          const into = new Uint8Array(plan.bytes);
          const read = await file.readAsync(into, position);
          if (read < into.length) {
            throw new DamagedRecordError(offset(from), file.path, position, `the file ends at ${position + read}`);
          }
          return { bytes: into, path: file.path, position };
        }
        case ReadOutcome.EMPTY:
          return undefined;
        case ReadOutcome.OUT_OF_RANGE:
          throw new MillraceError(
            "OFFSET_OUT_OF_RANGE",
            `offset ${from} is outside the log, which starts at ${this.#log.logStartOffset} and ends at ${this.#log.logEndOffset}`,
          );
        case ReadOutcome.STORAGE_FAILURE:
          throw new MillraceError("STORAGE_FAILURE", this.#failure(from), { cause: this.#log.poisoned });
        case ReadOutcome.NEEDS_IO:
          await this.#log.load(from);
          break;
        default:
          unreachable(plan.outcome, "every outcome of a plan is handled");
      }
    }
  }

  #failure(from: number): string {
    return this.#log.poisoned === undefined
      ? `offset ${from} cannot be found: records before it are damaged, or the disk cannot be read (see millrace verify)`
      : `a write or a barrier failed; what lies at offset ${from}, not below ${this.#log.durableOffset}, may be gone`;
  }
}
