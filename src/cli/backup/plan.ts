// What of a partition a backup takes: which segments, and of each how much. A partition that a broker writes is taken up to the
// durable offset that the broker says; one that nobody has open, up to where a start would find its end. It copies nothing.

import type { RecordFormat } from "../../model/record-format.js";
import { native } from "../../native/binding.js";
import type { PartitionMetadata } from "../../protocol/metadata.js";
import { CheckpointFile } from "../../storage/checkpoint-file.js";
import { currentEpoch, type EpochEntry } from "../../storage/epochs.js";
import { type FoundSegment, findFiles } from "../../storage/partition-files.js";
import { readMeta } from "../../storage/partition-meta.js";
import { withoutRetired } from "../../storage/recovery-leftovers.js";
import { planRecovery } from "../../storage/recovery-plan.js";
import { type StoredFormat, storedFormat } from "../../storage/stored-format.js";
import { Failed } from "../failure.js";

export interface TakenSegment {
  readonly path: string;
  readonly baseOffset: number;
  readonly endOffset: number;
  /** What is taken of the file, from its beginning. */
  readonly bytes: number;
  /** It is sealed, all of it is taken, and so is its index. */
  readonly isWhole: boolean;
  /** Nobody will ever write to the file again, neither where it is nor where the backup is started. */
  readonly isFinal: boolean;
}

export interface PartitionPlan {
  readonly dir: string;
  readonly format: StoredFormat;
  /** In offset order. */
  readonly segments: readonly TakenSegment[];
  readonly endOffset: number;
  readonly epochs: readonly EpochEntry[];
  /** What the broker had written behind the end and not forced yet: it is not taken. */
  readonly leftOutRecords: number;
}

/** Files went away while they were looked at: retention. Another look sees how it is now. */
export class Moved extends Error {}

/** Of a partition that the broker has open. `ask` gets what the broker says of it now. */
export async function planServed(dir: string, ask: () => Promise<PartitionMetadata>): Promise<PartitionPlan> {
  const format = await formatOf(dir);
  // Looked at before the broker is asked: all of it must be part of what the broker then says.
  const checkpoint = (await CheckpointFile.open(dir)).last;
  const { segments: before } = await findFiles(dir);
  const said = await ask();
  const epochs = checkpoint?.epochs ?? [];
  const sees =
    (checkpoint?.durableOffset ?? 0) <= said.durableOffset &&
    currentEpoch(epochs) <= said.epoch &&
    (before.at(-1)?.baseOffset ?? 0) <= said.logEndOffset;
  if (!sees) throw otherBroker(dir);
  // And listed after that: whatever was durable lies in files that were there by then.
  const { segments: found } = await findFiles(dir);
  const end = said.durableOffset;
  const leftOutRecords = Math.max(0, said.logEndOffset - end);
  const kept = found.filter(({ baseOffset }) => baseOffset >= said.logStartOffset && baseOffset <= end);
  if (kept.length === 0) throw new Moved();
  const segments: Omit<TakenSegment, "isFinal">[] = [];
  for (const [at, segment] of kept.entries()) {
    segments.push(await taken(segment, kept.at(at + 1)?.baseOffset ?? end, format, dir));
  }
  const known =
    currentEpoch(epochs) === said.epoch
      ? epochs
      : [...epochs.filter(({ start }) => start < end), { epoch: said.epoch, start: end }];
  return { dir, format, segments: withFinal(segments), endOffset: end, epochs: known, leftOutRecords };
}

/** Of a partition that nobody has open; the caller holds its lock. Undefined: it was never written. */
export async function planUnserved(dir: string): Promise<PartitionPlan | undefined> {
  const format = await formatOf(dir);
  const checkpoint = (await CheckpointFile.open(dir)).last;
  const { segments: found } = await findFiles(dir);
  if (found.length === 0) return undefined;
  const { kept } = withoutRetired(dir, found, checkpoint);
  const plan = await planRecovery(kept, checkpoint, format, {
    mode: "MAPPED",
    indexIntervalBytes: INDEX_INTERVAL_BYTES,
  });
  const segments = plan.segments.map(({ found: { path, baseOffset, index, bytes }, endOffset, end }) => ({
    path,
    baseOffset,
    endOffset,
    bytes: end,
    isWhole: typeof index !== "string" && index.records === endOffset - baseOffset && end === bytes,
  }));
  const endOffset = segments.at(-1)?.endOffset ?? 0;
  return { dir, format, segments: withFinal(segments), endOffset, epochs: checkpoint?.epochs ?? [], leftOutRecords: 0 };
}

/** The setting's default: the index that a scan makes is thrown away. */
const INDEX_INTERVAL_BYTES = 4096;

async function formatOf(dir: string): Promise<StoredFormat> {
  const name: RecordFormat | undefined = await readMeta(dir);
  if (name === undefined) throw new Failed(`${dir} has no partition.json, so nobody can say how its records lie`);
  return storedFormat(name);
}

async function taken(
  segment: FoundSegment,
  endOffset: number,
  format: StoredFormat,
  dir: string,
): Promise<Omit<TakenSegment, "isFinal">> {
  const { path, baseOffset, index } = segment;
  const records = endOffset - baseOffset;
  if (typeof index !== "string" && index.records === records) {
    return { path, baseOffset, endOffset, bytes: segment.bytes, isWhole: true };
  }
  const file = await native.openFile(path, { writable: false });
  try {
    // By the lengths of the records: they are in place up to the durable offset, and nobody moves them.
    const bytes = records === 0 ? 0 : await file.walkAsync(format.id, 0, records, file.size());
    if (bytes < 0) throw otherBroker(dir);
    return { path, baseOffset, endOffset, bytes, isWhole: false };
  } finally {
    file.close();
  }
}

/**
 * Appends go on in the last segment, of the log and of its copy: after a start also in one that was sealed, when nothing lies
 * behind it. So what is last, or has only empty ones behind it, is no file for two to share.
 */
function withFinal(segments: readonly Omit<TakenSegment, "isFinal">[]): TakenSegment[] {
  const last = segments.findLastIndex(({ bytes }) => bytes > 0);
  return segments.map((segment, at) => ({ ...segment, isFinal: segment.isWhole && at < last }));
}

const otherBroker = (dir: string): Failed =>
  new Failed(`the broker speaks of other records than those in ${dir}`, [
    "is it the broker that has this data directory? --broker and --data-dir must mean the same one",
  ]);
