// Records of a partition for a person: a bounded piece of the log, by the plan and the reading threads that fetches use, so
// that the event loop never waits for a disk. What is damaged is told and not thrown, because that is what somebody may have
// come to see.

import type { Partition } from "../../broker/topic.js";
import { DamagedRecordError, type StoredPiece, type TakenRecords, takeRecords } from "../../log/stored-records.js";
import { MillraceError } from "../../model/errors.js";
import { offset as offsetOf } from "../../model/ids.js";
import { unreachable } from "../../model/invariant.js";
import { API_READS_AT_ONCE, FETCH_LOADS_MAX } from "../../model/limits.js";
import { ReadOutcome, ReadPlan } from "../../storage/read-plan.js";
import { type StoredFormat, storedFormat } from "../../storage/stored-format.js";
import { ApiFailure } from "./failure.js";
import type { RecordView } from "./types.js";

export interface ReadBounds {
  readonly records: number;
  /** As stored. */
  readonly bytes: number;
  /** Of each payload. */
  readonly payloadBytes: number;
}

export interface RecordsRead {
  readonly records: readonly RecordView[];
  readonly nextOffset: number;
  readonly damaged: string | null;
}

export class RecordsReader {
  private reading = 0;
  private readonly queue: (() => void)[] = [];

  /** From `from` on, at least one record if there is any, however large: of that one only the beginning then. */
  async read(partition: Partition, from: number, bounds: ReadBounds): Promise<RecordsRead> {
    while (this.reading >= API_READS_AT_ONCE) await new Promise<void>((resolve) => this.queue.push(resolve));
    this.reading++;
    try {
      return await readNow(partition, from, bounds);
    } finally {
      this.reading--;
      this.queue.shift()?.();
    }
  }
}

async function readNow(partition: Partition, from: number, bounds: ReadBounds): Promise<RecordsRead> {
  const { log } = partition;
  if (log === undefined) throw refusalOf(partition);
  const format = storedFormat(log.recordFormat);
  const piece = await readPiece(partition, from, Math.max(bounds.bytes, format.headerBytes + 1));
  if (piece === undefined) return { records: [], nextOffset: from, damaged: null };
  const { taken, damaged } = take(piece, format, log.maxRecordBytes, bounds.records);
  const { payloadBytes } = bounds;
  const checked = format.name === "crc32c";
  const records = taken.records.map(({ offset, payload }) =>
    view(offset, payload, payload.length, payloadBytes, checked),
  );
  if (records.length === 0 && damaged === null && taken.cutBytes > 0) {
    const there = piece.bytes.subarray(format.headerBytes);
    records.push(view(from, there, taken.cutBytes - format.headerBytes, payloadBytes, false));
  }
  return { records, nextOffset: from + records.length, damaged };
}

function view(offset: number, there: Uint8Array, bytes: number, payloadBytes: number, checked: boolean): RecordView {
  const shown = Math.min(there.length, payloadBytes);
  const payload = Buffer.from(there.buffer, there.byteOffset, shown).toString("base64");
  return { offset, bytes, payload, cut: shown < bytes, checked };
}

/** What is whole before a damage, and what is known of that. */
function take(piece: StoredPiece, format: StoredFormat, recordMax: number, countMax: number) {
  const all = (part: StoredPiece): TakenRecords => takeRecords(part, format, recordMax, countMax);
  try {
    return { taken: all(piece), damaged: null };
  } catch (error) {
    if (!(error instanceof DamagedRecordError)) throw error;
    const whole = { ...piece, bytes: piece.bytes.subarray(0, error.position - piece.position) };
    return { taken: all(whole), damaged: error.message };
  }
}

async function readPiece(partition: Partition, from: number, maxBytes: number): Promise<StoredPiece | undefined> {
  const { log, writer } = partition;
  if (log === undefined || writer === undefined) throw refusalOf(partition);
  const plan = new ReadPlan();
  for (let loads = 0; ; loads++) {
    log.plan(from, maxBytes, writer.highWatermark, plan);
    switch (plan.outcome) {
      case ReadOutcome.DATA: {
        const { file, position } = plan;
        if (file === undefined) throw new MillraceError("STORAGE_FAILURE", "a plan without a file");
        const bytes = new Uint8Array(plan.bytes);
        const read = await file.readAsync(bytes, position);
        return { bytes: bytes.subarray(0, read), offset: offsetOf(from), path: file.path, position };
      }
      case ReadOutcome.EMPTY:
        return undefined;
      case ReadOutcome.OUT_OF_RANGE:
        throw new MillraceError(
          "OFFSET_OUT_OF_RANGE",
          `offset ${from} is outside the log of ${partition.name}, which starts at ${log.logStartOffset} and ends at ${log.logEndOffset}`,
        );
      case ReadOutcome.STORAGE_FAILURE:
        throw new MillraceError(
          "STORAGE_FAILURE",
          log.poisoned?.message ?? `offset ${from} of ${partition.name} cannot be found: see millrace verify`,
        );
      case ReadOutcome.NEEDS_IO:
        // Others push out of the caches what it brings in; they are busier than a person is.
        if (loads === FETCH_LOADS_MAX) throw new ApiFailure("OVERLOADED", "the index cache is too busy; ask again");
        await log.load(from);
        break;
      default:
        unreachable(plan.outcome, "every outcome of a plan is handled");
    }
  }
}

export const refusalOf = ({ name, refusal }: Partition): MillraceError =>
  new MillraceError("STORAGE_FAILURE", `${name} refused to open: ${refusal?.message ?? "it is being opened"}`);
