// What `topics` and `offsets` know of each partition: the broker's offsets, the room on this machine's disk, and how far a reader
// has come, each when it was asked for.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { fileCheckpoints } from "../client/checkpoint/file.js";
import { type CheckpointPosition, positionKey } from "../client/checkpoint/store.js";
import type { PartitionMetadata, TopicMetadata } from "../protocol/metadata.js";
import { Failed } from "./failure.js";
import type { Io } from "./io.js";
import { type PartitionSize, sizeOfPartition } from "./sizes.js";
import type { Column } from "./table.js";
import { path } from "./values.js";

export interface RowOptions {
  readonly checkpoint?: string;
  readonly dataDir?: string;
}

export interface PartitionRow extends PartitionMetadata {
  readonly topic: string;
  readonly recordFormat: string;
  /** What readers may read. */
  readonly records: number;
  /** Room on the disk; null: it is not there. Undefined: nobody asked. */
  readonly sizeBytes?: number | null;
  /** The first offset that the reader has not handled, and how many there are from there on; null: it never began. */
  readonly checkpointOffset?: number | null;
  readonly lag?: number | null;
}

/** Adds --data-dir and --checkpoint. */
export function withRowOptions(command: Command): Command {
  return command
    .option(
      "--data-dir <dir>",
      "the broker's data directory on this machine, for SIZE (default: $MILLRACE_DATA_DIR)",
      path,
    )
    .option("--checkpoint <file>", "of `consume --checkpoint`, for LAG", path);
}

export const ROW_HELP = `START is the first offset there is, HIGH WATERMARK what readers may read up to, DURABLE what is forced to the disk, END what is written.
A partition that the broker refused to open says so; its log says why. SIZE is the room on the disk in bytes, which a broker does not
tell its clients: it is there with --data-dir or MILLRACE_DATA_DIR, on the broker's machine. LAG is how many records a reader still has
before it, by the file of its --checkpoint; "-" where the file knows nothing of the partition. A directory or a file that is not there is a
failure, and one that MILLRACE_DATA_DIR names is told on stderr.`;

/** A partition that the broker refused to open has no offsets. */
export const isOpen = ({ highWatermark }: PartitionMetadata): boolean => highWatermark >= 0;

const offsetColumn = (title: string, of: (row: PartitionRow) => number): Column<PartitionRow> => ({
  title,
  value: (row) => (isOpen(row) ? of(row) : "refused"),
});

export function columnsOf({ checkpoint }: RowOptions, dataDir: string | undefined): readonly Column<PartitionRow>[] {
  const columns: Column<PartitionRow>[] = [
    { title: "PARTITION", value: (row) => row.partition },
    offsetColumn("START", (row) => row.logStartOffset),
    offsetColumn("HIGH WATERMARK", (row) => row.highWatermark),
    offsetColumn("DURABLE", (row) => row.durableOffset),
    offsetColumn("END", (row) => row.logEndOffset),
    offsetColumn("RECORDS", (row) => row.records),
  ];
  if (dataDir !== undefined) columns.push({ title: "SIZE", value: ({ sizeBytes }) => sizeBytes ?? "-" });
  if (checkpoint !== undefined) columns.push({ title: "LAG", value: ({ lag }) => lag ?? "-" });
  return columns;
}

/** `--data-dir`, else MILLRACE_DATA_DIR. Throws {@link Failed} when what the option names is not there. */
export async function dataDirFor({ dataDir }: RowOptions, io: Io): Promise<string | undefined> {
  const named = dataDir ?? (io.env.MILLRACE_DATA_DIR || undefined);
  if (named === undefined || (await isThere(named, "directory"))) return named;
  if (dataDir !== undefined) {
    throw new Failed(`there is no directory ${named}: --data-dir says which the broker has, on its machine`);
  }
  // It is for other verbs, too, and the broker may be on another machine.
  io.stderr.write(`millrace: there is no directory ${named}, as MILLRACE_DATA_DIR says: no SIZE is shown\n`);
  return undefined;
}

async function positionsIn(checkpoint: string): Promise<readonly CheckpointPosition[]> {
  if (await isThere(checkpoint, "file")) return fileCheckpoints(checkpoint).load();
  throw new Failed(`there is no file ${checkpoint}: \`millrace consume TOPIC --checkpoint FILE\` makes one`);
}

async function isThere(named: string, what: "directory" | "file"): Promise<boolean> {
  try {
    const stats = await stat(named);
    return stats.isDirectory() === (what === "directory");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

export async function rowsOf(
  topics: readonly TopicMetadata[],
  { checkpoint, dataDir: named }: RowOptions,
  dataDir: string | undefined,
): Promise<PartitionRow[]> {
  const positions = checkpoint === undefined ? undefined : await positionsIn(checkpoint);
  const kept = positions && new Map(positions.map((each) => [positionKey(each.topic, each.partition), each.offset]));
  const rows = await Promise.all(
    topics.flatMap(({ topic, recordFormat, partitions }) =>
      partitions.map(async (metadata): Promise<PartitionRow> => {
        const { partition, highWatermark, logStartOffset } = metadata;
        const size = dataDir && (await sizeIn(join(dataDir, `${topic}-${partition}`)));
        const position = kept?.get(positionKey(topic, partition));
        return {
          topic,
          recordFormat,
          ...metadata,
          records: isOpen(metadata) ? highWatermark - logStartOffset : -1,
          ...(dataDir && { sizeBytes: size ? size.diskBytes : null }),
          ...(kept && { checkpointOffset: position ?? null, lag: lagOf(position, metadata) }),
        };
      }),
    ),
  );
  if (named !== undefined && rows.length > 0 && rows.every(({ sizeBytes }) => sizeBytes === null)) {
    throw new Failed(`${named} has none of these partitions: --data-dir says which directory the broker has`);
  }
  return rows;
}

/** What retention has removed is not before the reader any more. */
function lagOf(position: number | undefined, metadata: PartitionMetadata): number | null {
  if (position === undefined || !isOpen(metadata)) return null;
  return Math.max(0, metadata.highWatermark - Math.max(position, metadata.logStartOffset));
}

async function sizeIn(dir: string): Promise<PartitionSize | undefined> {
  try {
    return await sizeOfPartition(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
