// `millrace backup`: a copy of a data directory that a broker can be started on, made while another one writes it.

import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Command } from "commander";
import type { Connection } from "../../client/connection.js";
import { MillraceError } from "../../model/errors.js";
import { BACKUP_TRIES } from "../../model/limits.js";
import { counted } from "../../model/plural.js";
import { ApiKey } from "../../protocol/api-keys.js";
import type { PartitionMetadata } from "../../protocol/metadata.js";
import { type BrokerOption, onBroker, withBroker } from "../connect.js";
import { dataDirOf } from "../data-dir.js";
import { Failed } from "../failure.js";
import { helpText } from "../help.js";
import type { Io } from "../io.js";
import { Progress } from "../progress.js";
import { bytesIn } from "../sizes.js";
import { StoppedBySignal, type StopSignal } from "../stop.js";
import { type Column, jsonLines, tableText } from "../table.js";
import { path } from "../values.js";
import type { Copied } from "./copy.js";
import type { PartitionPlan } from "./plan.js";

interface BackupVerbOptions extends BrokerOption {
  readonly dataDir?: string;
  readonly copy?: boolean;
  readonly json?: boolean;
}

interface Row extends Copied {
  readonly topic: string;
  readonly partition: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "TOPIC", value: ({ topic }) => topic },
  { title: "PARTITION", value: ({ partition }) => partition },
  { title: "START", value: ({ startOffset }) => startOffset },
  { title: "END", value: ({ endOffset }) => endOffset },
  { title: "SEGMENTS", value: ({ segments }) => segments },
  { title: "LINKED BYTES", value: ({ linkedBytes }) => linkedBytes },
  { title: "COPIED BYTES", value: ({ copiedBytes }) => copiedBytes },
  { title: "LEFT OUT", value: ({ leftOutRecords }) => leftOutRecords },
];

const EXAMPLES = `
DIR must be empty or not there yet; what is copied is the data directory of the broker on this machine, by --data-dir, MILLRACE_DATA_DIR,
data.dir in ./millrace.toml, or ./millrace-data. The broker may go on writing: each partition is taken up to what was durable when it
was its turn, which the broker is asked for. LEFT OUT is how many records it had written behind that and not forced yet: they may have
been acknowledged as written, and are not in the backup. When no broker runs, everything is taken.

Sealed segments never change and are linked where DIR is on the same file system: that costs no room until retention removes the
original, and a disk that spoils the one spoils the other. --copy copies them, as is done for another file system. Everything is forced
before it says that it is done. DIR is no data directory until then; what an interruption leaves says so to a broker, and is to be removed.

To restore, start a broker on DIR, or on a copy of it to keep it: what is served is written to. Its topics are a setting as they were.

Examples:
  $ millrace backup ../monday
  $ millrace backup /mnt/other/monday --data-dir /var/lib/millrace --copy --json | jq .endOffset
  $ millrace serve --data-dir ../monday --port 4720 --ops-port 4721 --topics orders:3
`;

export function backupCommand(program: Command, io: Io): void {
  withBroker(
    program
      .command("backup")
      .summary("copy a data directory, also of a running broker")
      .description("Make a consistent copy of a broker's partitions that a broker can be started on.")
      .argument("<dir>", "the new directory", path),
  )
    .option("--data-dir <dir>", "what is copied (default: as the broker's setting data.dir)", path)
    .option("--copy", "copy sealed segments also where they could be linked")
    .option("--json", "print a JSON value a line instead of a table")
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((dir: string, options: BackupVerbOptions) => backup(dir, options, io));
}

async function backup(dir: string, options: BackupVerbOptions, io: Io): Promise<void> {
  const dataDir = dataDirOf(options.dataDir, io.env);
  const { LAYOUT_FILE, lockDataDir } = await import("../../storage/data-dir.js");
  const dirs = await partitionsIn(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    throw new Failed(`there is no directory ${dataDir}: --data-dir says which the broker has`);
  });
  if (dirs.length === 0) throw new Failed(`there is no partition in ${dataDir}: expected a broker's data directory`);
  const layout = await readFile(join(dataDir, LAYOUT_FILE));
  let lock: { release(): void };
  try {
    lock = await lockDataDir(dataDir);
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== "DATA_DIR_IN_USE") throw error;
    await onBroker(options, io, (connection) => copyAll(dir, { dataDir, dirs, layout, connection }, options, io));
    return;
  }
  try {
    await copyAll(dir, { dataDir, dirs, layout, connection: undefined }, options, io);
  } finally {
    lock.release();
  }
}

const PARTITION_NAME = /^(.+)-(0|[1-9]\d*)$/;

/** What a broker would take for partitions, by name. */
async function partitionsIn(dataDir: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(dataDir)) {
    const path = join(dataDir, name);
    if (PARTITION_NAME.test(name) && (await stat(path)).isDirectory()) found.push(path);
  }
  return found.sort();
}

interface Source {
  readonly dataDir: string;
  readonly dirs: readonly string[];
  readonly layout: Uint8Array;
  /** Undefined: no broker has it open. */
  readonly connection: Connection | undefined;
}

async function copyAll(dir: string, source: Source, options: BackupVerbOptions, io: Io): Promise<void> {
  const { BackupTarget } = await import("./target.js");
  const served = await servedPartitions(source);
  const target = await BackupTarget.begin(dir, source.dataDir);
  const progress = new Progress(io, () => performance.now(), "partition");
  let signal: StopSignal | undefined;
  const unheard = io.onStopSignal((which) => {
    signal ??= which;
  });
  const rows: Row[] = [];
  const total = await bytesIn(source.dirs);
  let bytes = 0;
  const onBytes = (more: number): void => {
    if (signal !== undefined) throw new StoppedBySignal(signal, ["what it had copied was removed again"]);
    bytes += more;
    progress.show(rows.length, bytes, total > 0 ? bytes / total : undefined);
  };
  try {
    for (const path of source.dirs) {
      const copied = await copyOne(path, { served, target, links: !options.copy, onBytes });
      rows.push({ ...nameOf(path), ...copied });
    }
    onBytes(0);
    await target.finish(source.layout);
  } catch (error) {
    progress.clear();
    await target.abandon().catch(() => undefined);
    throw NO_ROOM.has(String((error as { code?: unknown }).code)) ? noRoom(dir, total, error) : error;
  } finally {
    unheard();
  }
  progress.done(rows.length, bytes, "forced and complete:");
  const leftOut = rows.reduce((sum, { leftOutRecords }) => sum + leftOutRecords, 0);
  if (leftOut > 0) {
    const text = `not in the backup: ${counted(leftOut, "record")} that the broker had written and not forced yet`;
    io.stderr.write(`millrace: ${text}\n`);
  }
  await io.stdout.write(Buffer.from(options.json ? jsonLines(rows) : tableText(COLUMNS, rows)));
}

const NO_ROOM: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);

const noRoom = (dir: string, bytes: number, error: unknown): Failed =>
  new Failed(`there is no room for the backup in ${dir}: ${error instanceof Error ? error.message : String(error)}`, [
    `it takes up to ${counted(bytes, "byte")}, less where segments can be linked: on the file system of the data directory, without --copy`,
    "what it had copied was removed again",
  ]);

interface Work {
  readonly served: ReadonlyMap<string, () => Promise<PartitionMetadata>>;
  readonly target: import("./target.js").BackupTarget;
  readonly links: boolean;
  readonly onBytes: (bytes: number) => void;
}

async function copyOne(path: string, { served, target, links, onBytes }: Work): Promise<Copied> {
  const { copyPartition } = await import("./copy.js");
  const { Moved, planServed, planUnserved } = await import("./plan.js");
  const { isMissing } = await import("../../storage/damage.js");
  const { lockPartition } = await import("../../storage/partition-opening.js");
  const name = basename(path);
  const ask = served.get(name);
  const take = async (plan: PartitionPlan | undefined): Promise<Copied> => {
    if (plan === undefined) return NOTHING;
    const copied = await copyPartition(plan, await target.partition(name), { links, onBytes });
    await target.keep(name);
    return copied;
  };
  if (ask === undefined) {
    const lock = lockPartition(path);
    try {
      return await take(await planUnserved(path));
    } finally {
      lock.release();
    }
  }
  for (let tries = 1; ; tries++) {
    try {
      return await take(await planServed(path, ask));
    } catch (error) {
      if (!(error instanceof Moved) && !isMissing(error)) throw error;
      if (tries === BACKUP_TRIES) {
        throw new Failed(`${name} loses segments to retention faster than they can be copied`);
      }
    }
  }
}

const NOTHING: Copied = {
  startOffset: 0,
  endOffset: 0,
  segments: 0,
  linkedBytes: 0,
  copiedBytes: 0,
  leftOutRecords: 0,
};

/** What the broker has open, and how to ask it for each. */
async function servedPartitions({ dataDir, dirs, connection }: Source): Promise<Work["served"]> {
  const served = new Map<string, () => Promise<PartitionMetadata>>();
  if (connection === undefined) return served;
  if (!connection.supports(ApiKey.METADATA, 2)) {
    throw new Failed(`the broker at ${connection.address} is too old to say what is durable: stop it first`);
  }
  const there = new Set(dirs.map((path) => basename(path)));
  for (const { topic, partitions } of await connection.metadata()) {
    for (const { partition, highWatermark } of partitions) {
      const name = `${topic}-${partition}`;
      if (!there.has(name)) {
        throw new Failed(`the broker at ${connection.address} has ${name}, and ${dataDir} has not`, [
          "--broker and --data-dir must mean the same broker",
        ]);
      }
      if (highWatermark < 0) {
        throw new Failed(`${name} is not open at the broker, so nobody can say what of it is good`, [
          "a backup without it would be restored as an empty partition; `millrace verify` says what is wrong with it",
        ]);
      }
      served.set(name, async () => {
        const [now] = await connection.metadata([topic]);
        const found = now?.partitions.find((each) => each.partition === partition);
        if (found === undefined) throw new Failed(`the broker at ${connection.address} has no ${name} any more`);
        return found;
      });
    }
  }
  return served;
}

function nameOf(path: string): { readonly topic: string; readonly partition: number } {
  const [, topic = "", partition = ""] = PARTITION_NAME.exec(basename(path)) ?? [];
  return { topic, partition: Number(partition) };
}
