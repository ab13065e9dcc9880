// `millrace consume`: partitions to stdout. Reads no faster than stdout takes.

import type { Command } from "commander";
import type { Connection } from "../../client/connection.js";
import { Consumer } from "../../client/consumer.js";
import type { ReadBounds } from "../../client/read-bounds.js";
import { ReadPosition } from "../../client/read-position.js";
import { type Start, type StartPosition, startOf } from "../../client/start-position.js";
import { systemTimers } from "../../model/clock.js";
import { MillraceError } from "../../model/errors.js";
import { CLI_SIGNAL_WAIT_MS, OFFSET_MAX, PARTITIONS_MAX } from "../../model/limits.js";
import { counted } from "../../model/plural.js";
import type { RecordFormat } from "../../model/record-format.js";
import { integer, size } from "../../ops/settings/kinds.js";
import type { PartitionMetadata } from "../../protocol/metadata.js";
import { type BrokerOption, connectTo, onBroker, withBroker } from "../connect.js";
import { Failed, Usage } from "../failure.js";
import { helpText } from "../help.js";
import type { Io } from "../io.js";
import { Output } from "../output.js";
import { Progress } from "../progress.js";
import { StoppedBySignal, type StopSignal, Waiting } from "../stop.js";
import { option, path, topicName } from "../values.js";
import { Bookmark } from "./bookmark.js";
import { type Following, printFollowing } from "./follow.js";
import { Format } from "./format.js";
import { Printer } from "./printer.js";
import { parseFrom } from "./start.js";
import { printUntilEnd } from "./until-end.js";

export interface ConsumeVerbOptions extends BrokerOption {
  readonly partition?: number;
  readonly from: StartPosition;
  readonly maxRecords?: number;
  readonly untilEnd?: boolean;
  readonly format: string;
  readonly maxBytes: number;
  readonly checkpoint?: string;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const MAX_BYTES = MIB;
/** Records up to so many bytes are read without being asked for: the broker's own bound for one answer. */
const MAX_BYTES_LIMIT = 64 * MIB;

const EXAMPLES = `
Without --until-end it goes on with what comes, until it is stopped or nobody reads its output: the broker tells it at once, and
when the broker is away it tries again until it is back. --until-end stops where each partition ended when it started.

--from takes earliest, latest, an offset (of one partition), or a time: 2026-11-30, 2026-11-30T14:05 (here), 2026-11-30T14:05:00Z,
1796000000000ms. From a time on nothing is left out; a few records from just before it may come, too.

--checkpoint goes on where FILE says and saves there how far it was printed, after that was written: about every second, and at the end,
also by ^C. --from is for partitions that FILE does not know. Whoever is killed prints the
last records again; none is left out. One FILE serves several topics, and one program at a time.

Format: %t topic, %p partition, %o offset, %s payload, %% a percent sign; \\n \\t \\0 and so on.

Examples:
  $ millrace consume orders --until-end > orders.log
  $ millrace consume orders --partition 2 --from 1000 --max-records 10 --format '%p %o %s\\n'
  $ millrace consume orders --from latest | grep --line-buffered refund
  $ millrace consume orders --from 2026-11-30T14:00 --until-end | wc -l
  $ millrace consume orders --checkpoint orders.checkpoint --until-end >> orders.log
`;

export function consumeCommand(program: Command, io: Io): void {
  withBroker(
    program
      .command("consume")
      .summary("print records")
      .description("Print the records of a topic on stdout, verified, in order inside each partition.")
      .argument("<topic>", "what is read", topicName),
  )
    .addOption(option("--partition <n>", "read only this partition", integer(0, PARTITIONS_MAX)))
    .option("--from <where>", "earliest, latest, an offset or a time", parseFrom, "earliest")
    .option("--until-end", "stop at the end instead of waiting for more")
    .addOption(option("--max-records <n>", "stop after so many records", integer(1, OFFSET_MAX)))
    .option("--format <text>", "how each record is printed", "%s\\n")
    .option("--checkpoint <file>", "go on where FILE says, and keep it up to date", path)
    .addOption(option("--max-bytes <size>", "ask for so many bytes at once", size(KIB, 1024 * MIB), MAX_BYTES))
    .addHelpText("after", helpText(io, EXAMPLES))
    .action((topic: string, options: ConsumeVerbOptions) =>
      onBroker(options, io, (connection) => consume(connection, topic, options, io)),
    );
}

/** What is read of one partition, and from where on. */
interface Part {
  readonly metadata: PartitionMetadata;
  readonly start: Start;
}

/** What is read. */
interface Source {
  readonly topic: string;
  readonly format: RecordFormat;
  readonly parts: readonly Part[];
  readonly bounds: ReadBounds;
}

async function consume(connection: Connection, topic: string, options: ConsumeVerbOptions, io: Io): Promise<void> {
  const format = new Format(options.format);
  const [{ partitions, recordFormat }] = await connection.metadata([topic]);
  const bookmark =
    options.checkpoint === undefined
      ? undefined
      : new Bookmark(options.checkpoint, topic, () => performance.now(), systemTimers);
  const kept = (await bookmark?.load()) ?? new Map<number, Start>();
  const parts = await partsOf(connection, topic, partitions, options, kept);
  const { maxBytes, untilEnd, maxRecords = Number.POSITIVE_INFINITY } = options;
  const bounds = { maxBytes, maxBytesLimit: Math.max(maxBytes, MAX_BYTES_LIMIT) };
  const source = { topic, format: recordFormat, parts, bounds };
  const output = new Output(io.stdout);
  const progress = new Progress(io, () => performance.now(), "record");
  const lag = parts.reduce((sum, { metadata, start }) => sum + Math.max(0, metadata.highWatermark - start.offset), 0);
  const printer = new Printer(format, output, progress, maxRecords, Math.min(maxRecords, lag), bookmark);
  const work = (): Promise<void> =>
    untilEnd
      ? printUntilEnd(consumersOf(connection, source), printer, kept.size > 0)
      : printFollowing(followingOf(connection, source, options, io), printer, io.stderr);
  for (const { metadata, start } of parts) bookmark?.begin(metadata.partition, start);
  try {
    await untilStopped(work, printer, io);
  } catch (error) {
    throw bookmark === undefined ? error : withCheckpoint(error, bookmark.path);
  } finally {
    progress.clear();
  }
  if (untilEnd) progress.done(printer.records, printer.bytes, "read");
}

/** Lets it print until it is done or a signal comes. What was printed is written in any case, after a signal as far as it goes. */
async function untilStopped(work: () => Promise<void>, printer: Printer, io: Io): Promise<void> {
  const waiting = new Waiting();
  let signal: StopSignal | undefined;
  const unheard = io.onStopSignal((which) => {
    signal ??= which;
    printer.stop();
    waiting.interrupt();
  });
  const whole = async (): Promise<void> => {
    const flushed = waiting.for(printer.end());
    // Whoever reads slowly gets whole lines; whoever does not read at all is not waited for.
    const cancel = signal && systemTimers.after(CLI_SIGNAL_WAIT_MS, () => waiting.interrupt());
    await flushed;
    cancel?.();
  };
  try {
    try {
      await waiting.for(work());
    } finally {
      // What was read before a failure is good and is printed.
      await whole();
    }
    if (signal !== undefined) throw new StoppedBySignal(signal);
  } finally {
    unheard();
  }
}

async function partsOf(
  connection: Connection,
  topic: string,
  partitions: readonly PartitionMetadata[],
  { partition: only, from }: ConsumeVerbOptions,
  kept: ReadonlyMap<number, Start>,
): Promise<Part[]> {
  const chosen = partitions.filter(({ partition }) => only === undefined || partition === only);
  if (chosen.length === 0) {
    throw new Failed(`topic ${topic} has no partition ${only}: it has ${partitions.length}, from 0 on`);
  }
  if (typeof from === "number" && chosen.length > 1) {
    throw new Usage(
      `--from with an offset needs --partition: topic ${topic} has ${counted(chosen.length, "partition")}`,
    );
  }
  if (typeof from === "number") for (const metadata of chosen) checkIsThere(from, topic, metadata);
  return Promise.all(
    chosen.map(async (metadata) => {
      const start = kept.get(metadata.partition) ?? (await startOf(from, topic, metadata, connection));
      return { metadata, start };
    }),
  );
}

/** A position that was kept and is not in the log any more: --from would not be heard. */
function withCheckpoint(error: unknown, path: string): unknown {
  const isGone =
    error instanceof MillraceError && (error.code === "LOG_TRUNCATED" || error.code === "OFFSET_OUT_OF_RANGE");
  if (!isGone) return error;
  return new Failed(error.message, [
    `the position is kept in ${path}: change it there, or remove it to begin with --from`,
  ]);
}

/** Also where nothing would be read: an offset that the log never had is a mistake, and not its end. */
function checkIsThere(from: number, topic: string, partition: PartitionMetadata): void {
  const { logStartOffset, logEndOffset, highWatermark } = partition;
  // One that is not open says so itself.
  if (highWatermark < 0 || (from >= logStartOffset && from <= logEndOffset)) return;
  const text =
    `OFFSET_OUT_OF_RANGE, offset ${from} is not in ${topic}-${partition.partition}: ` +
    `it starts at ${logStartOffset} and ends at ${logEndOffset}`;
  throw new MillraceError("OFFSET_OUT_OF_RANGE", text);
}

function consumersOf(connection: Connection, { topic, format, parts, bounds }: Source): Consumer[] {
  return parts.map(({ metadata, start }) => {
    const options = { topic, partition: metadata.partition, ...bounds };
    return new Consumer(connection, options, format, metadata, start);
  });
}

function followingOf(connection: Connection, source: Source, broker: BrokerOption, io: Io): Following {
  const { topic, format, parts, bounds } = source;
  const positions = parts.map(
    ({ metadata, start }) => new ReadPosition(topic, format, metadata, start.offset, start.epoch, bounds),
  );
  // There is one already.
  let first: Connection | undefined = connection;
  const connect = (): Promise<Connection> => {
    if (first === undefined) return connectTo(broker, io);
    const connected = Promise.resolve(first);
    first = undefined;
    return connected;
  };
  return { positions, connect, address: connection.address };
}
